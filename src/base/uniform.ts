import { randomInt } from 'node:crypto'

const STEPS = 2 ** 47

/** Uniform in [0, 1) and unpredictable. */
export function uniform(): number {
  return randomInt(STEPS) / STEPS
}
