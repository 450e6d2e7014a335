import { ownValue } from '../../base/own-value.ts'
import { isLive, type JobDetails, type JobMove, type JobPhase, type JobStatus, type NewJob } from '../../ledger/job.ts'
import { sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import type { Row, SqlValue } from '../database.ts'
import { column, Rows, sealedInsertion, type Statement } from '../rows.ts'

export const LIVE = `status IN ('pending','in_progress')`
export const JOBS = new Rows('job', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  keyId: column.text('key_id'),
  requestId: column.text('request_id'),
  model: column.text('model'),
  request: column.bytes('request'),
  priceVersion: column.integer('price_version'),
  holdMicro: column.big('hold'),
  createdAtMs: column.integer('created_at'),
  deadlineMs: column.integer('deadline'),
  version: column.integer('version'),
  leaseOwner: column.text('lease_owner'),
  leaseUntilMs: column.integer('lease_until'),
  status: column.text<JobStatus>('status'),
  phase: column.text<JobPhase>('phase'),
  progress: column.integer('progress'),
  dueAtMs: column.integer('due_at'),
  completedAtMs: column.integerOrNull('completed_at'),
  expiresAtMs: column.integerOrNull('expires_at'),
  details: column.json<JobDetails>('details'),
})

/** A job in its current state, which is needed to seal its next state. */
export const SEALED_JOB = `SELECT ${sealedSelect('job')} FROM job WHERE id = ?`
const MOVED = ['status', 'phase', 'progress', 'due_at', 'completed_at', 'expires_at', 'details']
const MOVES = MOVED.map((name) => `${name} = ?`).join(', ')
/**
 * The stored request is deleted when the job of a closed account ends: the closing itself leaves that of a live job,
 * which needs it.
 */
const REQUEST = `CASE WHEN ? = 1 AND (SELECT status FROM account WHERE account.id = job.account_id) = 'deactivated'
  THEN substr(request, 1, 0) ELSE COALESCE(?, request) END`
export const MOVE_JOB = `UPDATE job SET ${MOVES}, request = ${REQUEST}, version = version + 1,
  lease_owner = CASE WHEN ? = 1 THEN lease_owner ELSE '' END, lease_until = CASE WHEN ? = 1 THEN lease_until ELSE 0 END, seal = ? WHERE id = ? AND version = ?`
/** Live jobs hold their money, whatever the lease of the hold says. */
export const NO_LIVE_JOB = `NOT EXISTS (SELECT 1 FROM job WHERE job.id = hold.id AND job.${LIVE})`

export function newJob(job: NewJob, seal: BookSeal): Statement {
  return sealedInsertion(seal, 'job', JOBS.cells({ ...job, version: 1, leaseOwner: '', leaseUntilMs: 0 }))
}

/** The values for a move of the row that `SEALED_JOB` found in the same transaction; without a row nothing moves. */
export function jobMoveValues(
  { id, version, state, keepsLease, request }: JobMove,
  before: Row | undefined,
  seal: BookSeal,
): readonly SqlValue[] {
  const keeps = keepsLease ? 1n : 0n
  const cells = JOBS.cells(state)
  const sealed = before === undefined ? '' : seal.again('job', before, cells)
  const moved = MOVED.map((name) => ownValue(cells, name) ?? null)
  return [...moved, isLive(state) ? 0n : 1n, request ?? null, keeps, keeps, sealed, id, BigInt(version)]
}
