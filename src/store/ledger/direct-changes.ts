import type { LedgerChanges } from '../../ledger/ledger-store.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import type { Row, SqlValue } from '../database.ts'
import { COUNT_KEPT, END_CLAIM } from '../idempotency/idempotency-store.ts'
import { jobMoveValues, MOVE_JOB, newJob, SEALED_JOB } from './job-rows.ts'
import { INSERT_NOTICE, noticeValues } from '../notices/notice-store.ts'

/**
 * Keeps an answer in the commit that charges it. The bytes of the answer so far, which repeats its request's tools, go
 * with it.
 */
export const KEEP_ANSWER = `UPDATE kept_response SET state = 'ended', answer = ?, bytes = bytes - LENGTH(answer) + ? WHERE id = ? AND state = 'running'`

/** The changes of a batch besides money, holds and the log: single rows, which the embedded store does not journal. */
export type DirectChanges = Pick<LedgerChanges, 'newJobs' | 'movedJobs' | 'endedClaims' | 'keptAnswers' | 'notices'>

export function hasDirect({ newJobs, movedJobs, endedClaims, keptAnswers, notices }: DirectChanges): boolean {
  return newJobs.length + movedJobs.length + endedClaims.length + keptAnswers.length + notices.length > 0
}

/** The statements for both engines, as a part of the batch's transaction; each yields its first row. */
export function* directStatements(
  { newJobs, movedJobs, endedClaims, keptAnswers, notices }: DirectChanges,
  seal: BookSeal,
): Generator<readonly [text: string, values: readonly SqlValue[]], void, Row | undefined> {
  for (const job of newJobs) yield newJob(job, seal)
  for (const move of movedJobs) yield [MOVE_JOB, jobMoveValues(move, yield [SEALED_JOB, [move.id]], seal)]
  for (const { id, answer } of endedClaims) {
    yield [END_CLAIM, [answer, id]]
    if (answer !== null) yield [COUNT_KEPT, [id]]
  }
  for (const { id, answer } of keptAnswers) yield [KEEP_ANSWER, [answer, BigInt(answer.length), id]]
  for (const notice of notices) yield [INSERT_NOTICE, noticeValues(notice)]
}
