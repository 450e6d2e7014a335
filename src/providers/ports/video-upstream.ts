import type { Endpoint, Provider } from '../../catalog/catalog.ts'
import type { VideoOperation } from '../../kinds/video.ts'
import type { AttemptFailure } from './attempt-failure.ts'

/** A job for a provider. */
export interface VideoSubmission {
  readonly endpoint: Endpoint
  readonly apiKey: string | null
  readonly operation: VideoOperation
  /** Our id of the job. */
  readonly jobId: string
  readonly signal: AbortSignal
}

/** `unknown` = it may have arrived: sending it again could buy it twice. */
export type SubmissionOutcome =
  | {
      readonly status: 'accepted'
      /** The adapter's reference to the job. */ readonly reference: string
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
      /** Percent; null where the provider reports none. */ readonly progress: number | null
    }
  | {
      readonly status: 'done'
      readonly videos: readonly VideoSource[]
      /** To be called when the videos have been taken; frees their room in the node's memory budget. */
      readonly release?: () => void
    }
  | { readonly status: 'failed'; readonly failure: AttemptFailure }
  /** The provider could not be reached now. `gone` = the provider does not know the job. */
  | { readonly status: 'unreachable'; readonly failure: AttemptFailure; readonly gone: boolean }

/** A finished video: its bytes, or a reference for `open`. */
export type VideoSource =
  | { readonly bytes: readonly Buffer[]; readonly mediaType: string | null }
  | { readonly url: string }
  | { readonly path: string }

/** A video being read. */
export interface VideoContent {
  readonly mediaType: string | null
  readonly bytes: AsyncIterable<Buffer>
}

/** Parameters that most video protocols can carry, by OpenRouter's names. */
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
 * An adapter's calls for videos. They throw only for bugs, except `open`, which throws when the bytes cannot be had.
 */
export interface VideoUpstream {
  submit(submission: VideoSubmission): Promise<SubmissionOutcome>
  poll(handle: VideoHandle): Promise<VideoState>
  open(handle: VideoHandle, source: VideoSource): Promise<VideoContent>
  /** Asks the provider to stop a job that nobody wants any more; absent where it cannot. */
  cancel?(handle: VideoHandle): Promise<void>
}

/** Whether an endpoint accepts a parameter, by its catalogue row. */
export function takes({ supportedParameters }: Endpoint, name: string): boolean {
  return supportedParameters === null || supportedParameters.includes(name)
}

/** A field of an upstream body, left out without a value or where the endpoint does not accept it. */
export function optional(
  endpoint: Endpoint,
  parameter: string,
  name: string,
  value: unknown,
): Readonly<Record<string, unknown>> {
  return value === null || !takes(endpoint, parameter) ? {} : { [name]: value }
}
