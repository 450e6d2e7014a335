import type { Endpoint, Provider } from '../../catalog/catalog.ts'
import { type PricedField, type VideoOperation, REFERENCE_CHARS_MAX } from './request.ts'
import { takes, UnsendableError } from '../ports/call.ts'
import { type AttemptFailure, failure, garbage } from '../ports/attempt-failure.ts'
import type { JobAnswer, JobHttp, JobRequest } from '../wire/job-http.ts'
import { unsendable } from '../upstream/ask.ts'
import { parseJson } from '../wire/raw-json.ts'

/** A job for a provider. */
export interface VideoSubmission {
  readonly endpoint: Endpoint
  readonly apiKey: string | null
  readonly operation: VideoOperation
  /** Our id of the job. */
  readonly jobId: string
  readonly signal: AbortSignal
}

/** `unknown` = the submission may have arrived: sending it again could buy the job twice. */
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
      /** Must be called when the videos have been taken; frees their room in the node's memory budget. */
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

/** A video that is being read. */
export interface VideoContent {
  readonly mediaType: string | null
  readonly bytes: AsyncIterable<Buffer>
}

/** An adapter's calls for videos. They throw only for bugs, except `open`, which throws if the bytes cannot be read. */
export interface VideoUpstream {
  /** Whether a submission to an endpoint sends the provider the field's value, in any form. */
  tells(endpoint: Endpoint, field: PricedField): boolean
  submit(submission: VideoSubmission): Promise<SubmissionOutcome>
  poll(handle: VideoHandle): Promise<VideoState>
  open(handle: VideoHandle, source: VideoSource): Promise<VideoContent>
  /** Asks the provider to stop a job that nobody wants any more; absent = it cannot. */
  cancel?(handle: VideoHandle): Promise<void>
}

/** A field of an upstream body; it is left out if it has no value or the endpoint does not accept it. */
export function optional(
  endpoint: Endpoint,
  parameter: string,
  name: string,
  value: unknown,
): Readonly<Record<string, unknown>> {
  return value === null || !takes(endpoint, parameter) ? {} : { [name]: value }
}

/** Statuses of a gateway that got no answer: the submission may have arrived at the service behind it. */
const NO_ANSWER: ReadonlySet<number> = new Set([408, 504, 520, 522, 524])
/** Statuses that say that the provider does not know the job. */
const GONE: ReadonlySet<number> = new Set([404, 410])

/** Reads the content of a successful answer; null = it cannot be understood. */
type Reads<T> = (body: unknown) => T | null

/** A provider's own words about its jobs. */
export interface VideoProtocol {
  readonly tells: VideoUpstream['tells']
  /** Of an answer. */
  readonly bytesMax: number
  headers(provider: Provider, apiKey: string | null): Readonly<Record<string, string>>
  /** Throws UnsendableError for a job that this provider cannot express. */
  submission(endpoint: Endpoint, operation: VideoOperation): { readonly path: string; readonly body: unknown }
  readonly accepted: Reads<SubmissionOutcome>
  /** Where a job's state is asked for. */
  statusPath(handle: VideoHandle): string
  state(body: unknown, reference: string): VideoState | null
  /** Where a job is stopped; absent where it cannot be. */
  cancelPath?(reference: string): string
}

export function askVideos(protocol: VideoProtocol, http: JobHttp): VideoUpstream {
  const { tells, bytesMax, cancelPath } = protocol
  return {
    tells,
    submit: async ({ endpoint, apiKey, operation, signal }) => {
      const { provider } = endpoint
      let submission
      try {
        submission = protocol.submission(endpoint, operation)
      } catch (thrown) {
        if (!(thrown instanceof UnsendableError)) throw thrown
        return { status: 'refused', failure: unsendable(thrown) }
      }
      const { path, body } = submission
      const wish = jobRequest(protocol, { provider, apiKey, signal }, path)
      return submissionOutcome(
        await http.post(wish, Buffer.from(JSON.stringify(body)), { bytesMax }),
        protocol.accepted,
      )
    },
    poll: async (handle) => {
      const answer = await http.get(jobRequest(protocol, handle, protocol.statusPath(handle)), { bytesMax })
      return videoState(answer, (body) => protocol.state(body, handle.reference))
    },
    open: async (handle, source) => {
      if ('bytes' in source) return { mediaType: source.mediaType, bytes: each(source.bytes) }
      const path = 'path' in source ? source.path + handle.provider.dialect.query : ''
      return http.open({ ...jobRequest(protocol, handle, path), url: 'url' in source ? source.url : null })
    },
    ...(cancelPath === undefined
      ? {}
      : {
          cancel: async (handle) => {
            await http.post(jobRequest(protocol, handle, cancelPath(handle.reference)), Buffer.from('{}'), { bytesMax })
          },
        }),
  }
}

export function jobRequest(
  { headers }: Pick<VideoProtocol, 'headers'>,
  { provider, apiKey, signal }: Pick<VideoHandle, 'provider' | 'apiKey' | 'signal'>,
  path: string,
): JobRequest {
  return { provider, path, headers: headers(provider, apiKey), signal }
}

async function* each(parts: readonly Buffer[]): AsyncIterable<Buffer> {
  yield* parts
}

/** The outcome of a submission, by its answer. */
function submissionOutcome(answer: JobAnswer, read: Reads<SubmissionOutcome>): SubmissionOutcome {
  if (answer.status === 'failed') return { status: answer.sent ? 'unknown' : 'refused', failure: answer.failure }
  const { code } = answer
  if (code >= 200 && code < 300)
    return (
      bounded(read(parseJson(answer.body))) ?? {
        status: 'unknown',
        failure: garbage('no job in the answer', answer.body),
      }
    )
  return { status: NO_ANSWER.has(code) ? 'unknown' : 'refused', failure: answer.refusal() }
}

/**
 * A submission whose id of the job is too long to be stored becomes unknown: the operator resolves the job at the
 * provider.
 */
function bounded(outcome: SubmissionOutcome | null): SubmissionOutcome | null {
  if (outcome?.status !== 'accepted' || outcome.reference.length <= REFERENCE_CHARS_MAX) return outcome
  return {
    status: 'unknown',
    failure: failure('too_large', null, `the provider's id of the job has ${outcome.reference.length} characters`),
  }
}

/** The state of a job, by the provider's answer. */
export function videoState(answer: JobAnswer, read: Reads<VideoState>): VideoState {
  if (answer.status === 'failed') return { status: 'unreachable', failure: answer.failure, gone: false }
  const { code } = answer
  if (code < 200 || code >= 300) return { status: 'unreachable', failure: answer.refusal(), gone: GONE.has(code) }
  return (
    read(parseJson(answer.body)) ?? {
      status: 'unreachable',
      failure: garbage('no state in the answer', answer.body),
      gone: false,
    }
  )
}
