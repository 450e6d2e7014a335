import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import { type ResultSink, type RunningCall, UnsendableError } from '../ports/call.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'
import { isErrorBody } from '../wire/error-body.ts'
import type { Transport } from '../wire/transport.ts'
import { openaiErrorBody } from '../openai/provider/usage.ts'
import { askWhole, unsendable, type Asked, type WholeAsk, type WholeRequest } from './ask.ts'
import { thrownMessage } from '../../base/text.ts'

/** Thrown if a step failed because of the provider. */
export class StepFailedError extends Error {
  override readonly name = 'StepFailedError'
  readonly failure: AttemptFailure

  constructor(found: AttemptFailure) {
    super(found.detail)
    this.failure = found
  }
}

export interface StepContext {
  /** Aborted when nobody waits for the call any more. */
  readonly signal: AbortSignal
  /** Must be called when a provider has answered 200. */
  readonly headers: () => void
}

/** Runs a call of several requests; whatever `work` throws becomes the call's failure. */
export function inSteps<Result>(
  work: (context: StepContext) => Promise<Result>,
  sink: ResultSink<Result>,
): RunningCall {
  const stop = new AbortController()
  let answered = false
  const headers = (): void => {
    if (!answered && !stop.signal.aborted) sink.headers()
    answered = true
  }
  const run = async (): Promise<void> => {
    // The sink is called only after the caller has got the call.
    await Promise.resolve()
    try {
      const result = await work({ signal: stop.signal, headers })
      if (!stop.signal.aborted) sink.result(result)
    } catch (thrown) {
      if (!stop.signal.aborted) sink.fail(failureOf(thrown))
    }
  }
  // `run` never rejects: its failures go to the sink, or nobody waits for them any more.
  void run()
  return { cancel: () => stop.abort(), resume: () => undefined }
}

/** The failure of a call whose steps threw. */
export function failureOf(thrown: unknown): AttemptFailure {
  if (thrown instanceof StepFailedError) return thrown.failure
  if (thrown instanceof UnsendableError) return unsendable(thrown)
  return failure('garbage', null, thrownMessage(thrown))
}

/**
 * One request of a step, with a JSON answer whose pictures stay unparsed. Rejects with a StepFailedError, also for an
 * error inside a 200.
 */
export function askJson(
  context: StepContext,
  transport: Transport,
  call: Pick<Asked, 'endpoint'>,
  request: WholeAsk,
): Promise<LiftedJson> {
  const lifted = (answer: LiftedJson): LiftedJson | AttemptFailure =>
    isErrorBody(answer.json) ? openaiErrorBody(answer.json) : answer
  return askInStep(context, transport, call, { ...request, lifted })
}

/** One request of a step. Rejects with a StepFailedError. */
export function askInStep<Result extends object>(
  { signal, headers }: StepContext,
  transport: Transport,
  call: Pick<Asked, 'endpoint'>,
  request: WholeRequest<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const fail = (found: AttemptFailure): void => reject(new StepFailedError(found))
    const running = askWhole(transport, call, request, { headers, result: resolve, fail })
    const abort = (): void => {
      running.cancel()
      fail(failure('cancelled', null, 'cancelled'))
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
