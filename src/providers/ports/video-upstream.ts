import type { Endpoint, Provider } from '../../catalog/catalog.ts'
import type { VideoOperation } from '../../kinds/video/request.ts'
import type { AttemptFailure } from './attempt-failure.ts'

/** A job for a provider. */
export interface VideoSubmission {
  readonly endpoint: Endpoint
  readonly apiKey: string | null
  readonly operation: VideoOperation
  /** Ours. */
  readonly jobId: string
  readonly signal: AbortSignal
}

/** `unknown` = it may have arrived: whoever sends it again may buy it twice. */
export type SubmissionOutcome =
  | {
      readonly status: 'accepted'
      /** How the adapter finds the job again. */ readonly reference: string
      readonly upstreamId: string | null
    }
  | { readonly status: 'refused' | 'unknown'; readonly failure: AttemptFailure }

/** A job that a provider has. */
export interface VideoHandle {
  readonly provider: Provider
  readonly upstreamModel: string
  readonly apiKey: string | null
  readonly reference: string
  readonly signal: AbortSignal
}

export type VideoState =
  | {
      readonly status: 'running'
      /** Per cent; null where the provider does not say. */ readonly progress: number | null
    }
  | {
      readonly status: 'done'
      readonly videos: readonly VideoSource[]
      /** The videos were taken: what they hold of the node's memory is given back. */
      readonly release?: () => void
    }
  | { readonly status: 'failed'; readonly failure: AttemptFailure }
  /** It could not be asked now. `gone` = the provider does not know the job. */
  | { readonly status: 'unreachable'; readonly failure: AttemptFailure; readonly gone: boolean }

/** Where a finished video is: its bytes, or what the adapter opens it by. */
export type VideoSource =
  | { readonly bytes: readonly Buffer[]; readonly mediaType: string | null }
  | { readonly url: string }
  | { readonly path: string }

/** A video on its way. */
export interface VideoContent {
  readonly mediaType: string | null
  readonly bytes: AsyncIterable<Buffer>
}

/** Parameters that most protocols of videos can carry, by OpenRouter's names. */
export const VIDEO_PARAMETERS: readonly string[] = Object.freeze([
  'size',
  'duration',
  'resolution',
  'aspect_ratio',
  'frame_images',
  'input_references',
  'generate_audio',
  'seed',
])

/**
 * What an adapter can do about videos. None of it throws but a bug; `open` throws where the bytes are not to be had.
 */
export interface VideoUpstream {
  submit(submission: VideoSubmission): Promise<SubmissionOutcome>
  poll(handle: VideoHandle): Promise<VideoState>
  open(handle: VideoHandle, source: VideoSource): Promise<VideoContent>
  /** Asks the provider to stop a job that nobody wants any more; where it cannot be asked, nothing happens. */
  cancel?(handle: VideoHandle): Promise<void>
}

/** Whether an endpoint takes a parameter, as far as its row of the catalogue narrows it. */
export function takes({ supportedParameters }: Endpoint, name: string): boolean {
  return supportedParameters === null || supportedParameters.includes(name)
}

/** A field of an upstream body, left out where it has no value or the endpoint does not take it. */
export function optional(
  endpoint: Endpoint,
  parameter: string,
  name: string,
  value: unknown,
): Readonly<Record<string, unknown>> {
  return value === null || !takes(endpoint, parameter) ? {} : { [name]: value }
}
