import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { LOADED, type Job } from './sim-worker.ts'
import type { Verdict } from './universe.ts'

/** A universe without progress for this time hangs, ms. */
const SILENCE_MS = 60_000

export interface Summary {
  readonly universes: number
  readonly requests: number
  readonly charged: number
  readonly steps: number
  /** Universes with violations, in the order of their discovery. */
  readonly violated: readonly Verdict[]
}

/**
 * Runs universes in a separate thread. If the thread crashes or hangs, that is a violation of its current seed. If it
 * crashes before the first universe, that is an error: the mutant is not in the product, or the product does not load
 * with it, so that nothing was found.
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
    // oxlint-disable-next-line eslint/no-restricted-globals -- ends a universe that hangs
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
      // oxlint-disable-next-line eslint/no-restricted-globals -- ends a universe that hangs
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

/** The report of a failed universe: its violations, its schedule and the command that repeats it. */
export function explain({ seed, violations, schedule }: Verdict): string {
  return [
    `seed ${seed}:`,
    ...violations.map((violation) => `  ${violation}`),
    ...schedule,
    `Repeat it: npm run sim -- --from ${seed} --seeds 1 --trace`,
  ].join('\n')
}
