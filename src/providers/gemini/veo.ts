import type { Endpoint } from '../../catalog/catalog.ts'
import { aspectRatioOf, resolutionOf } from '../../catalog/resolution.ts'
import type { VideoOrder } from '../../kinds/video-request.ts'
import type { JobAnswer, JobHttp } from '../job-http.ts'
import { UnsendableError } from '../native.ts'
import { listOf, objectOf, textOf, type RawJson } from '../raw-json.ts'
import { jobFailure } from '../upstream-error.ts'
import { submissionOutcome, unsendable, videoState } from '../video-outcome.ts'
import {
  optional,
  type SubmissionOutcome,
  type VideoHandle,
  type VideoSource,
  type VideoState,
  type VideoUpstream,
} from '../videos.ts'
import { geminiError } from './error.ts'
import { geminiCredentials, geminiPath, geminiResource } from './request.ts'

const PARAMETERS = [
  'size',
  'duration',
  'resolution',
  'aspect_ratio',
  'frame_images',
  'input_references',
  'generate_audio',
  'seed',
]
const BODY_BYTES_MAX = 1_048_576
/** Vertex AI puts the videos themselves into its answer, in base64. */
const VIDEOS_BYTES_MAX = 256 * 1_048_576
const REFERENCES_MAX = 3
const DATA_URL = /^data:([a-z0-9.+/-]+);base64,/i
/** An operation of the Gemini API, or of Vertex AI, and nothing that leads elsewhere. */
const OPERATION = /^(models|operations|projects)\/[\w.:@/-]{1,300}$/

/** Google's Veo by `predictLongRunning`, of the Gemini API and of Vertex AI. */
export function veo(http: JobHttp, now: () => number): VideoUpstream {
  const error = (
    status: number,
    body: unknown,
    headers: Parameters<typeof geminiError>[2],
  ): ReturnType<typeof geminiError> => geminiError(status, body, headers, now())
  return {
    supportedParameters: PARAMETERS,
    submit: ({ endpoint, apiKey, order, signal }) =>
      unsendable(
        () => bodyOf(endpoint, order),
        async (body) => {
          const path = `${geminiPath(geminiResource(endpoint.upstreamModel))}:predictLongRunning`
          const answer = await http.post(
            { provider: endpoint.provider, path, headers: geminiCredentials(apiKey), signal },
            Buffer.from(JSON.stringify(body)),
            { bytesMax: BODY_BYTES_MAX },
          )
          return submissionOutcome(answer, { read: accepted, error })
        },
      ),
    poll: async (handle) => videoState(await ask(http, handle), { read: stateOf, error }),
    open: async ({ provider, apiKey, signal }, source) => {
      if ('bytes' in source) return { mediaType: source.mediaType, bytes: once(source.bytes) }
      if (!('url' in source)) throw new Error('Veo names its videos by addresses.')
      return http.open({ provider, path: '', headers: geminiCredentials(apiKey), signal, url: source.url })
    },
  }
}

/** Vertex AI is asked by the model's own method, the Gemini API by the operation's address. */
function ask(http: JobHttp, { provider, upstreamModel, apiKey, reference, signal }: VideoHandle): Promise<JobAnswer> {
  const headers = geminiCredentials(apiKey)
  if (!reference.startsWith('projects/'))
    return http.get({ provider, path: `/${reference}`, headers, signal }, { bytesMax: BODY_BYTES_MAX })
  const body = Buffer.from(JSON.stringify({ operationName: reference }))
  return http.post(
    { provider, path: `${geminiPath(geminiResource(upstreamModel))}:fetchPredictOperation`, headers, signal },
    body,
    { bytesMax: VIDEOS_BYTES_MAX },
  )
}

function bodyOf(endpoint: Endpoint, order: VideoOrder): Readonly<Record<string, unknown>> {
  const { prompt, duration, size, resolution, aspectRatio, generateAudio, seed } = order
  return {
    instances: [{ prompt, ...framesOf(order), ...referencesOf(order) }],
    parameters: {
      ...optional(endpoint, 'duration', 'durationSeconds', duration),
      ...optional(endpoint, 'resolution', 'resolution', resolution ?? (size === null ? null : resolutionOf(size))),
      ...optional(endpoint, 'aspect_ratio', 'aspectRatio', aspectRatio ?? (size === null ? null : aspectRatioOf(size))),
      ...optional(endpoint, 'generate_audio', 'generateAudio', generateAudio),
      ...optional(endpoint, 'seed', 'seed', seed),
    },
  }
}

function framesOf({ frameImages }: VideoOrder): Readonly<Record<string, unknown>> {
  const frames: Record<string, unknown> = {}
  for (const [index, { url, frame }] of frameImages.entries()) {
    const name = frame === 'first_frame' ? 'image' : 'lastFrame'
    if (frames[name] !== undefined) throw new UnsendableError(`frame_images[${index}]: there is a ${frame} already`)
    frames[name] = imageOf(url, `frame_images[${index}]`)
  }
  return frames
}

function referencesOf({ inputReferences }: VideoOrder): Readonly<Record<string, unknown>> {
  if (inputReferences.length === 0) return {}
  if (inputReferences.length > REFERENCES_MAX)
    throw new UnsendableError(`input_references: this provider takes at most ${REFERENCES_MAX}`)
  return {
    referenceImages: inputReferences.map((url, index) => ({
      image: imageOf(url, `input_references[${index}]`),
      referenceType: 'asset',
    })),
  }
}

/** The protocol takes bytes. */
function imageOf(url: string, path: string): Readonly<Record<string, unknown>> {
  const found = DATA_URL.exec(url)
  if (found === null)
    throw new UnsendableError(`${path}: this provider takes images as data URLs in base64, not as addresses`)
  return { bytesBase64Encoded: url.slice(found[0].length), mimeType: found[1]?.toLowerCase() ?? 'image/png' }
}

function accepted(body: unknown): SubmissionOutcome | null {
  const operation = objectOf(body)
  const name = textOf(operation?.['name'])
  if (name !== null && OPERATION.test(name) && !name.includes('..'))
    return { status: 'accepted', reference: name, upstreamId: name.split('/').at(-1) ?? name }
  const error = operation?.['error'] ?? null
  return error === null ? null : { status: 'refused', failure: jobFailure(error) }
}

function stateOf(body: unknown): VideoState | null {
  const operation = objectOf(body)
  if (operation === null || textOf(operation['name']) === null) return null
  const error = operation['error'] ?? null
  if (error !== null) return { status: 'failed', failure: jobFailure(error) }
  if (operation['done'] !== true) return { status: 'running', progress: progressOf(operation) }
  const answer = objectOf(operation['response'])
  const said = objectOf(answer?.['generateVideoResponse']) ?? answer
  const videos = [
    ...listOf(said?.['generatedSamples']),
    ...listOf(said?.['generatedVideos']),
    ...listOf(said?.['videos']),
  ].flatMap(sourceOf)
  if (videos.length > 0) return { status: 'done', videos }
  const reasons = listOf(said?.['raiMediaFilteredReasons']).filter((reason) => typeof reason === 'string')
  const message = reasons.length > 0 ? reasons.join(' ') : ''
  return {
    status: 'failed',
    failure: jobFailure(message === '' ? { code: 'empty', message: '' } : { code: 'moderation', message }),
  }
}

function progressOf(operation: RawJson): number | null {
  const percent = objectOf(operation['metadata'])?.['progressPercent']
  return typeof percent === 'number' && percent >= 0 && percent <= 100 ? Math.floor(percent) : null
}

function sourceOf(sample: unknown): readonly VideoSource[] {
  const video = objectOf(objectOf(sample)?.['video']) ?? objectOf(sample)
  const url = textOf(video?.['uri'])
  const encoded = textOf(video?.['bytesBase64Encoded']) ?? textOf(video?.['encodedVideo'])
  if (encoded !== null && encoded !== '')
    return [
      { bytes: Buffer.from(encoded, 'base64'), mediaType: textOf(video?.['mimeType']) ?? textOf(video?.['encoding']) },
    ]
  return url === null || url === '' ? [] : [{ url }]
}

async function* once(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes
}
