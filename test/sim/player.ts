import { createTokenCounter } from '../../src/pay/plan/token-count.ts'
import { Disk } from './disk.ts'
import { playUniverse, type Verdict } from './universe.ts'

/** Runs one universe after another in this thread. */
export async function createPlayer(traced: boolean): Promise<(seed: number) => Promise<Verdict>> {
  // A refusal is an error with a stack trace, which costs more than everything else about it.
  if (!traced) Error.stackTraceLimit = 3
  const disk = await Disk.open()
  // Texts are short enough to be counted whole, so that neither randomness nor time matters.
  const tokens = createTokenCounter(
    () => 0,
    () => 0,
  )
  return (seed) => playUniverse(seed, { disk, tokens, traced })
}
