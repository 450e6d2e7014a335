import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { finishReasonOf } from '../../kinds/answer/finish-reason.ts'
import type { ImageResult } from '../../kinds/images/answer.ts'
import { wantedRatio, type ImageRequest, type SourceImage } from '../../kinds/images/request.ts'
import type { Adapter } from '../../protocols/ports/adapter.ts'
import type { ImageCall } from '../../protocols/ports/call.ts'
import { StepFailedError, inSteps, type StepContext } from '../../protocols/upstream/steps.ts'
import type { FileFetch } from '../../protocols/wire/file-fetch.ts'
import { inShares, readImages, sourcePicture, type SpelledImage } from './image-shares.ts'
import { listOf, objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { failure } from '../ports/attempt-failure.ts'

type Chat = NonNullable<Adapter['chat']>

/** Pictures from a model that puts them into chat answers: one for each answer, in `message.images`. */
export function imagesOverChat(chat: Chat, files: FileFetch): NonNullable<Adapter['images']> {
  return (call, sink) =>
    inSteps((context) => inShares(call.request.count, 1, () => askOnce(chat, files, call, context)), sink)
}

async function askOnce(chat: Chat, files: FileFetch, call: ImageCall, context: StepContext): Promise<ImageResult> {
  const { request } = call
  try {
    return await readAnswer(await ask(chat, call, request.sources, context), call, files, context)
  } catch (thrown) {
    const refused = thrown instanceof StepFailedError && thrown.failure.reason === 'unsendable'
    if (!refused || !call.fetchesUrls || request.sources.every(({ type }) => type === 'data')) throw thrown
    const sources = await Promise.all(
      request.sources.map(async (source) => ({ ...source, url: await dataUrlOf(source, call, files, context) })),
    )
    return readAnswer(await ask(chat, call, sources, context), call, files, context)
  }
}

async function dataUrlOf(
  source: SourceImage,
  call: ImageCall,
  files: FileFetch,
  context: StepContext,
): Promise<string> {
  const { bytes, mediaType } = await sourcePicture(source, call, files, context)
  return `data:${mediaType};base64,${bytes.toString('base64')}`
}

function ask(
  chat: Chat,
  { endpoint, apiKey, generationId, request }: ImageCall,
  sources: readonly SourceImage[],
  { signal, headers }: StepContext,
): Promise<readonly AnswerEvent[]> {
  return new Promise((resolve, reject) => {
    const events: AnswerEvent[] = []
    const running = chat(
      { endpoint, apiKey, request: chatRequest(request, sources), sendMaxTokens: null, generationId, splice: null },
      {
        headers,
        push: (batch) => {
          for (const event of batch) events.push(event)
          return true
        },
        end: () => resolve(events),
        fail: (found) =>
          reject(
            new StepFailedError({
              ...found,
              publicMessage: found.publicMessage === null ? null : inOurWords(found.publicMessage, sources),
            }),
          ),
      },
    )
    signal.addEventListener(
      'abort',
      () => {
        running.cancel()
        reject(new StepFailedError(failure('cancelled', null, 'cancelled')))
      },
      { once: true },
    )
  })
}

/** The client sent no messages: the error names the fields that the client knows. */
function inOurWords(message: string, sources: readonly SourceImage[]): string {
  return message.replaceAll(
    /\bmessages\[0\]\.content\[(\d+)\](?:\.image_url(?:\.url)?)?/g,
    (path, index: string) => sources[Number(index) - 1]?.path ?? path,
  )
}

function chatRequest(request: ImageRequest, sources: readonly SourceImage[]): ChatRequest {
  const { prompt, imageSize, parameters } = request
  const aspectRatio = wantedRatio(request)
  const imageConfig = {
    ...(aspectRatio === null ? {} : { aspect_ratio: aspectRatio }),
    ...(imageSize === null ? {} : { image_size: imageSize }),
  }
  return {
    model: null,
    fallbackModels: [],
    provider: request.provider,
    sessionId: null,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: prompt },
          ...sources.map(({ url }) => ({ type: 'image_url' as const, image_url: { url } })),
        ],
      },
    ],
    stream: false,
    includeUsage: false,
    maxTokens: null,
    n: 1,
    tools: null,
    toolChoice: null,
    responseFormat: null,
    parameters: {
      modalities: ['image', 'text'],
      ...(Object.keys(imageConfig).length === 0 ? {} : { image_config: imageConfig }),
      ...(parameters['seed'] === undefined ? {} : { seed: parameters['seed'] }),
      ...(parameters['user'] === undefined ? {} : { user: parameters['user'] }),
    },
    hidesReasoning: true,
    inputModalities: new Set(sources.length === 0 ? [] : ['image']),
    textBytes: Buffer.byteLength(prompt),
  }
}

async function readAnswer(
  events: readonly AnswerEvent[],
  call: ImageCall,
  files: FileFetch,
  context: StepContext,
): Promise<ImageResult> {
  const spelled: SpelledImage[] = []
  let usage: ImageResult['usage'] = null
  let upstreamId: string | null = null
  let filtered = false
  for (const event of events) {
    if (event.type === 'extra' && event.field === 'images') spelled.push(...listOf(event.value).map(spelledOf))
    else if (event.type === 'usage') usage = { report: event.usage, imageTokens: 0 }
    else if (event.type === 'origin') upstreamId = event.upstreamId
    else if (event.type === 'finish')
      filtered ||= (event.finish ?? finishReasonOf(event.native, false)) === 'content_filter'
  }
  const images = await readImages(spelled, call, files, context)
  if (images.length === 0 && filtered)
    throw new StepFailedError(moderated("The provider's safety system refused to make this picture"))
  return { images, usage, upstreamId, calls: 1 }
}

/** A moderation refusal inside a good answer. */
export function moderated(message: string): StepFailedError['failure'] {
  return { ...failure('error_event', 400, message), publicMessage: message, refusal: 'moderation' }
}

function spelledOf(raw: unknown): SpelledImage {
  const image = objectOf(raw)
  return {
    base64: textOf(image?.['b64_json']),
    url: textOf(objectOf(image?.['image_url'])?.['url']) ?? textOf(image?.['url']),
    mediaType: null,
    revisedPrompt: null,
  }
}
