import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { refusalOfStatus } from '../wire/refusal-verdict.ts'
import type { SandboxScript } from './script.ts'

export function failureOf(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  const refused = status !== null && status < 500 && status !== 429
  return {
    reason,
    status,
    publicMessage: refused ? `The sandbox was asked to fail with ${status}` : null,
    said: null,
    refusal: refusalOfStatus(status),
    retryAfterSeconds: status === 429 ? 1 : null,
    detail,
  }
}

/** The failure that a script sets for an answer without a stream. */
export function plainFailure(script: SandboxScript): AttemptFailure | null {
  if (script.status !== null) return failureOf('status', script.status, 'status by script')
  return script.error === null ? null : failureOf('error_event', 502, 'error by script')
}
