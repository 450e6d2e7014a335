import { parentPort, workerData } from 'node:worker_threads'
import { plant } from './mutant-hooks.ts'
import type { Mutant } from './mutant.ts'
import type { Verdict } from './universe.ts'

export interface Job {
  readonly seeds: readonly number[]
  /** null = the product as it is. */
  readonly mutant: Mutant | null
  readonly traced: boolean
  /** Ends at the first universe with violations. */
  readonly untilViolated: boolean
}

/** The product is loaded with the mutant: from now on a failure is one that a universe found. */
export const LOADED = 'loaded'

/** One thread of the simulation: plants its mutant, then loads the product and runs universes. */
async function work(job: Job): Promise<void> {
  const assertPlanted = job.mutant === null ? null : plant(job.mutant)
  const { createPlayer } = await import('./player.ts')
  const play = await createPlayer(job.traced)
  assertPlanted?.()
  parentPort?.postMessage(LOADED)
  for (const seed of job.seeds) {
    const verdict: Verdict = await play(seed)
    parentPort?.postMessage(verdict)
    if (job.untilViolated && verdict.violations.length > 0) return
  }
}

// The starter of the thread gives it a job; an import of only the types starts no thread.
if (parentPort !== null) await work(workerData as Job)
