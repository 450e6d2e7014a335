import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { decryptSeed } from '../../access/identities.ts'
import type { Cipher } from '../../base/cipher.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { ProofBody } from '../../base/wire-route.ts'
import type { UserRecord, UserStore } from '../../store/people/user-store.ts'
import { recordEvent } from '../records/ports.ts'
import type { CabinetPorts, Visit } from './ports.ts'

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

const PERIOD_SECONDS = 30
/** Codes of the step before and after are accepted too, for clocks that differ. */
const WINDOW = 1
const SEED_BYTES = 20
const RECOVERY_CODES = 10
const RECOVERY_BYTES = 16
const RECOVERY_SHAPE = /^[0-9a-f]{32}$/

export interface TotpPorts {
  readonly users: UserStore
  readonly cipher: Cipher
}

export function newSeed(): Buffer {
  return randomBytes(SEED_BYTES)
}

/** The address that an authenticator app reads. */
export function totpUri(
  seed: Buffer,
  email: string,
  issuer: string,
): { readonly secret: string; readonly uri: string } {
  const totp = totpOf(seed, { label: email, issuer })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** The time step of a code near `atMs`; null for a wrong code. */
export function stepOf(seed: Buffer, code: string, atMs: number): number | null {
  const digits = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(digits)) return null
  const delta = totpOf(seed).validate({ token: digits, timestamp: atMs, window: WINDOW })
  return delta === null ? null : Math.floor(atMs / 1_000 / PERIOD_SECONDS) + delta
}

/** Ten recovery codes of 128 bits, in groups that can be typed, and their hashes. */
export function newRecoveryCodes(): { readonly codes: readonly string[]; readonly hashes: readonly string[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () => randomBytes(RECOVERY_BYTES).toString('hex'))
  return { codes: codes.map((code) => code.replaceAll(/(.{8})(?=.)/g, '$1-')), hashes: codes.map(hashOf) }
}

/** Uses up a code of the user's second factor; returns its kind, or null. */
export async function useCode(
  { users, cipher }: TotpPorts,
  user: UserRecord,
  code: string,
  atMs: number,
): Promise<'totp' | 'recovery_code' | null> {
  if (user.totpSeed === null || !user.totpEnabled) return null
  const step = stepOf(decryptSeed(cipher, user.id, user.totpSeed), code, atMs)
  if (step !== null) return (await users.useTotpStep(user.id, step)) ? 'totp' : null
  const recovery = code.replaceAll(/[\s-]/g, '').toLowerCase()
  return RECOVERY_SHAPE.test(recovery) && (await users.useRecoveryCode(user.id, hashOf(recovery)))
    ? 'recovery_code'
    : null
}

function totpOf(seed: Buffer, shown: { readonly label?: string; readonly issuer?: string } = {}): TOTP {
  return new TOTP({
    ...shown,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
    secret: new Secret({ buffer: Uint8Array.from(seed).buffer }),
  })
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}
