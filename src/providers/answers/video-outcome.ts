import { REFERENCE_CHARS_MAX } from '../../kinds/video/request.ts'
import { failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import { parseErrorBody } from '../wire/error-body.ts'
import type { JobAnswer } from '../wire/job-http.ts'
import { unsendable } from '../upstream/ask.ts'
import { UnsendableError } from '../ports/upstream-request.ts'
import { parseJson } from '../wire/raw-json.ts'
import type { UpstreamHeaders } from '../wire/transport.ts'
import type { SubmissionOutcome, VideoState } from '../ports/video-upstream.ts'

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
      bounded(read(parseJson(answer.body))) ?? {
        status: 'unknown',
        failure: garbage('no job in the answer', answer.body),
      }
    )
  return {
    status: NO_ANSWER.has(code) ? 'unknown' : 'refused',
    failure: error(code, parseErrorBody(answer.body), headers),
  }
}

/** The provider has the job, under a name that cannot be kept: the operator finds it there. */
function bounded(outcome: SubmissionOutcome | null): SubmissionOutcome | null {
  if (outcome?.status !== 'accepted' || outcome.reference.length <= REFERENCE_CHARS_MAX) return outcome
  return {
    status: 'unknown',
    failure: failure('too_large', null, `the provider's id of the job has ${outcome.reference.length} characters`),
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
      failure: garbage('no state in the answer', answer.body),
      gone: false,
    }
  )
}

/** Sends what can be said to this provider; what its protocol has no words for is refused before anything has left. */
export async function submitSendable<T>(
  prepare: () => T,
  send: (prepared: T) => Promise<SubmissionOutcome>,
): Promise<SubmissionOutcome> {
  let prepared: T
  try {
    prepared = prepare()
  } catch (thrown) {
    if (!(thrown instanceof UnsendableError)) throw thrown
    return { status: 'refused', failure: unsendable(thrown) }
  }
  return send(prepared)
}
