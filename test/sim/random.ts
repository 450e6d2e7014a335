import type { IdSource } from '../../src/base/ids.ts'

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Numbers that follow from a seed, the same on every machine (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
    // Generators of neighbouring seeds start far from each other.
    for (let round = 0; round < 4; round += 1) this.next()
  }

  /** Uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number of [0, bound). */
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)]
    if (picked === undefined) throw new RangeError('Nothing can be picked from an empty list.')
    return picked
  }

  /** A separate generator, so that one actor's draws do not change another's. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 4_294_967_296))
  }
}

/** Ids that follow from the seed. */
export function seededIds(random: Random): IdSource {
  return {
    letters(length) {
      let text = ''
      for (let index = 0; index < length; index += 1) text += LETTERS[random.below(LETTERS.length)] ?? ''
      return text
    },
  }
}
