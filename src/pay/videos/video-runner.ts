import type { JobRow } from '../../ledger/job.ts'
import { type JobPorts, expire, isOver, parked } from './video-job.ts'
import { pollJob } from './job-poll.ts'
import { JobSubmission, parkedSentence } from './job-submission.ts'
import { thrownMessage } from '../../base/text.ts'

const LEASE_MS = 60_000
const RENEW_MS = 20_000
const STEPS_MAX = 64
/** How often to look for jobs of other nodes, and to repeat work that failed. */
const LOOK_MS = 1_000
const LOOK_MS_MIN = 20
/** How long a stop waits for a submission: if it were cut, nobody would know whether it arrived. */
const SUBMISSION_END_MS = 30_000

export interface RunnerPorts extends JobPorts {
  /** This process's name on the leases of jobs. */
  readonly node: string
  /** The store has one process: a lease at the start belongs to a dead process, and jobs are created only here. */
  readonly singleProcess: boolean
}

/**
 * Works on every live job when it is due. Each piece of work takes a lease on the job's row, so that only one of many
 * nodes does it. The row records the job's progress, so nothing is lost with a process.
 */
export class VideoRunner {
  readonly #ports: RunnerPorts
  /** Steps under way, by job id. */
  readonly #steps = new Map<string, Promise<void>>()
  /** Aborted when the runner stops; this work can be repeated. */
  readonly #looks = new AbortController()
  readonly #submissions = new AbortController()
  #stopTimer: (() => void) | null = null
  #stopRenewal: (() => void) | null = null
  #looking: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(ports: RunnerPorts) {
    this.#ports = ports
  }

  async start(): Promise<void> {
    if (this.#ports.singleProcess) await this.#ports.jobs.release(null)
    this.#renewLater()
    this.wake()
  }

  /** A job was created or has become due. */
  wake(): void {
    if (this.#stopped) return
    this.#stopTimer?.()
    this.#stopTimer = null
    if (this.#looking !== null) {
      this.#again = true
      return
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = null
      if (!this.#again) return
      this.#again = false
      this.wake()
    })
  }

  /** Waits for submissions, aborts everything else, and leaves the jobs to the next runner. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopTimer?.()
    this.#stopRenewal?.()
    await this.#looking
    this.#looks.abort()
    const stopLimit = this.#ports.clock.after(SUBMISSION_END_MS, () => this.#submissions.abort())
    await Promise.all(this.#steps.values())
    stopLimit()
    // If the store is down, the leases stay and expire.
    await this.#ports.jobs.release(this.#ports.node).catch(() => undefined)
  }

  async #look(): Promise<void> {
    const { jobs, clock, node } = this.#ports
    let nextMs: number | null = LOOK_MS
    try {
      const nowMs = clock.now()
      const free = STEPS_MAX - this.#steps.size
      const rows = free > 0 ? await jobs.claim({ owner: node, nowMs, leaseUntilMs: nowMs + LEASE_MS, limit: free }) : []
      for (const row of rows) this.#begin(row)
      nextMs = await this.#untilNext(rows.length)
    } catch {
      // If the store does not answer now, the next look asks it again.
    }
    if (this.#stopped || nextMs === null) return
    this.#stopTimer = clock.after(nextMs, () => this.wake())
  }

  /** ms until the next look; null = none is needed before a job is created. */
  async #untilNext(taken: number): Promise<number | null> {
    const { jobs, clock, singleProcess } = this.#ports
    const dueMs = await jobs.nextDueMs()
    if (dueMs === null) return singleProcess ? null : LOOK_MS
    const untilMs = dueMs - clock.now()
    // A due job that was not taken has its work under way, here or on another node.
    if (untilMs <= 0 && taken === 0) return LOOK_MS
    return Math.min(singleProcess ? Math.max(untilMs, LOOK_MS_MIN) : LOOK_MS, Math.max(untilMs, LOOK_MS_MIN))
  }

  #begin(row: JobRow): void {
    const step = this.#step(row)
      .catch((thrown: unknown) => this.#ports.notice(`Video job ${row.id}: ${thrownMessage(thrown)}`))
      .finally(() => {
        this.#steps.delete(row.id)
        this.wake()
      })
    this.#steps.set(row.id, step)
  }

  async #step(row: JobRow): Promise<void> {
    // A provider that has the job may have finished it while nobody asked, so it is asked once more before the job
    // expires.
    if (row.phase !== 'accepted' && isOver(this.#ports, row)) return expire(this.#ports, row)
    switch (row.phase) {
      case 'ready':
        return JobSubmission.run(this.#ports, row, this.#submissions.signal)
      case 'sending':
        // The process that sent the job has died.
        await this.#park(row)
        this.#ports.notice(parkedSentence(row, 'the process that sent it ended'))
        return
      case 'parked':
        return this.#park(row)
      case 'accepted':
        return pollJob(this.#ports, row, this.#looks.signal)
    }
  }

  async #park(row: JobRow): Promise<void> {
    await this.#ports.jobs.move({ id: row.id, version: row.version, state: parked(row), keepsLease: false })
  }

  #renewLater(): void {
    this.#stopRenewal = this.#ports.clock.after(RENEW_MS, () => {
      if (this.#stopped) return
      void this.#renew().then(() => this.#renewLater())
    })
  }

  /** If the store is down now, the next beat asks it again. */
  async #renew(): Promise<void> {
    const { jobs, clock, node } = this.#ports
    if (this.#steps.size > 0)
      await jobs.renew([...this.#steps.keys()], node, clock.now() + LEASE_MS).catch(() => undefined)
  }
}
