import type { AttemptFailure } from './adapter.ts'
import { parseErrorBody } from './error-body.ts'
import type { JobAnswer } from './job-http.ts'
import { UnsendableError } from './native.ts'
import { parseJson } from './raw-json.ts'
import { failure, type UpstreamHeaders } from './transport.ts'
import type { SubmissionOutcome, VideoState } from './videos.ts'

/** Statuses that say only that no answer came from behind: the submission may have arrived there. */
const NO_ANSWER: ReadonlySet<number> = new Set([408, 504, 520, 522, 524])
/** Statuses by which a provider says that it does not know the job. */
const GONE: ReadonlySet<number> = new Set([404, 410])

export interface AnswerWords<T> {
  /** What a good answer says; null = nothing that can be understood. */
  read(body: unknown): T | null
  /** An error status in the relay's words. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
}

/** What became of a submission, by what came back. */
export function submissionOutcome(
  answer: JobAnswer,
  { read, error }: AnswerWords<SubmissionOutcome>,
): SubmissionOutcome {
  if (answer.status === 'failed') return { status: answer.sent ? 'unknown' : 'refused', failure: answer.failure }
  const { code, headers } = answer
  if (code >= 200 && code < 300)
    return (
      read(parseJson(answer.body)) ?? {
        status: 'unknown',
        failure: failure('garbage', null, `no job in the answer: ${answer.body.subarray(0, 200).toString('utf8')}`),
      }
    )
  return {
    status: NO_ANSWER.has(code) ? 'unknown' : 'refused',
    failure: error(code, parseErrorBody(answer.body), headers),
  }
}

/** How a job is, by what came back. */
export function videoState(answer: JobAnswer, { read, error }: AnswerWords<VideoState>): VideoState {
  if (answer.status === 'failed') return { status: 'unreachable', failure: answer.failure, gone: false }
  const { code, headers } = answer
  if (code < 200 || code >= 300)
    return { status: 'unreachable', failure: error(code, parseErrorBody(answer.body), headers), gone: GONE.has(code) }
  return (
    read(parseJson(answer.body)) ?? {
      status: 'unreachable',
      failure: failure('garbage', null, `no state in the answer: ${answer.body.subarray(0, 200).toString('utf8')}`),
      gone: false,
    }
  )
}

/** Sends what can be said to this provider; what its protocol has no words for is refused before anything has left. */
export async function unsendable<T>(
  prepare: () => T,
  send: (prepared: T) => Promise<SubmissionOutcome>,
): Promise<SubmissionOutcome> {
  let prepared: T
  try {
    prepared = prepare()
  } catch (thrown) {
    if (!(thrown instanceof UnsendableError)) throw thrown
    return {
      status: 'refused',
      failure: { ...failure('unsendable', 400, thrown.message), publicMessage: thrown.message },
    }
  }
  return send(prepared)
}
