import type { LedgerChanges } from '../../ledger/ledger-store.ts'
import { assert } from '../../base/assert.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import type { SqlValue } from '../database.ts'
import { END_CLAIM } from '../idempotency/idempotency-store.ts'
import { INSERT_JOB, jobMoveValues, MOVE_JOB, newJobValues, SEALED_JOB } from '../jobs/job-store.ts'
import { INSERT_NOTICE, noticeValues } from '../notices/notice-store.ts'
import { KEEP_ANSWER } from '../responses/response-store.ts'
import type { SqliteDatabase } from './database.ts'

/** The part of a batch that goes through the journal. */
export type JournaledChanges = Pick<LedgerChanges, 'accounts' | 'keys' | 'newHolds' | 'endedHolds' | 'entries' | 'log'>
/** The part of a batch that goes straight into the tables; the sums of spending follow from the log. */
export type DirectChanges = Omit<LedgerChanges, keyof JournaledChanges | 'spends'>

/** Changes that the journal has no rows for. */
export function hasDirect(changes: LedgerChanges): boolean {
  const { accounts: _a, keys: _k, newHolds: _n, endedHolds: _e, entries: _t, log: _l, spends: _s, ...others } = changes
  return Object.values(others).some(({ length }) => length > 0)
}

/** As a part of the open transaction. */
export function writeDirect(
  database: SqliteDatabase,
  seal: BookSeal,
  { newJobs, movedJobs, endedClaims, keptAnswers, allowances, notices }: DirectChanges,
): void {
  const run = (text: string, values: readonly SqlValue[]): unknown => database.prepare(text).run(...values)
  assert(allowances.length === 0, 'The one process of the embedded store leases nothing.')
  for (const job of newJobs) run(INSERT_JOB, newJobValues(job, seal))
  for (const move of movedJobs) run(MOVE_JOB, jobMoveValues(move, database.prepare(SEALED_JOB).get(move.id), seal))
  for (const { id, answer } of endedClaims) run(END_CLAIM, [answer, id])
  for (const { id, answer } of keptAnswers) run(KEEP_ANSWER, [answer, BigInt(answer.length), id])
  for (const notice of notices) run(INSERT_NOTICE, noticeValues(notice))
}
