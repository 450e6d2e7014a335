import { setTimeout as delay } from 'node:timers/promises'

/**
 * A pause that a test gives to the program: a client that asks at a pace, a provider that answers late, a death at a
 * chosen moment. `what` names it. To wait for something, a test uses `patience.ts`, never a time.
 */
export async function paced(ms: number, what: string): Promise<void> {
  if (what === '') throw new TypeError('paced: say what the pause is a part of')
  if (ms > 0) await delay(ms)
}
