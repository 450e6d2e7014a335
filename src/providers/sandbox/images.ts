import type { Clock } from '../../lib/clock.ts'
import type { GeneratedImage, ImageResult } from '../../kinds/images/answer.ts'
import { sizeOfRatio, type ImageRequest } from '../../kinds/images/request.ts'
import type { Adapter } from '../ports/adapter.ts'
import type { ImageCall } from '../ports/call.ts'
import { StepFailedError, inSteps, type StepContext } from '../upstream/steps.ts'
import { plainFailure } from './failure.ts'
import { sandboxPng } from './png.ts'
import { readScript } from './script.ts'
import { failure } from '../ports/attempt-failure.ts'

/**
 * Pictures without a provider, which depend only on the request. `words=N` of the script is the number of pictures
 * delivered.
 */
export function sandboxImages(clock: Clock): NonNullable<Adapter['images']> {
  return (call, sink) => inSteps((context) => draw(call, context, clock), sink)
}

async function draw(
  { endpoint, request }: ImageCall,
  { signal, headers }: StepContext,
  clock: Clock,
): Promise<ImageResult> {
  const script = readScript(request.prompt)
  await passed(script.delayMs, clock, signal)
  const found = plainFailure(script)
  if (found?.reason !== 'status') headers()
  if (found !== null) throw new StepFailedError(found)
  if (script.stall !== null) {
    await passed(endpoint.provider.timeouts.progress * 1_000, clock, signal)
    throw new StepFailedError(failure('stall', null, 'stalled by script'))
  }
  const count = script.empty ? 0 : Math.min(request.count, script.words ?? request.count)
  const images: GeneratedImage[] = []
  for (let index = 0; index < count; index += 1)
    images.push({ picture: { bytes: await picture(request, index), mediaType: 'image/png' }, revisedPrompt: null })
  return { images, usage: null, upstreamId: null, calls: 1 }
}

function picture(request: ImageRequest, index: number): Promise<Buffer> {
  const { task, prompt, size, aspectRatio, imageSize, sources, mask, parameters } = request
  const shown = [...sources, ...(mask === null ? [] : [mask])].map(({ url }) => url)
  const [width = 0, height = 0] = (
    aspectRatio === null && imageSize === null ? (size ?? '1024x1024') : sizeOfRatio(aspectRatio ?? '1:1', imageSize)
  )
    .split('x')
    .map(Number)
  return sandboxPng(
    JSON.stringify([prompt, parameters['seed'] ?? null, index, ...(task === 'variation' ? [task] : []), ...shown]),
    width,
    height,
  )
}

function passed(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  if (delayMs === 0) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.after(delayMs, resolve)
    signal.addEventListener(
      'abort',
      () => {
        cancel()
        resolve()
      },
      { once: true },
    )
  })
}
