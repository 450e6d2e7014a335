import type { Seal } from '../catalog/credentials.ts'
import type { UserStore } from '../store/console-records.ts'

/** Bound to its user, so that a seed moved to another row does not open. */
export function sealSeed(seal: Seal, userId: string, seed: Buffer): Buffer {
  return seal.seal(seed, purposeOf(userId))
}

export function openSeed(seal: Seal, userId: string, sealed: Buffer): Buffer {
  return seal.open(sealed, purposeOf(userId))
}

/** Seals every seed with the first wrapping key; answers how many there are. */
export async function rewrapSeeds(users: UserStore, seal: Seal): Promise<number> {
  const seeds = await users.sealedSeeds()
  for (const { id, seed } of seeds) await users.replaceSeed(id, seed, sealSeed(seal, id, openSeed(seal, id, seed)))
  return seeds.length
}

function purposeOf(userId: string): string {
  return `user/${userId}/totp/v1`
}
