import { parentPort, workerData } from 'node:worker_threads'
import { plant } from './mutant-hooks.ts'
import { MUTANTS } from './mutants.ts'
import type { Verdict } from './universe.ts'

export interface Job {
  readonly seeds: readonly number[]
  /** Name of the mutant to plant; null = the product as it is. */
  readonly mutant: string | null
  readonly traced: boolean
  /** Ends at the first universe that is violated. */
  readonly untilViolated: boolean
}

/** One thread of the simulation: plants its mutant, then loads the product and plays. */
async function work(job: Job): Promise<void> {
  const mutant = job.mutant === null ? null : MUTANTS.find(({ name }) => name === job.mutant)
  if (mutant === undefined) throw new Error(`There is no mutant '${job.mutant}'.`)
  if (mutant !== null) plant(mutant)
  const { createPlayer } = await import('./player.ts')
  const play = await createPlayer(job.traced)
  for (const seed of job.seeds) {
    const verdict: Verdict = await play(seed)
    parentPort?.postMessage(verdict)
    if (job.untilViolated && verdict.violations.length > 0) return
  }
}

// Whoever starts the thread gives it a job.
await work(workerData as Job)
