import { billed, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { objectOf } from '../../wire/raw-json.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { geminiUsage } from './usage.ts'

/**
 * An error inside a 200, as the body or as an event of a stream: `{error: {code, message, status, details}}`, or a list
 * with one of them.
 */
export function geminiErrorEvent(body: unknown): AttemptFailure {
  return billed(eventFailure(body), geminiUsage(objectOf(body)?.['usageMetadata']))
}

/** Whether the body is an error, whatever its status. */
export function isErrorBody(body: unknown): boolean {
  return (objectOf(Array.isArray(body) ? body[0] : body)?.['error'] ?? null) !== null
}
