import { within, type Reach } from '../accounts/key-lists.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { bytes, integerOrNull, text, type Database } from '../database.ts'
import { ROW_LOCK, lockedIds } from '../dialect.ts'
import { readPage, type Page, type PageRange } from '../page.ts'
import { JOBS, jobMoveValues, LIVE, MOVE_JOB, SEALED_JOB } from '../ledger/job-rows.ts'
import { changeEach } from '../rows.ts'
import type { EncryptAgain } from '../rewrap.ts'
import type { JobMove, JobPage, JobRow } from '../../ledger/job.ts'

/** The purpose for which a job's request is encrypted. */
export function jobPurpose(id: string): string {
  return `job:${id}`
}

const LISTED_REQUEST_BYTES_MAX = 65_536
const COLUMNS = JOBS.list
/**
 * The columns for lists. A request that still has its pictures is replaced by an empty value: a hundred of them would
 * be a gigabyte.
 */
const LISTED_COLUMNS = COLUMNS.replace(
  'request,',
  `CASE WHEN length(request) > ${LISTED_REQUEST_BYTES_MAX} THEN ? ELSE request END AS request,`,
)
const NO_BYTES = Buffer.alloc(0)

/** Jobs that continue after their request. The ledger's commits create and end them; in between, this store does. */
export class JobStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /** null = there is no such job, or it is outside the reach. */
  find(id: string, reach?: Reach): Promise<JobRow | null> {
    const { condition, values } = reach === undefined ? { condition: '1 = 1', values: [] } : within(reach, 'job')
    return JOBS.one(this.#database, `WHERE id = ? AND ${condition}`, [id, ...values])
  }

  /** Takes due jobs that nobody else has, the oldest first. */
  claim({
    owner,
    nowMs,
    leaseUntilMs,
    limit,
  }: {
    readonly owner: string
    readonly nowMs: number
    readonly leaseUntilMs: number
    readonly limit: number
  }): Promise<readonly JobRow[]> {
    // Another node that claims at the same moment skips the rows that this one has locked.
    return this.#database.transaction(async (sql) => {
      const rows = await sql.all(
        `UPDATE job SET lease_owner = ?, lease_until = ?, version = version + 1 WHERE id IN (
          SELECT id FROM job WHERE ${LIVE} AND due_at <= ? AND lease_until < ? ORDER BY due_at LIMIT ?${ROW_LOCK} SKIP LOCKED) RETURNING ${COLUMNS}`,
        [owner, BigInt(leaseUntilMs), BigInt(nowMs), BigInt(nowMs), BigInt(limit)],
      )
      return rows.map((row) => JOBS.read(row)).toSorted((left, right) => left.dueAtMs - right.dueAtMs)
    })
  }

  /** null = the job is no longer at the version of the move. */
  async move(move: JobMove): Promise<JobRow | null> {
    const rows = await this.#database.transaction(async (sql) => {
      const [before] = await sql.all(`${SEALED_JOB}${ROW_LOCK}`, [move.id])
      return sql.all(`${MOVE_JOB} RETURNING ${COLUMNS}`, jobMoveValues(move, before, this.#seal))
    })
    return rows[0] === undefined ? null : JOBS.read(rows[0])
  }

  async renew(ids: readonly string[], owner: string, leaseUntilMs: number): Promise<void> {
    const where = `${lockedIds(this.#database.dialect, 'job')} AND lease_owner = ?`
    const values = [BigInt(leaseUntilMs), JSON.stringify(ids), owner]
    await this.#database.run(`UPDATE job SET lease_until = ? WHERE ${where}`, values)
  }

  /** Releases the leases of an owner; null = all leases. */
  async release(owner: string | null): Promise<void> {
    const [text, values] = owner === null ? [`lease_owner <> ''`, []] : ['lease_owner = ?', [owner]]
    const where = `id IN (SELECT id FROM job WHERE ${text} ORDER BY id${ROW_LOCK})`
    await this.#database.run(`UPDATE job SET lease_owner = '', lease_until = 0 WHERE ${where}`, values)
  }

  /** The time at which the next live job is due; null = there is none. */
  async nextDueMs(): Promise<number | null> {
    const [row] = await this.#database.all(`SELECT MIN(due_at) AS due FROM job WHERE ${LIVE}`)
    return row === undefined ? null : integerOrNull(row, 'due')
  }

  /** Completed jobs within the reach, the newest first. */
  completed(reach: Reach, range: PageRange): Promise<Page<JobRow>> {
    const { condition, values } = within(reach, 'job')
    return readPage(
      this.#database,
      {
        rows: JOBS,
        conditions: [condition, `status = 'completed'`],
        values,
        order: '-completed_at',
        columns: { completed_at: { sql: 'completed_at', is: 'number' } },
      },
      range,
    )
  }

  /** Jobs within the reach in the order of their creation; null = there is no job `after`. */
  async list(reach: Reach, { limit, after, ascending }: JobPage): Promise<readonly JobRow[] | null> {
    const last = after === null ? null : await this.find(after, reach)
    if (after !== null && last === null) return null
    const { condition, values } = within(reach, 'job')
    const verb = ascending ? 'ASC' : 'DESC'
    const where = last === null ? '' : ascending ? ' AND (created_at, id) > (?, ?)' : ' AND (created_at, id) < (?, ?)'
    const rows = await this.#database.all(
      `SELECT ${LISTED_COLUMNS} FROM job WHERE ${condition}${where} ORDER BY created_at ${verb}, id ${verb} LIMIT ?`,
      [NO_BYTES, ...values, ...(last === null ? [] : [BigInt(last.createdAtMs), last.id]), BigInt(limit)],
    )
    return rows.map((row) => JOBS.read(row))
  }

  /** Live jobs that may or may not have reached a provider, the oldest first, for the operator. */
  parked(): Promise<readonly JobRow[]> {
    return JOBS.all(this.#database, `WHERE ${LIVE} AND phase = 'parked' ORDER BY created_at`)
  }

  async encryptAgain(encrypt: EncryptAgain): Promise<void> {
    const select = 'SELECT id, account_id, request FROM job WHERE id > ? ORDER BY id LIMIT ?'
    await changeEach(this.#database, select, (sql, row) => {
      const id = text(row, 'id')
      const request = encrypt(jobPurpose(id), bytes(row, 'request'), text(row, 'account_id'))
      return sql.run('UPDATE job SET request = ? WHERE id = ?', [request, id])
    })
  }
}
