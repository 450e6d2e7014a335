import type { Endpoint, Provider } from '../../catalog/catalog.ts'
import { type VideoForm, keyHeaders } from '../../catalog/dialect.ts'
import { aspectRatioOf, resolutionOf } from '../../catalog/picture-price.ts'
import type { VideoOperation } from './request.ts'
import type { JobHttp } from '../wire/job-http.ts'
import { takes, pathPart, UnsendableError } from '../ports/call.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { failure } from '../ports/attempt-failure.ts'
import { jobFailure } from '../wire/upstream-error.ts'
import {
  askVideos,
  optional,
  type SubmissionOutcome,
  type VideoProtocol,
  type VideoSource,
  type VideoState,
  type VideoUpstream,
} from './upstream.ts'
import { ownValue } from '../../base/own-value.ts'

const BODY_BYTES_MAX = 1_048_576
const FORMS_BY_HOST: Readonly<Record<string, VideoForm>> = { 'api.x.ai': 'xai', 'openrouter.ai': 'openrouter' }
const DONE: ReadonlySet<string> = new Set(['completed', 'succeeded', 'success', 'done'])
const FAILED: ReadonlySet<string> = new Set(['failed', 'error', 'cancelled', 'canceled', 'expired', 'rejected'])

/** `/videos` of OpenAI, OpenRouter and xAI. Their requests differ; the state of a job is read in any of their forms. */
export function openaiVideos(http: JobHttp): VideoUpstream {
  return askVideos(PROTOCOL, http)
}

const PROTOCOL: VideoProtocol = {
  tells: (endpoint, field) => {
    const form = formOf(endpoint.provider)
    // OpenAI has only sizes, and xAI only resolutions.
    if (form === 'openai' && field === 'resolution') return false
    return takes(endpoint, form === 'xai' && field === 'size' ? 'resolution' : field)
  },
  bytesMax: BODY_BYTES_MAX,
  headers: ({ dialect }, apiKey) => keyHeaders(dialect, apiKey),
  submission: (endpoint, operation) => {
    const form = formOf(endpoint.provider)
    const path = `${form === 'xai' ? '/videos/generations' : '/videos'}${endpoint.provider.dialect.query}`
    return { path, body: bodyOf(form, endpoint, operation) }
  },
  accepted,
  statusPath: ({ provider, reference }) => `/videos/${pathPart(reference)}${provider.dialect.query}`,
  state: stateOf,
}

function formOf({ dialect, baseUrl }: Provider): VideoForm {
  return dialect.videos ?? ownValue(FORMS_BY_HOST, new URL(baseUrl).hostname) ?? 'openai'
}

function bodyOf(form: VideoForm, endpoint: Endpoint, operation: VideoOperation): Readonly<Record<string, unknown>> {
  const common = { model: endpoint.upstreamModel, prompt: operation.prompt }
  switch (form) {
    case 'openai':
      return {
        ...common,
        ...optional(endpoint, 'duration', 'seconds', String(operation.duration)),
        ...optional(endpoint, 'size', 'size', operation.size),
        ...openaiReference(endpoint, operation),
      }
    case 'openrouter':
      return { ...common, ...openrouterFields(endpoint, operation) }
    case 'xai':
      return { ...common, ...xaiFields(endpoint, operation) }
  }
}

/** One picture to start from. */
function openaiReference(
  endpoint: Endpoint,
  { frameImages, inputReferences }: VideoOperation,
): Readonly<Record<string, unknown>> {
  if (frameImages.some(({ frame }) => frame === 'last_frame'))
    throw new UnsendableError('frame_images: this provider takes no last frame')
  const urls = [...frameImages.map(({ url }) => url), ...inputReferences]
  if (urls.length > 1) throw new UnsendableError('input_references: this provider takes one image')
  const [url] = urls
  if (url === undefined) return {}
  if (!takes(endpoint, 'input_references') && !takes(endpoint, 'frame_images'))
    throw new UnsendableError('input_references: this provider takes no images')
  return { input_reference: { image_url: url } }
}

function openrouterFields(endpoint: Endpoint, operation: VideoOperation): Readonly<Record<string, unknown>> {
  const frames = operation.frameImages.map(({ url, frame }) => ({
    type: 'image_url',
    image_url: { url },
    frame_type: frame,
  }))
  const references = operation.inputReferences.map((url) => ({ type: 'image_url', image_url: { url } }))
  return {
    ...optional(endpoint, 'duration', 'duration', operation.duration),
    ...optional(endpoint, 'size', 'size', operation.size),
    ...optional(endpoint, 'resolution', 'resolution', operation.resolution),
    ...optional(endpoint, 'aspect_ratio', 'aspect_ratio', operation.aspectRatio),
    ...optional(endpoint, 'frame_images', 'frame_images', frames.length === 0 ? null : frames),
    ...optional(endpoint, 'input_references', 'input_references', references.length === 0 ? null : references),
    ...optional(endpoint, 'generate_audio', 'generate_audio', operation.generateAudio),
    ...optional(endpoint, 'seed', 'seed', operation.seed),
    ...optional(endpoint, 'user', 'user', operation.user),
  }
}

/** xAI has no sizes: a size becomes a resolution and a ratio. */
function xaiFields(
  endpoint: Endpoint,
  { duration, size, resolution, aspectRatio, frameImages, inputReferences, user }: VideoOperation,
): Readonly<Record<string, unknown>> {
  if (frameImages.some(({ frame }) => frame === 'last_frame'))
    throw new UnsendableError('frame_images: this provider takes no last frame')
  const [first, ...others] = frameImages
  if (others.length > 0 || (first !== undefined && inputReferences.length > 0))
    throw new UnsendableError('frame_images: this provider takes one first frame, or references')
  return {
    ...optional(endpoint, 'duration', 'duration', duration),
    ...optional(endpoint, 'resolution', 'resolution', resolution ?? (size === null ? null : resolutionOf(size))),
    ...optional(endpoint, 'aspect_ratio', 'aspect_ratio', aspectRatio ?? (size === null ? null : aspectRatioOf(size))),
    ...(first === undefined ? {} : { image: { url: first.url } }),
    ...(inputReferences.length === 0 ? {} : { reference_images: inputReferences.map((url) => ({ url })) }),
    ...optional(endpoint, 'user', 'user', user),
  }
}

function accepted(body: unknown): SubmissionOutcome | null {
  const job = objectOf(body)
  const error = job?.['error'] ?? null
  const id = textOf(job?.['id']) ?? textOf(job?.['request_id']) ?? textOf(job?.['job_id'])
  if (id !== null && id !== '') return { status: 'accepted', reference: id, upstreamId: id }
  return error === null ? null : { status: 'refused', failure: jobFailure(error) }
}

function stateOf(body: unknown, reference: string): VideoState | null {
  const job = objectOf(body)
  if (job === null) return null
  const status = textOf(job['status'])?.toLowerCase() ?? ''
  const error = job['error'] ?? null
  if (FAILED.has(status) || (error !== null && !DONE.has(status)))
    return { status: 'failed', failure: jobFailure(error ?? { code: status, message: '' }) }
  if (DONE.has(status))
    return isRefused(job)
      ? {
          status: 'failed',
          failure: {
            ...failure('error_event', 400, 'moderated'),
            refusal: 'moderation',
            publicMessage: 'The video was rejected by the provider',
          },
        }
      : { status: 'done', videos: videosOf(job, reference) }
  if (status === '') return null
  const { progress } = job
  return {
    status: 'running',
    progress: typeof progress === 'number' && progress >= 0 && progress <= 100 ? Math.floor(progress) : null,
  }
}

/** Whether xAI marks a video that was made as withheld. */
function isRefused(job: RawJson): boolean {
  return objectOf(job['video'])?.['respect_moderation'] === false
}

/** The addresses that the answer names, else the protocol's own address of the content. */
function videosOf(job: RawJson, reference: string): readonly VideoSource[] {
  const listed = listOf(job['unsigned_urls']).flatMap((url) => (typeof url === 'string' && url !== '' ? [{ url }] : []))
  if (listed.length > 0) return listed
  const url = textOf(objectOf(job['video'])?.['url']) ?? textOf(job['url']) ?? textOf(job['video_url'])
  return [url === null || url === '' ? { path: `/videos/${pathPart(reference)}/content` } : { url }]
}
