import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Job } from './sim-worker.ts'
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

/** Plays universes in a thread of its own. A thread that breaks or hangs counts as a violation of the seed it was at. */
export function simulate(job: Job): Promise<Summary> {
  const worker = new Worker(join(import.meta.dirname, 'sim-worker.ts'), { workerData: job, stderr: true })
  const verdicts: Verdict[] = []
  const violated: Verdict[] = []
  return new Promise((resolve) => {
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
    worker.on('message', (verdict: Verdict) => {
      clearTimeout(silence)
      silence = setTimeout(() => broke('the universe hangs'), SILENCE_MS)
      verdicts.push(verdict)
      if (verdict.violations.length > 0) violated.push(verdict)
    })
    worker.on('error', (error) => broke(String(error)))
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
