import { fieldError, reasonError } from '../refusals.ts'
import type { ProofBody } from './identity-contract.ts'
import { recordEvent, type CabinetPorts, type Visit } from './ports.ts'
import { useCode } from './totp.ts'
import { takeTurn } from './turns.ts'

/** How long a sign-in stands for the person who made it, where they have nothing else to prove themselves with. */
export const FRESH_SIGN_IN_MS = 10 * 60_000

/** What a signed-in user proves themselves with; null = not given. */
export interface OwnProof {
  readonly password: string | null
  readonly code: string | null
}

export function proofOf({ password = null, code = null }: ProofBody): OwnProof {
  return { password, code }
}

/**
 * `passwordField`: what the route calls the password.
 *
 * Who finds a session that somebody left open gets no other way in by it: before one is added or taken away, the user
 * proves themselves by the password or by a code. Who has neither came by single sign-on, and comes by it again.
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
