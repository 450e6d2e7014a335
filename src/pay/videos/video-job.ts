import { assert } from '../../base/assert.ts'
import { type Cipher, openFor, purposeOf } from '../../base/cipher.ts'
import type { Clock } from '../../base/clock.ts'
import type { ApiError, ErrorType } from '../../base/errors.ts'
import { HOUR_MS } from '../../base/time.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type GenerationRecord, keptName } from '../../ledger/generation-record.ts'
import type { JobCandidate, JobDetails, JobMove, JobRow, JobState, JobStatus } from '../../ledger/job.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { VideoOperation } from '../../protocols/videos/request.ts'
import type { VideoTable } from '../../protocols/videos/videos.ts'
import type { FileStore } from '../../store/files/file-store.ts'
import { type JobStore, jobPurpose } from '../../store/jobs/job-store.ts'
import type { Usage } from '../../tables/meters.ts'
import type { AttemptQueuePorts } from '../relay/attempt-queue.ts'
import { videoUsage } from './video-plan.ts'

/** A job that is not finished after this time expires (wire.md D-4.2). */
export const JOB_TTL_MS = 60 * 60_000
/** How long a finished video is stored (wire.md D-4.5). */
export const VIDEO_KEPT_MS = 72 * HOUR_MS

const POLL_MS_MIN = 1_000
const POLL_MS_MAX = 10_000
const POLL_GROWTH = 1.5

/** The only allowed moves (wire.md D-4.2). */
const MOVES: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  pending: ['pending', 'in_progress', 'failed', 'expired', 'cancelled'],
  in_progress: ['in_progress', 'completed', 'failed', 'expired'],
  completed: [],
  failed: [],
  expired: [],
  cancelled: [],
}

type Changes = Partial<Omit<JobState, 'details'>> & { readonly details?: Partial<JobDetails> }

/** A job's next state. */
export function movedState(row: JobState, { details, ...changes }: Changes): JobState {
  const { status, phase, progress, dueAtMs, completedAtMs, expiresAtMs } = row
  const next = {
    status,
    phase,
    progress,
    dueAtMs,
    completedAtMs,
    expiresAtMs,
    ...changes,
    details: { ...row.details, ...details },
  }
  assert(MOVES[row.status].includes(next.status), `A job cannot go from ${row.status} to ${next.status}.`)
  return next
}

/** The submission is stored before it is sent, so that it cannot be sent twice. */
export function sending(row: JobRow, current: number, keyPrint: string | null): JobState {
  return movedState(row, { phase: 'sending', details: { current, keyPrint, attempts: row.details.attempts + 1 } })
}

/** The provider answered that it refuses the job. */
export function refused(row: JobRow, final: boolean): JobState {
  const { current, refused: before } = row.details
  return movedState(row, { phase: 'ready', details: { refused: final ? [...before, current] : before } })
}

/** It is unknown whether the submission arrived. It is not sent again; the job waits for the operator or its expiry. */
export function parked(row: JobRow): JobState {
  return movedState(row, { phase: 'parked', dueAtMs: row.deadlineMs })
}

export function accepted(
  row: JobRow,
  { reference, upstreamId }: { readonly reference: string; readonly upstreamId: string | null },
  nowMs: number,
): JobState {
  const details = { reference, upstreamId: keptName(upstreamId), acceptedAtMs: nowMs, polls: 0, misses: 0 }
  return movedState(row, {
    status: 'in_progress',
    phase: 'accepted',
    dueAtMs: due(row, nowMs, pollDelayMs(0)),
    details,
  })
}

/** The provider works on the job. */
export function polled(row: JobRow, progress: number | null, nowMs: number): JobState {
  const polls = row.details.polls + 1
  return movedState(row, {
    progress: Math.max(row.progress, progress ?? 0),
    dueAtMs: due(row, nowMs, pollDelayMs(polls)),
    details: { polls, misses: 0 },
  })
}

/** The provider could not be reached, or its video could not be fetched: it is asked again. */
export function missed(row: JobRow, retryAfterSeconds: number | null, nowMs: number): JobState {
  const polls = row.details.polls + 1
  const waitMs = Math.max(pollDelayMs(polls), (retryAfterSeconds ?? 0) * 1_000)
  return movedState(row, { dueAtMs: due(row, nowMs, waitMs), details: { polls, misses: row.details.misses + 1 } })
}

/** The videos are stored. */
export function completed(row: JobRow, files: number, nowMs: number): JobState {
  const { costMicro } = candidateOf(row)
  return movedState(row, {
    status: 'completed',
    progress: 100,
    completedAtMs: nowMs,
    expiresAtMs: nowMs + VIDEO_KEPT_MS,
    details: { files, costMicro },
  })
}

/** The job ends without success and without a charge. */
export function ended(
  row: JobRow,
  status: 'failed' | 'expired' | 'cancelled',
  why: { readonly error: string; readonly errorType: ErrorType | null },
  nowMs: number,
): JobState {
  return movedState(row, { status, completedAtMs: nowMs, details: { error: why.error, errorType: why.errorType } })
}

/** The pause before the next poll: 1 s at first, growing to 10 s. */
export function pollDelayMs(polls: number): number {
  return Math.min(POLL_MS_MAX, Math.round(POLL_MS_MIN * POLL_GROWTH ** Math.min(polls, 10)))
}

/** The time of the next poll; there is one at the deadline as well. */
function due({ deadlineMs }: JobRow, nowMs: number, waitMs: number): number {
  return nowMs < deadlineMs ? Math.min(deadlineMs, nowMs + waitMs) : nowMs + waitMs
}

export function candidateOf({ details }: Pick<JobRow, 'details'>): JobCandidate {
  const candidate = details.candidates[details.current]
  assert(candidate !== undefined, 'A job names one of its candidates.')
  return candidate
}

/** The usage-log row of an ended job. */
export function recordOf(row: JobRow, end: JobState, usage: Usage, nowMs: number): GenerationRecord {
  const { details } = end
  const served = details.attempts > 0 ? candidateOf(end) : null
  const done = end.status === 'completed'
  return {
    generationId: row.id,
    accountId: row.accountId,
    keyId: row.keyId,
    requestId: row.requestId,
    type: 'video',
    model: row.model,
    providerSlug: served?.providerSlug ?? null,
    providerName: served?.providerName ?? null,
    endpointId: served?.endpointId ?? null,
    upstreamId: details.upstreamId,
    status: done ? 'completed' : end.status === 'cancelled' ? 'cancelled' : 'error',
    errorType: details.errorType,
    finishReason: null,
    nativeFinishReason: null,
    usage: done ? usage : {},
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    billingBasis: done ? 'provider_usage' : 'free',
    flagged: false,
    priceVersion: row.priceVersion,
    ...(details.markup === undefined ? {} : { markup: details.markup }),
    ...(served?.variant === null || served === null ? {} : { variant: served.variant }),
    ...(done ? conditionsOf(served) : {}),
    streamed: false,
    attempts: details.attempts,
    latencyMs: details.acceptedAtMs === null ? null : details.acceptedAtMs - row.createdAtMs,
    durationMs: Math.max(0, nowMs - row.createdAtMs),
    createdAtMs: row.createdAtMs,
    appUrl: details.appUrl,
    appTitle: details.appTitle,
    sessionId: details.sessionId,
    ...(details.endUser === undefined ? {} : { endUser: details.endUser }),
  }
}

/** Jobs made by an older release have no conditions. */
function conditionsOf(served: JobCandidate | null): Pick<GenerationRecord, 'condition' | 'billedCondition'> {
  const { condition = null, billedCondition = null } = served ?? {}
  return { ...(condition === null ? {} : { condition }), ...(billedCondition === null ? {} : { billedCondition }) }
}

/**
 * The most that the provider may bill for a job that the client does not pay: nothing if it refused or failed the job,
 * else the whole price, since it may have made the video.
 */
export function insuredMicro(row: JobRow, status: JobStatus, delivered: boolean): bigint {
  const mayBill = delivered || (status !== 'failed' && row.phase !== 'ready')
  return mayBill ? BigInt(candidateOf(row).buyMicro) : 0n
}

/** The parts that the work on jobs needs. */
export interface JobPorts extends AttemptQueuePorts {
  readonly jobs: JobStore
  readonly files: FileStore
  readonly ledger: Pick<Ledger, 'settle' | 'void'>
  readonly catalog: Catalog
  readonly upstreams: VideoTable
  readonly clock: Clock
  readonly cipher: Cipher
  /** One sentence for the operator. */
  readonly notice: (message: string) => void
}

type JobOwner = Pick<JobRow, 'id' | 'accountId'>

export function encryptOperation(cipher: Cipher, { id, accountId }: JobOwner, operation: VideoOperation): Buffer {
  return cipher.encrypt(Buffer.from(JSON.stringify(operation)), purposeOf(jobPurpose(id), accountId))
}

/** null = the wrapping key has been removed. */
export function decryptOperation(
  cipher: Cipher,
  { id, accountId, request }: JobOwner & Pick<JobRow, 'request'>,
): VideoOperation | null {
  try {
    // Encrypted by `encryptOperation`; decryption authenticates it.
    return JSON.parse(openFor(cipher, request, jobPurpose(id), accountId).plain.toString('utf8')) as VideoOperation
  } catch {
    return null
  }
}

/**
 * The request without its pictures, for a job that a provider has or none will have. Pictures may be large and are not
 * needed again, while the row stays. Empty if the request has none.
 */
export function withoutPictures(cipher: Cipher, row: JobRow): Pick<JobMove, 'request'> {
  const operation = decryptOperation(cipher, row)
  if (operation === null || operation.frameImages.length + operation.inputReferences.length === 0) return {}
  return { request: encryptOperation(cipher, row, { ...operation, frameImages: [], inputReferences: [] }) }
}

type EndPorts = Pick<JobPorts, 'ledger' | 'clock' | 'cipher'>

/** Charges and completes the job in one commit; false = another process was faster. Its files must be stored before. */
export async function complete(ports: EndPorts, row: JobRow, files: number): Promise<boolean> {
  const nowMs = ports.clock.now()
  const end = completed(row, files, nowMs)
  const { costMicro, buyMicro } = candidateOf(row)
  const record = recordOf(row, end, usageOf(ports, row), nowMs)
  const outcome = await ports.ledger.settle({
    generationId: row.id,
    costMicro: BigInt(costMicro),
    providerCostMicro: BigInt(buyMicro),
    insuredMicro: 0n,
    record,
    job: lastMove(ports, row, end),
  })
  return outcome.status !== 'not_open'
}

/**
 * Ends the job without a charge, in one commit; false = another process was faster. `delivered`: the provider has made
 * the video.
 */
export async function endFree(
  ports: EndPorts,
  row: JobRow,
  status: 'failed' | 'expired' | 'cancelled',
  why: { readonly error: string; readonly errorType: ErrorType | null },
  delivered = false,
): Promise<boolean> {
  const nowMs = ports.clock.now()
  const end = ended(row, status, why, nowMs)
  const record = recordOf(row, end, {}, nowMs)
  const lostMicro = insuredMicro(row, status, delivered)
  const outcome = await ports.ledger.void({
    generationId: row.id,
    insuredMicro: lostMicro,
    // The customer has caused the cost only by cancelling a job that may have been sent.
    ...(status === 'cancelled' ? {} : { blamelessMicro: lostMicro }),
    record,
    job: lastMove(ports, row, end),
  })
  return outcome.status !== 'not_open'
}

/** Whether the job's time is over. */
export function isOver({ clock }: Pick<EndPorts, 'clock'>, { deadlineMs }: JobRow): boolean {
  return clock.now() >= deadlineMs
}

/** Ends a job whose time is over. */
export async function expire(ports: EndPorts, row: JobRow): Promise<void> {
  const minutes = Math.round((row.deadlineMs - row.createdAtMs) / 60_000)
  await endFree(ports, row, 'expired', {
    error: `The video was not finished within ${minutes} minutes`,
    errorType: 'provider_timeout',
  })
}

export function reasonOf(error: ApiError): { readonly error: string; readonly errorType: ErrorType } {
  return { error: error.message, errorType: error.errorType }
}

function lastMove({ cipher }: EndPorts, row: JobRow, state: JobState): JobMove {
  return { id: row.id, version: row.version, state, keepsLease: false, ...withoutPictures(cipher, row) }
}

/** The usage by the stored request. The job's price was computed from it, so without it nothing can be charged. */
function usageOf({ cipher }: EndPorts, row: JobRow): Usage {
  const operation = decryptOperation(cipher, row)
  if (operation === null)
    throw new Error(`Job ${row.id} cannot be read: TOLLGATE_KEK no longer holds the key it was sealed with.`)
  return videoUsage(operation)
}
