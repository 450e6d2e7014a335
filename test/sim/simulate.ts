import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { LOADED, type Job } from './sim-worker.ts'
import type { Verdict } from './universe.ts'

/** A universe that takes longer than this hangs, ms. */
const SILENCE_MS = 60_000

export interface Summary {
  readonly universes: number
  readonly requests: number
  readonly charged: number
  readonly steps: number
  /** Universes with violations, in the order they were found. */
  readonly violated: readonly Verdict[]
}

/**
 * Plays universes in a separate thread. A thread that breaks or hangs counts as a violation of the seed it was at.
 * One that breaks before it plays is an error: its mutant is not in the product, or the product does not load with it,
 * so that nothing was caught.
 */
export function simulate(job: Job): Promise<Summary> {
  const worker = new Worker(join(import.meta.dirname, 'sim-worker.ts'), { workerData: job, stderr: true })
  const verdicts: Verdict[] = []
  const violated: Verdict[] = []
  return new Promise((resolve, reject) => {
    let loaded = false
    const broke = (what: string): void => {
      violated.push({
        seed: job.seeds[verdicts.length] ?? 0,
        violations: [what],
        schedule: [],
        requests: 0,
        charged: 0,
        steps: 0,
      })
      finish()
    }
    let silence = setTimeout(() => broke('the universe hangs'), SILENCE_MS)
    let finished = false
    const finish = (): void => {
      if (finished) return
      finished = true
      clearTimeout(silence)
      void worker.terminate()
      const sum = (of: (verdict: Verdict) => number): number =>
        verdicts.reduce((total, verdict) => total + of(verdict), 0)
      resolve({
        universes: verdicts.length,
        requests: sum(({ requests }) => requests),
        charged: sum(({ charged }) => charged),
        steps: sum(({ steps }) => steps),
        violated,
      })
    }
    worker.on('message', (verdict: Verdict | typeof LOADED) => {
      clearTimeout(silence)
      silence = setTimeout(() => broke('the universe hangs'), SILENCE_MS)
      if (verdict === LOADED) {
        loaded = true
        return
      }
      verdicts.push(verdict)
      if (verdict.violations.length > 0) violated.push(verdict)
    })
    worker.on('error', (error) => {
      if (loaded) return broke(String(error))
      reject(error)
      finish()
    })
    worker.on('exit', finish)
  })
}

export function seedsFrom(from: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

/** What a failing universe has to say: its violations, its schedule and how to meet it again. */
export function explain({ seed, violations, schedule }: Verdict): string {
  return [
    `seed ${seed}:`,
    ...violations.map((violation) => `  ${violation}`),
    ...schedule,
    `Repeat it: npm run sim -- --from ${seed} --seeds 1 --trace`,
  ].join('\n')
}
