import { createTokenCounter } from '../../src/plan/token-count.ts'
import { Disk } from './disk.ts'
import { playUniverse, type Verdict } from './universe.ts'

/** What plays one universe after another in this thread. */
export async function createPlayer(traced: boolean): Promise<(seed: number) => Promise<Verdict>> {
  // A refusal is an error with a stack, which costs more than all else of it.
  if (!traced) Error.stackTraceLimit = 3
  const disk = await Disk.open()
  // Texts are short enough to be counted whole: chance and time do not enter.
  const tokens = createTokenCounter(
    () => 0,
    () => 0,
  )
  return (seed) => playUniverse(seed, { disk, tokens, traced })
}
