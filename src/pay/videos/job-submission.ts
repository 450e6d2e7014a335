import { createHash } from 'node:crypto'
import type { Model, Provider } from '../../catalog/catalog.ts'
import { REFERENCE_CHARS_MAX, type VideoOperation } from '../../protocols/videos/request.ts'
import type { Candidate } from '../plan/plan.ts'
import { isTold, pricedVideo } from './video-plan.ts'
import type { SubmissionOutcome } from '../../protocols/videos/upstream.ts'
import { errorOfAttempts, failuresText, type FailedAttempt } from '../relay/attempt-error.ts'
import { AttemptQueue } from '../relay/attempt-queue.ts'
import type { JobRow, JobState } from '../../ledger/job.ts'
import {
  type JobPorts,
  accepted,
  candidateOf,
  decryptOperation,
  endFree,
  parked,
  reasonOf,
  refused,
  sending,
  withoutPictures,
} from './video-job.ts'
import { isoTime } from '../../base/time.ts'

const LATE_TRIES_MAX = 5

/**
 * Submits a job to one provider. Each submission is recorded before it is sent, and a recorded one is never sent again.
 * The next provider is asked only if this one's answer refuses the job.
 */
export class JobSubmission {
  readonly #ports: JobPorts
  readonly #signal: AbortSignal
  readonly #operation: VideoOperation
  readonly #queue: AttemptQueue
  #row: JobRow

  private constructor(
    ports: JobPorts,
    row: JobRow,
    operation: VideoOperation,
    queue: AttemptQueue,
    signal: AbortSignal,
  ) {
    this.#ports = ports
    this.#row = row
    this.#operation = operation
    this.#queue = queue
    this.#signal = signal
  }

  /** Requires the phase `ready`: no submission of the job is under way. */
  static async run(ports: JobPorts, row: JobRow, signal: AbortSignal): Promise<void> {
    const operation = decryptOperation(ports.cipher, row)
    const candidates = operation === null ? [] : candidatesOf(ports, row, operation)
    if (operation === null || candidates.length === 0) {
      await endFree(ports, row, 'failed', {
        error: `All providers of model '${row.model}' are busy or unavailable. Try again later`,
        errorType: 'provider_unavailable',
      })
      return
    }
    const submission = new JobSubmission(ports, row, operation, new AttemptQueue(ports, candidates), signal)
    try {
      await submission.#run()
    } finally {
      submission.#queue.release()
    }
  }

  async #run(): Promise<void> {
    for (;;) {
      const outcome = await this.#send()
      if (outcome === null) return
      if (outcome.status === 'accepted') {
        this.#queue.succeed(null, null)
        return this.#accept(outcome)
      }
      const attempt = this.#queue.fail(outcome.failure, { sent: () => null, earlier: [this.#operation] })
      if (outcome.status === 'unknown') return this.#park(unknownText(attempt))
      const { endpoint } = this.#queue.candidate
      const next = this.#queue.next(attempt)
      if (next === null) {
        await endFree(this.#ports, this.#row, 'failed', reasonOf(errorOfAttempts(this.#queue.failed)))
        return
      }
      if (!(await this.#move(refused(this.#row, next.endpoint.id !== endpoint.id), true))) return
    }
  }

  /** null = another process moved the job meanwhile, and nothing was sent. */
  async #send(): Promise<SubmissionOutcome | null> {
    const apiKey = this.#queue.begin()
    const { endpoint } = this.#queue.candidate
    const videos = this.#ports.upstreams.get(endpoint.provider.adapter)
    if (videos === undefined) throw new Error(`Only endpoints that make videos are candidates, got '${endpoint.id}'.`)
    const current = this.#row.details.candidates.findIndex(({ endpointId }) => endpointId === endpoint.id)
    if (!(await this.#move(sending(this.#row, current, keyPrintOf(apiKey)), true))) return null
    return videos.submit({
      endpoint,
      apiKey,
      operation: pricedVideo(this.#operation, endpoint),
      jobId: this.#row.id,
      signal: this.#signal,
    })
  }

  async #park(how: string): Promise<void> {
    await this.#move(parked(this.#row), false)
    this.#ports.notice(parkedSentence(this.#row, how))
  }

  /** The provider has the job. Another process may have parked the job after the lease ended: the newer result wins. */
  async #accept(outcome: Extract<SubmissionOutcome, { status: 'accepted' }>): Promise<void> {
    const { jobs, clock, cipher } = this.#ports
    const { attempts } = this.#row.details
    const request = withoutPictures(cipher, this.#row)
    for (let tries = 0; tries < LATE_TRIES_MAX; tries += 1) {
      const row = tries === 0 ? this.#row : await jobs.find(this.#row.id)
      if (row === null || row.status !== 'pending' || row.details.attempts !== attempts) break
      const state = accepted(row, outcome, clock.now())
      if ((await jobs.move({ id: row.id, version: row.version, state, keepsLease: false, ...request })) !== null) return
    }
    await this.#abandon(outcome.reference)
  }

  /** The job was cancelled or has expired during the submission. */
  async #abandon(reference: string): Promise<void> {
    const { endpoint } = this.#queue.candidate
    const { provider, upstreamModel } = endpoint
    const { keyPrint } = this.#row.details
    const cancel = this.#ports.upstreams.get(provider.adapter)?.cancel
    if (cancel !== undefined)
      await cancel({ provider, upstreamModel, apiKey: keyOf(provider, keyPrint), reference, signal: this.#signal })
  }

  async #move(state: JobState, keepsLease: boolean): Promise<boolean> {
    const moved = await this.#ports.jobs.move({ id: this.#row.id, version: this.#row.version, state, keepsLease })
    if (moved !== null) this.#row = moved
    return moved !== null
  }
}

/** The reason why it is unknown whether the submission arrived. */
function unknownText(attempt: FailedAttempt): string {
  const text = failuresText([attempt])
  return attempt.failure !== 'empty' && attempt.failure.reason === 'too_large'
    ? `${text}, its id of the job is longer than ${REFERENCE_CHARS_MAX} characters or its answer too long`
    : text
}

export function parkedSentence(row: JobRow, how: string): string {
  return `Video job ${row.id} is parked: its submission to '${candidateOf(row).providerSlug}' may have arrived (${how}). It is not sent again and expires at ${isoTime(row.deadlineMs)} unless it is resolved`
}

/** Identifies the provider key of a job without revealing it. */
export function keyPrintOf(apiKey: string | null): string | null {
  return apiKey === null ? null : createHash('sha256').update(apiKey).digest('hex').slice(0, 16)
}

/** The key with which a job was sent; if the key was removed from the pool, another key, which may know the job too. */
export function keyOf({ apiKeys }: Provider, keyPrint: string | null): string | null {
  return apiKeys.find((key) => keyPrintOf(key) === keyPrint) ?? apiKeys[0] ?? null
}

/** The job's candidates that have not refused it and can still make it, with their current rows. */
function candidatesOf({ catalog, upstreams }: JobPorts, row: JobRow, operation: VideoOperation): readonly Candidate[] {
  const model: Model | undefined = catalog.current().models.get(row.model)
  return row.details.candidates.flatMap(({ endpointId }, index): readonly Candidate[] => {
    const endpoint = model?.endpoints.find(({ id }) => id === endpointId)
    if (model === undefined || endpoint === undefined || row.details.refused.includes(index)) return []
    const tells = upstreams.get(endpoint.provider.adapter)?.tells ?? null
    return isTold(model, endpoint, operation, tells) ? [{ model, endpoint, sendMaxTokens: null }] : []
  })
}
