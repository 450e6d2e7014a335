import type { JsonObject } from '../../lib/json-object.ts'

/** Why an attempt failed; the relay decides on fallback and status. */
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
   * Upstream HTTP status; for an error inside a 200 the code that it names, else 502. null when there was no answer.
   */
  readonly status: number | null
  /** The message for the client, perhaps the upstream's own; only for 4xx classes, else null. */
  readonly publicMessage: string | null
  /** The reason of a refusal, beyond its status. */
  readonly refusal: 'context_length' | 'moderation' | 'credentials' | null
  readonly retryAfterSeconds: number | null
  /**
   * The provider's words, whatever the status; null = none. They may repeat the prompt: see relay/provider-words.ts.
   */
  readonly said: string | null
  /** The provider's whole refusal, for a client of its protocol; absent = the message says it. */
  readonly body?: JsonObject
  /** Marks `publicMessage`, `said` and `body` as the upstream's own words, which may contain secrets. */
  readonly quotes?: true
  /** For tests and debuggers; it may quote the provider, and so is never logged. */
  readonly detail: string
}

/** A failure that may be shown to the client and written to the log; only `withoutSecretsOf` makes one. */
export interface RedactedFailure extends AttemptFailure {
  readonly redacted: true
}

/** A failure without a message for the client. */
export function failure(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  return { reason, status, publicMessage: null, said: null, refusal: null, retryAfterSeconds: null, detail }
}

/** The failure for an answer that violates its protocol, with its first bytes. */
export function garbage(what: string, bytes: Buffer): AttemptFailure {
  return failure('garbage', null, `${what}: ${bytes.subarray(0, 200).toString('utf8')}`)
}
