import { fieldError, reasonError } from '../base/refusals.ts'
import type { ProofBody } from './identity-contract.ts'
import { recordEvent, type CabinetPorts, type Visit } from './ports.ts'
import { useCode } from '../api/cabinet/totp.ts'
import { takeTurn } from './turns.ts'

/** How long a sign-in counts as a proof for a user who has neither password nor code. */
export const FRESH_SIGN_IN_MS = 10 * 60_000

/** The proof of a signed-in user; null = not given. */
export interface OwnProof {
  readonly password: string | null
  readonly code: string | null
}

export function proofOf({ password = null, code = null }: ProofBody): OwnProof {
  return { password, code }
}

/**
 * Throws unless the user proves themselves by the password or a code before a way to sign in is added or removed:
 * whoever finds a session left open must not gain another way in. A user who has neither came by single sign-on, and
 * signs in again. `passwordField`: the route's name of the password.
 */
export async function proveOwner(
  ports: CabinetPorts,
  visit: Visit,
  { password, code }: OwnProof,
  passwordField = 'password',
): Promise<void> {
  const { user, session, call } = visit
  const { passwordHash, totpEnabled } = user
  if (passwordHash === null && !totpEnabled) {
    if (ports.clock.now() - session.createdAtMs <= FRESH_SIGN_IN_MS) return
    throw reasonError(
      'access_denied',
      'session_stale',
      { minutes: FRESH_SIGN_IN_MS / 60_000 },
      `Sign in again first: this needs a sign-in of the last ${FRESH_SIGN_IN_MS / 60_000} minutes`,
    )
  }
  takeTurn(ports.proofs, user.id, 'tries')
  const byCode = code !== null && totpEnabled
  if (
    byCode &&
    (await useCode({ users: ports.store.users, cipher: ports.cipher }, user, code, ports.clock.now())) !== null
  )
    return
  if (!byCode && password !== null && (await ports.passwords.verify(password, passwordHash))) return
  await recordEvent(ports, user.email, call.clientIp, 'sign_in.failed', user.id)
  if (byCode) throw fieldError('code', 'used_code', {}, 'is wrong, or was used before')
  throw passwordHash === null
    ? fieldError('code', 'required', {}, 'is required')
    : fieldError(passwordField, 'wrong', {}, 'is wrong')
}
