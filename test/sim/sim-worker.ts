import { parentPort, workerData } from 'node:worker_threads'
import { plant } from './mutant-hooks.ts'
import type { Mutant } from './mutant.ts'
import type { Verdict } from './universe.ts'

export interface Job {
  readonly seeds: readonly number[]
  /** null = the product as it is. */
  readonly mutant: Mutant | null
  readonly traced: boolean
  /** Ends at the first universe that is violated. */
  readonly untilViolated: boolean
}

/** The product is loaded, with the mutant in it: what fails from now on is found by playing. */
export const LOADED = 'loaded'

/** One thread of the simulation: plants its mutant, then loads the product and plays. */
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

// The starter of the thread gives it a job; an importer of only the types has no thread.
if (parentPort !== null) await work(workerData as Job)
