import { REFERENCE_CHARS_MAX } from '../../kinds/video.ts'
import { failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import { parseErrorBody } from '../wire/error-body.ts'
import type { JobAnswer } from '../../protocols/wire/job-http.ts'
import { unsendable } from '../../protocols/upstream/ask.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { parseJson } from '../../protocols/wire/raw-json.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import type { SubmissionOutcome, VideoState } from '../ports/video-upstream.ts'

/** Statuses of a gateway that got no answer: the submission may have arrived behind it. */
const NO_ANSWER: ReadonlySet<number> = new Set([408, 504, 520, 522, 524])
/** Statuses that say that the provider does not know the job. */
const GONE: ReadonlySet<number> = new Set([404, 410])

export interface AnswerWords<T> {
  /** The content of a good answer; null = it cannot be understood. */
  read(body: unknown): T | null
  /** The failure of an error status. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
}

/** The outcome of a submission, by its answer. */
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

/** The provider has the job, but under an id that is too long to keep: the operator resolves it there. */
function bounded(outcome: SubmissionOutcome | null): SubmissionOutcome | null {
  if (outcome?.status !== 'accepted' || outcome.reference.length <= REFERENCE_CHARS_MAX) return outcome
  return {
    status: 'unknown',
    failure: failure('too_large', null, `the provider's id of the job has ${outcome.reference.length} characters`),
  }
}

/** The state of a job, by the provider's answer. */
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

/** Sends a submission that this provider can express; any other is refused before anything is sent. */
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
