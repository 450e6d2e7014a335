import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { JsonObject } from '../../base/json-text.ts'
import type { Refusal } from '../wire/refusal-table.ts'
import { refusalOfStatus, verdictOn } from '../wire/refusal-verdict.ts'

/** `private` = an address that this provider may not have. */
export type NoAnswer = 'private' | 'unknown_host' | 'closed' | 'slow' | 'certificate' | 'unreachable'

/** Why an attempt failed; from this the relay decides on fallback and status. */
export interface AttemptFailure {
  /**
   * `unsendable` = the provider's protocol cannot express the request, `saturated` = the provider runs as many requests
   * as it may; in both cases nothing was sent.
   */
  readonly reason:
    | 'connect'
    | 'saturated'
    | 'unsendable'
    | 'timeout'
    | 'stall'
    | 'status'
    | 'cut'
    | 'garbage'
    | 'error_event'
    | 'too_large'
    | 'cancelled'
  /**
   * The upstream HTTP status; for an error inside a 200, the code that it names, else 502. null = there was no answer.
   */
  readonly status: number | null
  /** The message for the client, which may be the upstream's own; only for 4xx classes, else null. */
  readonly publicMessage: string | null
  /** The kind of refusal, which says who is at fault; null = it is no refusal. */
  readonly refusal: Refusal | null
  /** Whether a code or words show the kind of refusal, instead of only the status. */
  readonly isKnown?: boolean
  /** The words that show it, as in the table; absent = a code or the status shows it. */
  readonly words?: string
  /** These words are in quotation marks, and so may come from the request. */
  readonly isQuotation?: true
  /** The numbers of tokens that a refusal of the length states. */
  readonly window?: { readonly input: number; readonly limit: number }
  /** The parameters that a refusal names, by the provider's names. */
  readonly fields?: readonly string[]
  /** Why there was no answer; only for `connect`. */
  readonly why?: NoAnswer
  readonly retryAfterSeconds: number | null
  /**
   * The provider's words (`quotes`), whatever the status, or ours for a failure without words; null = none. A
   * provider's words may repeat the prompt: see pay/relay/attempt-error.ts.
   */
  readonly said: string | null
  /** The provider's whole refusal, for a client of its protocol; absent = the message is enough. */
  readonly body?: JsonObject
  /** Marks `publicMessage`, `said` and `body` as the upstream's own words, which may contain secrets. */
  readonly quotes?: true
  /** The usage that the provider reported with the failure, and so bills; absent = none. */
  readonly billed?: UsageReport
  /** For tests and debuggers. It may quote the provider, so it is never logged. */
  readonly detail: string
}

/** A failure that may be shown to the client and written to the log; only `withoutSecretsOf` makes one. */
export interface RedactedFailure extends AttemptFailure {
  readonly redacted: true
}

/** Failures about which our own words say more than the reason does. */
const EXPLAINED: ReadonlySet<AttemptFailure['reason']> = new Set(['garbage', 'too_large', 'timeout', 'stall'])

/**
 * A failure without a message for the client. `detail` is in our words, which may contain names and figures of the
 * provider.
 */
export function failure(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  const refusal = refusalOfStatus(status)
  const said = EXPLAINED.has(reason) ? ({ said: detail, quotes: true } as const) : { said: null }
  return { reason, status, publicMessage: null, refusal, retryAfterSeconds: null, detail, ...said }
}

/** The failure of an answer whose provider still reported its usage; null = it did not. */
export function billed(found: AttemptFailure, usage: UsageReport | null): AttemptFailure {
  return usage === null ? found : { ...found, billed: usage }
}

/**
 * An answer whose own finish reason is an error (wire.md D-3.2). It has no status. The prompt may be the cause, so it
 * does not count against the endpoint unless the model wrote something that nobody can read.
 */
export function badEnd(native: string | null): AttemptFailure {
  const detail = `the answer ended with ${native?.slice(0, 100) ?? 'an error'}`
  const { refusal } = verdictOn({ status: null, codes: [native?.toLowerCase() ?? ''], message: '' })
  return {
    ...failure('error_event', null, detail),
    refusal: refusal === 'model' ? refusal : null,
    said: detail,
    quotes: true,
  }
}

/** The failure for an answer that violates its protocol, with its first bytes. */
export function garbage(what: string, bytes: Buffer): AttemptFailure {
  return { ...failure('garbage', null, what), detail: `${what}: ${bytes.subarray(0, 200).toString('utf8')}` }
}
