import { body, filled, nullable, object, optional, text, time, type Static } from '../base/schema.ts'

/**
 * The proof of a signed-in user before a way to sign in is added or removed: the password or a code (from the
 * authenticator, or a recovery code). A user who has neither leaves both out and must have signed in within the last
 * ten minutes, else 403 `access_denied`. A wrong proof is a 400 `invalid_input`; 429 after too many.
 */
export const ProofBody = body(
  { password: optional(nullable(filled('', 1_000))), code: optional(nullable(filled('', 100))) },
  'The password, or a code of the authenticator. Who has neither has signed in in the last ten minutes.',
)
export type ProofBody = Static<typeof ProofBody>

export const Identity = object(
  {
    id: text(),
    issuer: text(),
    subject: text(),
    email: nullable(text('As the issuer said it when it was linked.')),
    linked_at: nullable(time()),
  },
  'Somebody at the issuer of single sign-on who may sign in as this user.',
)
export type Identity = Static<typeof Identity>
