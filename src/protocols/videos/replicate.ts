import type { Endpoint } from '../../catalog/catalog.ts'
import type { VideoOperation } from './request.ts'
import { takes, pathPart, UnsendableError } from '../ports/call.ts'
import { listOf, objectOf, textOf } from '../wire/raw-json.ts'
import { jobFailure } from '../wire/upstream-error.ts'
import { optional, type SubmissionOutcome, type VideoProtocol, type VideoSource, type VideoState } from './upstream.ts'
import { bearer } from '../../base/http-request.ts'

/** Each answer contains all logs of the prediction so far, so answers may be this long. */
const BODY_BYTES_MAX = 16 * 1_048_576
const VERSION = /^[0-9a-f]{64}$/

/** Replicate's predictions. A model is `owner/name`, `owner/name:version`, or only a version. */
export const PREDICTIONS: VideoProtocol = {
  tells: takes,
  bytesMax: BODY_BYTES_MAX,
  headers: (_provider, apiKey) => bearer(apiKey),
  submission: (endpoint, operation) => {
    const input = inputOf(endpoint, operation)
    const { path, version } = placeOf(endpoint.upstreamModel)
    return { path, body: { ...(version === null ? {} : { version }), input } }
  },
  accepted,
  statusPath: ({ reference }) => `/predictions/${pathPart(reference)}`,
  state: stateOf,
  cancelPath: (reference) => `/predictions/${pathPart(reference)}/cancel`,
}

function placeOf(model: string): { readonly path: string; readonly version: string | null } {
  const version = VERSION.test(model) ? model : (model.split(':', 2)[1] ?? null)
  if (version !== null) return { path: '/predictions', version }
  return { path: `/models/${model.split('/').map(encodeURIComponent).join('/')}/predictions`, version: null }
}

/** Input names that most of its video models share; an endpoint lists those of its model. */
function inputOf(endpoint: Endpoint, operation: VideoOperation): Readonly<Record<string, unknown>> {
  const { prompt, duration, size, resolution, aspectRatio, frameImages, inputReferences, generateAudio, seed } =
    operation
  const firsts = frameImages.filter(({ frame }) => frame === 'first_frame')
  const lasts = frameImages.filter(({ frame }) => frame === 'last_frame')
  if (firsts.length > 1 || lasts.length > 1)
    throw new UnsendableError('frame_images: this provider takes one first and one last frame')
  return {
    prompt,
    ...optional(endpoint, 'duration', 'duration', duration),
    ...optional(endpoint, 'size', 'size', size),
    ...optional(endpoint, 'resolution', 'resolution', resolution),
    ...optional(endpoint, 'aspect_ratio', 'aspect_ratio', aspectRatio),
    ...optional(endpoint, 'frame_images', 'image', firsts[0]?.url ?? null),
    ...optional(endpoint, 'frame_images', 'last_frame', lasts[0]?.url ?? null),
    ...optional(
      endpoint,
      'input_references',
      'reference_images',
      inputReferences.length === 0 ? null : inputReferences,
    ),
    ...optional(endpoint, 'generate_audio', 'generate_audio', generateAudio),
    ...optional(endpoint, 'seed', 'seed', seed),
  }
}

function accepted(body: unknown): SubmissionOutcome | null {
  const id = textOf(objectOf(body)?.['id'])
  return id === null || id === '' ? null : { status: 'accepted', reference: id, upstreamId: id }
}

function stateOf(body: unknown): VideoState | null {
  const prediction = objectOf(body)
  switch (prediction?.['status']) {
    case 'starting':
    case 'processing':
    case 'queued':
      return { status: 'running', progress: progressOf(textOf(prediction['logs'])) }
    case 'succeeded': {
      const videos = sourcesOf(prediction['output'])
      return videos.length === 0
        ? { status: 'failed', failure: jobFailure({ code: 'empty', message: '' }) }
        : { status: 'done', videos }
    }
    case 'failed':
    case 'canceled':
    case 'aborted': {
      const error = prediction['error'] ?? null
      return {
        status: 'failed',
        failure: jobFailure(
          typeof error === 'string'
            ? { code: '', message: error }
            : (error ?? { code: String(prediction['status']), message: '' }),
        ),
      }
    }
    case undefined:
    default:
      return null
  }
}

/** The latest percentage in the logs, as progress bars print it. */
function progressOf(logs: string | null): number | null {
  const last = logs === null ? undefined : [...logs.slice(-2_000).matchAll(/(?:^|[^\d.])(\d{1,3})%\|/g)].at(-1)?.[1]
  return last === undefined || Number(last) > 100 ? null : Number(last)
}

/** The sources in an output, which is an address, a list of them, or an object with one. */
function sourcesOf(output: unknown): readonly VideoSource[] {
  if (typeof output === 'string') return output === '' ? [] : [{ url: output }]
  if (Array.isArray(output)) return listOf(output).flatMap(sourcesOf)
  const named = objectOf(output)
  const url = textOf(named?.['video']) ?? textOf(named?.['url'])
  return url === null ? [] : [{ url }]
}
