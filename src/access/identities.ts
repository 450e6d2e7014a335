import { reasonError } from '../base/refusals.ts'
import { type UserRecord, type UserStore, identityId } from '../store/people/user-store.ts'
import { isoTime } from '../base/time.ts'
import type { Cipher } from '../base/cipher.ts'

/** An identity in the form that both parts of the console show. */
export interface ShownIdentity {
  readonly id: string
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly linked_at: string | null
}

export function identitiesOf({ oidc }: UserRecord): readonly ShownIdentity[] {
  if (oidc === null) return []
  const { issuer, subject, email, linkedAtMs } = oidc
  return [
    {
      id: identityId(oidc),
      issuer,
      subject,
      email,
      linked_at: isoTime(linkedAtMs),
    },
  ]
}

export function identityNamed(user: UserRecord, id: string): ShownIdentity {
  const found = identitiesOf(user).find((identity) => identity.id === id)
  if (found === undefined)
    throw reasonError('unknown_id', { id: id.slice(0, 80) }, { says: `Identity '${id.slice(0, 80)}' not found` })
  return found
}

/** Removes an identity, unless it is the user's only way to sign in. */
export async function takeIdentity(
  users: Pick<UserStore, 'unlinkIdentity'>,
  user: UserRecord,
  identity: ShownIdentity,
): Promise<void> {
  if (await users.unlinkIdentity(user.id, identity)) return
  throw reasonError('last_way_in')
}

/** The encryption is bound to the user: a seed moved to another row cannot be decrypted. */
export function encryptSeed(cipher: Cipher, userId: string, seed: Buffer): Buffer {
  return cipher.encrypt(seed, purposeOf(userId))
}

export function decryptSeed(cipher: Cipher, userId: string, encrypted: Buffer): Buffer {
  return cipher.decrypt(encrypted, purposeOf(userId))
}

/** Encrypts every seed with the first wrapping key; returns their number. */
export async function rewrapSeeds(users: UserStore, cipher: Cipher): Promise<number> {
  const seeds = await users.encryptedSeeds()
  for (const { id, seed } of seeds)
    await users.replaceSeed(id, seed, encryptSeed(cipher, id, decryptSeed(cipher, id, seed)))
  return seeds.length
}

function purposeOf(userId: string): string {
  return `user/${userId}/totp/v1`
}
