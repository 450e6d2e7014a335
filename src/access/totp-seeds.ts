import type { Cipher } from '../lib/cipher.ts'
import type { UserStore } from '../store/people/user-store.ts'

/** Bound to its user: a seed moved to another row cannot be decrypted. */
export function encryptSeed(cipher: Cipher, userId: string, seed: Buffer): Buffer {
  return cipher.encrypt(seed, purposeOf(userId))
}

export function decryptSeed(cipher: Cipher, userId: string, encrypted: Buffer): Buffer {
  return cipher.decrypt(encrypted, purposeOf(userId))
}

/** Encrypts every seed with the first wrapping key; answers their number. */
export async function rewrapSeeds(users: UserStore, cipher: Cipher): Promise<number> {
  const seeds = await users.encryptedSeeds()
  for (const { id, seed } of seeds)
    await users.replaceSeed(id, seed, encryptSeed(cipher, id, decryptSeed(cipher, id, seed)))
  return seeds.length
}

function purposeOf(userId: string): string {
  return `user/${userId}/totp/v1`
}
