/**
 * What a signed-in user proves themselves with before a way in is added or taken away: the password or a code (from the
 * authenticator, or a recovery code). Who has neither leaves both out, and the sign-in must be of the last ten minutes,
 * else 403 `access_denied`. A wrong one is a 400 `invalid_input`; 429 after too many.
 */
export interface ProofBody {
  readonly password?: string
  readonly code?: string
}

/** Somebody at the issuer of single sign-on who may sign in as this user. */
export interface Identity {
  readonly id: string
  readonly issuer: string
  readonly subject: string
  /** As the issuer said it when it was linked. */
  readonly email: string | null
  readonly linked_at: string | null
}
