import type { Clock } from '../../lib/clock.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { ResultSink, RunningCall, UnitCall } from '../ports/call.ts'
import { failureOf, plainFailure } from './failure.ts'
import type { SandboxScript } from './script.ts'

/** An answer with a single result, or the failure that the script asks for. */
export function answerAtOnce<Result extends object>(
  { endpoint }: Pick<UnitCall<unknown>, 'endpoint'>,
  script: SandboxScript,
  sink: ResultSink<Result>,
  clock: Clock,
  answer: () => Result | AttemptFailure | Promise<Result | AttemptFailure>,
): RunningCall {
  let over = false
  const begin = async (): Promise<void> => {
    const failure = plainFailure(script)
    if (failure?.reason === 'status') return sink.fail(failure)
    sink.headers()
    if (failure !== null) return sink.fail(failure)
    if (script.stall !== null) {
      stop = clock.after(endpoint.provider.timeouts.progress * 1_000, () =>
        sink.fail(failureOf('stall', null, 'stalled by script')),
      )
      return
    }
    const result = await answer()
    if (over) return
    if ('reason' in result) sink.fail(result)
    else sink.result(result)
  }
  // `begin` never rejects: an impossible script is a failure.
  let stop = clock.after(script.delayMs, () => void begin())
  return {
    cancel: () => {
      over = true
      stop()
    },
    resume: () => undefined,
  }
}
