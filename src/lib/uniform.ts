import { randomInt } from 'node:crypto'

const STEPS = 2 ** 47

/** Uniform in [0, 1), and not to be guessed. */
export function uniform(): number {
  return randomInt(STEPS) / STEPS
}
