/** Why an attempt failed; the relay decides on fallback and status. */
export interface AttemptFailure {
  /**
   * `unsendable` = this provider's protocol has no words for a part of the request, `saturated` = as much runs there as
   * may; nothing was sent.
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
  /** Upstream HTTP status; an error inside a 200 carries the code it names, else 502. null when there was none. */
  readonly status: number | null
  /** For 4xx classes only: what the client is told, which may be the upstream's own message. Else null. */
  readonly publicMessage: string | null
  /** What the upstream refused, beyond its status. */
  readonly refusal: 'context_length' | 'moderation' | 'credentials' | null
  readonly retryAfterSeconds: number | null
  /**
   * What the provider said, whatever the status; null = nothing. It may repeat the prompt: see relay/provider-words.ts.
   */
  readonly said: string | null
  /** Both are the upstream's own words, in which secrets may be. */
  readonly quotes?: true
  /** For tests and debuggers; it may hold what the provider said, and so is never logged. */
  readonly detail: string
}

/** A failure of which may be told, to the client and in the log; only `withoutSecretsOf` makes one. */
export interface RedactedFailure extends AttemptFailure {
  readonly redacted: true
}

/** A failure that carries nothing for the client to read. */
export function failure(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  return { reason, status, publicMessage: null, said: null, refusal: null, retryAfterSeconds: null, detail }
}

/** An answer that is not what its protocol says, with its first bytes. */
export function garbage(what: string, bytes: Buffer): AttemptFailure {
  return failure('garbage', null, `${what}: ${bytes.subarray(0, 200).toString('utf8')}`)
}
