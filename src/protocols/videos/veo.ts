import type { Endpoint } from '../../catalog/catalog.ts'
import { aspectRatioOf, resolutionOf } from '../../catalog/picture-price.ts'
import type { VideoOperation } from './request.ts'
import type { JobAnswer, JobHttp } from '../wire/job-http.ts'
import { takes, UnsendableError } from '../ports/call.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { jobFailure } from '../wire/upstream-error.ts'
import {
  askVideos,
  jobRequest,
  optional,
  videoState,
  type SubmissionOutcome,
  type VideoHandle,
  type VideoProtocol,
  type VideoSource,
  type VideoState,
  type VideoUpstream,
} from './upstream.ts'
import { geminiCredentials, geminiPath, geminiResource } from '../gemini/provider/request.ts'

type JobFiles = Extract<JobAnswer, { readonly status: 'answered' }>['files']

const BODY_BYTES_MAX = 1_048_576
/** Vertex AI puts the videos into its answer, in base64, so answers may be this long. */
const VIDEOS_BYTES_MAX = 256 * 1_048_576
const REFERENCES_MAX = 3
const DATA_URL = /^data:([a-z0-9.+/-]+);base64,/i
/** The name of a long-running operation of the Gemini API or of Vertex AI; nothing that leads elsewhere matches. */
const OPERATION = /^(models|operations|projects)\/[\w.:@/-]{1,300}$/

/** Google's Veo through `predictLongRunning`, in the Gemini API and in Vertex AI. */
export function veo(http: JobHttp): VideoUpstream {
  const asked = askVideos(PROTOCOL, http)
  return {
    ...asked,
    poll: (handle) => (handle.reference.startsWith('projects/') ? pollVertex(http, handle) : asked.poll(handle)),
  }
}

const PROTOCOL: VideoProtocol = {
  // A size is sent as its resolution.
  tells: (endpoint, field) => takes(endpoint, field === 'size' ? 'resolution' : field),
  bytesMax: BODY_BYTES_MAX,
  headers: (_provider, apiKey) => geminiCredentials(apiKey),
  submission: (endpoint, operation) => ({
    path: modelPath(endpoint.upstreamModel, 'predictLongRunning'),
    body: bodyOf(endpoint, operation),
  }),
  accepted,
  statusPath: ({ reference }) => `/${reference}`,
  state: (body) => stateOf(body, []),
}

/** Vertex AI is polled through the model's method, the Gemini API at the operation's address. */
async function pollVertex(http: JobHttp, handle: VideoHandle): Promise<VideoState> {
  const room = http.answers.hold()
  const answer = await http.post(
    jobRequest(PROTOCOL, handle, modelPath(handle.upstreamModel, 'fetchPredictOperation')),
    Buffer.from(JSON.stringify({ operationName: handle.reference })),
    { bytesMax: VIDEOS_BYTES_MAX, lifts: room },
  )
  const files = answer.status === 'answered' ? answer.files : []
  const state = videoState(answer, (body) => stateOf(body, files))
  if (state.status === 'done') return { ...state, release: () => room.release() }
  room.release()
  return state
}

function modelPath(upstreamModel: string, method: string): string {
  return `${geminiPath(geminiResource(upstreamModel))}:${method}`
}

function bodyOf(endpoint: Endpoint, operation: VideoOperation): Readonly<Record<string, unknown>> {
  const { prompt, duration, size, resolution, aspectRatio, generateAudio, seed } = operation
  return {
    instances: [{ prompt, ...framesOf(operation), ...referencesOf(operation) }],
    parameters: {
      ...optional(endpoint, 'duration', 'durationSeconds', duration),
      ...optional(endpoint, 'resolution', 'resolution', resolution ?? (size === null ? null : resolutionOf(size))),
      ...optional(endpoint, 'aspect_ratio', 'aspectRatio', aspectRatio ?? (size === null ? null : aspectRatioOf(size))),
      ...optional(endpoint, 'generate_audio', 'generateAudio', generateAudio),
      ...optional(endpoint, 'seed', 'seed', seed),
    },
  }
}

function framesOf({ frameImages }: VideoOperation): Readonly<Record<string, unknown>> {
  const frames: Record<string, unknown> = {}
  for (const [index, { url, frame }] of frameImages.entries()) {
    const name = frame === 'first_frame' ? 'image' : 'lastFrame'
    if (frames[name] !== undefined) throw new UnsendableError(`frame_images[${index}]: there is a ${frame} already`)
    frames[name] = imageOf(url, `frame_images[${index}]`)
  }
  return frames
}

function referencesOf({ inputReferences }: VideoOperation): Readonly<Record<string, unknown>> {
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

/** The protocol accepts only bytes. */
function imageOf(url: string, path: string): Readonly<Record<string, unknown>> {
  const found = DATA_URL.exec(url)
  if (found === null)
    throw new UnsendableError(`${path}: this provider takes images as data URLs in base64, not as addresses`)
  return { bytesBase64Encoded: url.slice(found[0].length), mimeType: found[1]?.toLowerCase() ?? 'image/png' }
}

function accepted(body: unknown): SubmissionOutcome | null {
  const job = objectOf(body)
  const name = textOf(job?.['name'])
  if (name !== null && OPERATION.test(name) && !name.includes('..'))
    return { status: 'accepted', reference: name, upstreamId: name.split('/').at(-1) ?? name }
  const error = job?.['error'] ?? null
  return error === null ? null : { status: 'refused', failure: jobFailure(error) }
}

function stateOf(body: unknown, files: JobFiles): VideoState | null {
  const job = objectOf(body)
  if (job === null || textOf(job['name']) === null) return null
  const error = job['error'] ?? null
  if (error !== null) return { status: 'failed', failure: jobFailure(error) }
  if (job['done'] !== true) return { status: 'running', progress: progressOf(job) }
  const answer = objectOf(job['response'])
  const said = objectOf(answer?.['generateVideoResponse']) ?? answer
  const videos = [
    ...listOf(said?.['generatedSamples']),
    ...listOf(said?.['generatedVideos']),
    ...listOf(said?.['videos']),
  ].flatMap((sample) => sourceOf(sample, files))
  if (videos.length > 0) return { status: 'done', videos }
  const reasons = listOf(said?.['raiMediaFilteredReasons']).filter((reason) => typeof reason === 'string')
  const message = reasons.length > 0 ? reasons.join(' ') : ''
  return {
    status: 'failed',
    failure: jobFailure(message === '' ? { code: 'empty', message: '' } : { code: 'moderation', message }),
  }
}

function progressOf(job: RawJson): number | null {
  const percent = objectOf(job['metadata'])?.['progressPercent']
  return typeof percent === 'number' && percent >= 0 && percent <= 100 ? Math.floor(percent) : null
}

function sourceOf(sample: unknown, files: JobFiles): readonly VideoSource[] {
  const video = objectOf(objectOf(sample)?.['video']) ?? objectOf(sample)
  const url = textOf(video?.['uri'])
  const bytes = bytesOf(video?.['bytesBase64Encoded'], files) ?? bytesOf(video?.['encodedVideo'], files)
  if (bytes !== null) return [{ bytes, mediaType: textOf(video?.['mimeType']) ?? textOf(video?.['encoding']) }]
  return url === null || url === '' ? [] : [{ url }]
}

/** The bytes of a video in the answer, whose long string was lifted out of it. */
function bytesOf(encoded: unknown, files: JobFiles): readonly Buffer[] | null {
  const [place] = listOf(encoded)
  if (typeof place === 'number') return files[place] ?? null
  const text = textOf(encoded)
  return text === null || text === '' ? null : [Buffer.from(text, 'base64')]
}
