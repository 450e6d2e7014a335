import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { decryptSeed } from '../../access/identities.ts'
import type { Cipher } from '../../base/cipher.ts'
import type { UserRecord, UserStore } from '../../store/people/user-store.ts'

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
export function totpUri(seed: Buffer, email: string): { readonly secret: string; readonly uri: string } {
  const totp = totpOf(seed, email)
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** The time step of a code near `atMs`; null for a wrong code. */
export function stepOf(seed: Buffer, code: string, atMs: number): number | null {
  const digits = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(digits)) return null
  const delta = totpOf(seed, '').validate({ token: digits, timestamp: atMs, window: WINDOW })
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

function totpOf(seed: Buffer, email: string): TOTP {
  return new TOTP({
    issuer: 'Tollgate',
    label: email,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
    secret: new Secret({ buffer: Uint8Array.from(seed).buffer }),
  })
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}
