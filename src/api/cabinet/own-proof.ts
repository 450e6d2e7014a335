import { fieldError, reasonError } from '../../base/refusals.ts'
import type { ProofBody } from '../../base/wire-route.ts'
import { recordEvent } from '../records/ports.ts'
import type { CabinetPorts, Visit } from './ports.ts'
import { useCode } from './totp.ts'

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
 * Throws unless the user proves their identity by the password or a code before a way to sign in is added or removed: a
 * person who finds a session left open must not gain another way in. A user who has neither came by single sign-on, and
 * signs in again. `passwordField`: the route's name of the password.
 */
export async function proveOwner(
  ports: CabinetPorts,
  visit: Visit,
  { password, code }: OwnProof,
  passwordField = 'password',
): Promise<void> {
  const { user, call } = visit
  const { passwordHash, totpEnabled } = user
  if (passwordHash === null && !totpEnabled) {
    if (isFresh(ports, visit)) return
    throw reasonError('session_stale', { minutes: FRESH_SIGN_IN_MS / 60_000 })
  }
  await ports.access.bounds.take('proofs', user.id)
  const byCode = code !== null && totpEnabled
  if (
    byCode &&
    (await useCode({ users: ports.store.users, cipher: ports.cipher }, user, code, ports.clock.now())) !== null
  )
    return
  if (!byCode && password !== null && (await ports.passwords.verify(password, passwordHash))) return
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'sign_in.failed', user.id)
  if (byCode) throw fieldError('code', 'used_code')
  throw passwordHash === null ? fieldError('code', 'required') : fieldError(passwordField, 'wrong')
}

function isFresh({ clock }: CabinetPorts, { session }: Visit): boolean {
  return clock.now() - session.createdAtMs <= FRESH_SIGN_IN_MS
}

/**
 * Throws unless the user has just signed in, or proves their identity by all that they have, password and code. Needed
 * before a session makes access that outlives it: a token, an operator, a management key.
 */
export async function proveAnew(ports: CabinetPorts, visit: Visit, { password, code }: OwnProof): Promise<void> {
  const { user, call } = visit
  const { passwordHash, totpEnabled } = user
  if (isFresh(ports, visit)) return
  if (passwordHash === null && !totpEnabled) throw reasonError('session_stale', { minutes: FRESH_SIGN_IN_MS / 60_000 })
  const needed = [...(passwordHash === null ? [] : ['password']), ...(totpEnabled ? ['code'] : [])].join(', ')
  if ((passwordHash !== null && password === null) || (totpEnabled && code === null))
    throw reasonError(
      'proof_needed',
      { with: needed },
      { says: `This needs a sign-in of the last ${FRESH_SIGN_IN_MS / 60_000} minutes, or in the body: ${needed}` },
    )
  await ports.access.bounds.take('proofs', user.id)
  const isRight = passwordHash === null || (await ports.passwords.verify(password ?? '', passwordHash))
  const { users } = ports.store
  // A code is used up only with the right password.
  if (
    isRight &&
    (!totpEnabled || (await useCode({ users, cipher: ports.cipher }, user, code ?? '', ports.clock.now())) !== null)
  )
    return
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'sign_in.failed', user.id)
  throw isRight ? fieldError('code', 'used_code') : fieldError('password', 'wrong')
}
