import { within, type Reach } from '../accounts/key-lists.ts'
import { sealedPlaces, sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import { big, bytes, integer, integerOrNull, json, text, type Database, type Row, type SqlValue } from '../database.ts'
import { ROW_LOCK, lockedIds } from '../dialect.ts'
import { readPage, ROW_ID, type Page, type PageRange } from '../page.ts'
import type { JobDetails, JobMove, JobPage, JobPhase, JobRow, JobState, JobStatus, NewJob } from '../../ledger/job.ts'

/** The purpose for which a job's request is encrypted. */
export function jobPurpose(id: string): string {
  return `job:${id}`
}

const REWRAP_PAGE = 100n
const LISTED_REQUEST_BYTES_MAX = 65_536
const LIVE = `status IN ('pending','in_progress')`
const STATE = 'status, phase, progress, due_at, completed_at, expires_at, details'
const COLUMNS = `id, account_id, key_id, request_id, model, request, price_version, hold, created_at, deadline, version, lease_owner, lease_until, ${STATE}`

const JOB_SEALED = sealedPlaces('job', COLUMNS.split(', '))

/** A job as it is, needed to seal its next state. */
export const SEALED_JOB = `SELECT ${sealedSelect('job')} FROM job WHERE id = ?`
export const INSERT_JOB = `INSERT INTO job (${COLUMNS}, seal) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
export const MOVE_JOB = `UPDATE job SET status = ?, phase = ?, progress = ?, due_at = ?, completed_at = ?, expires_at = ?, details = ?, request = COALESCE(?, request), version = version + 1,
  lease_owner = CASE WHEN ? = 1 THEN lease_owner ELSE '' END, lease_until = CASE WHEN ? = 1 THEN lease_until ELSE 0 END, seal = ? WHERE id = ? AND version = ?`
/** Live jobs keep their hold open, whatever its lease says. */
export const NO_LIVE_JOB = `NOT EXISTS (SELECT 1 FROM job WHERE job.id = hold.id AND job.${LIVE})`

export function newJobValues(job: NewJob, seal: BookSeal): readonly SqlValue[] {
  const values = [
    job.id,
    job.accountId,
    job.keyId,
    job.requestId,
    job.model,
    job.request,
    BigInt(job.priceVersion),
    job.holdMicro,
    BigInt(job.createdAtMs),
    BigInt(job.deadlineMs),
    1n,
    '',
    0n,
    ...stateValues(job),
  ]
  return [
    ...values,
    seal.of(
      'job',
      JOB_SEALED.map((place) => values[place]),
    ),
  ]
}

/** Values of the row that `SEALED_JOB` found in the same transaction; without a row nothing moves. */
export function jobMoveValues(
  { id, version, state, keepsLease, request }: JobMove,
  before: Row | undefined,
  seal: BookSeal,
): readonly SqlValue[] {
  const keeps = keepsLease ? 1n : 0n
  const values = stateValues(state)
  const [status, phase, , , completedAt, expiresAt, details] = values
  const sealed =
    before === undefined
      ? ''
      : seal.again('job', before, { status, phase, completed_at: completedAt, expires_at: expiresAt, details })
  return [...values, request ?? null, keeps, keeps, sealed, id, BigInt(version)]
}

/** A request that still has its pictures is left out: a hundred of them would be a gigabyte. */
function listColumns(dialect: Database['dialect']): string {
  const none = dialect === 'postgres' ? "''::bytea" : "x''"
  return COLUMNS.replace(
    'request,',
    `CASE WHEN length(request) > ${LISTED_REQUEST_BYTES_MAX} THEN ${none} ELSE request END AS request,`,
  )
}

function stateValues({
  status,
  phase,
  progress,
  dueAtMs,
  completedAtMs,
  expiresAtMs,
  details,
}: JobState): readonly SqlValue[] {
  return [
    status,
    phase,
    BigInt(progress),
    BigInt(dueAtMs),
    bigOf(completedAtMs),
    bigOf(expiresAtMs),
    JSON.stringify(details),
  ]
}

function bigOf(value: number | null): bigint | null {
  return value === null ? null : BigInt(value)
}

/** Jobs that outlive their request. The ledger's commits create and end them; in between this store moves them. */
export class JobStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /** With `reach` null for a job that is out of it. */
  async find(id: string, reach?: Reach): Promise<JobRow | null> {
    const { condition, values } = reach === undefined ? { condition: '1 = 1', values: [] } : within(reach, 'job')
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM job WHERE id = ? AND ${condition}`, [id, ...values])
    return row === undefined ? null : readJob(row)
  }

  /** Takes due jobs that nobody else has, oldest first. */
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
      return rows.map(readJob).toSorted((left, right) => left.dueAtMs - right.dueAtMs)
    })
  }

  /** null = the job is no longer at the version of the move. */
  async move(move: JobMove): Promise<JobRow | null> {
    const rows = await this.#database.transaction(async (sql) => {
      const [before] = await sql.all(`${SEALED_JOB}${ROW_LOCK}`, [move.id])
      return sql.all(`${MOVE_JOB} RETURNING ${COLUMNS}`, jobMoveValues(move, before, this.#seal))
    })
    return rows[0] === undefined ? null : readJob(rows[0])
  }

  async renew(ids: readonly string[], owner: string, leaseUntilMs: number): Promise<void> {
    const where = `${lockedIds(this.#database.dialect, 'job')} AND lease_owner = ?`
    const values = [BigInt(leaseUntilMs), JSON.stringify(ids), owner]
    await this.#database.run(`UPDATE job SET lease_until = ? WHERE ${where}`, values)
  }

  /** Releases an owner's leases; all leases for null. */
  async release(owner: string | null): Promise<void> {
    const [text, values] = owner === null ? [`lease_owner <> ''`, []] : ['lease_owner = ?', [owner]]
    const where = `id IN (SELECT id FROM job WHERE ${text} ORDER BY id${ROW_LOCK})`
    await this.#database.run(`UPDATE job SET lease_owner = '', lease_until = 0 WHERE ${where}`, values)
  }

  /** The time when the next live job is due; null = there is none. */
  async nextDueMs(): Promise<number | null> {
    const [row] = await this.#database.all(`SELECT MIN(due_at) AS due FROM job WHERE ${LIVE}`)
    return row === undefined ? null : integerOrNull(row, 'due')
  }

  /** Completed jobs within reach, newest first. */
  completed(reach: Reach, range: PageRange): Promise<Page<JobRow>> {
    const { condition, values } = within(reach, 'job')
    return readPage(
      this.#database,
      {
        select: `SELECT ${COLUMNS} FROM job`,
        from: 'job',
        conditions: [condition, `status = 'completed'`],
        values,
        order: '-completed_at',
        columns: { completed_at: { sql: 'completed_at', is: 'number' } },
        id: ROW_ID,
        read: readJob,
      },
      range,
    )
  }

  /** Jobs within reach in the order of their creation; null = there is no job `after`. */
  async list(reach: Reach, { limit, after, ascending }: JobPage): Promise<readonly JobRow[] | null> {
    const last = after === null ? null : await this.find(after, reach)
    if (after !== null && last === null) return null
    const { condition, values } = within(reach, 'job')
    const columns = listColumns(this.#database.dialect)
    const verb = ascending ? 'ASC' : 'DESC'
    const where = last === null ? '' : ascending ? ' AND (created_at, id) > (?, ?)' : ' AND (created_at, id) < (?, ?)'
    const rows = await this.#database.all(
      `SELECT ${columns} FROM job WHERE ${condition}${where} ORDER BY created_at ${verb}, id ${verb} LIMIT ?`,
      [...values, ...(last === null ? [] : [BigInt(last.createdAtMs), last.id]), BigInt(limit)],
    )
    return rows.map(readJob)
  }

  /** Live jobs that may or may not have reached a provider, oldest first, for the operator. */
  async parked(): Promise<readonly JobRow[]> {
    return (
      await this.#database.all(`SELECT ${COLUMNS} FROM job WHERE ${LIVE} AND phase = 'parked' ORDER BY created_at`)
    ).map(readJob)
  }

  /** Encrypts every request again; answers how many there are. */
  async rewrap(encrypt: (id: string, request: Buffer, accountId?: string) => Buffer): Promise<number> {
    let after = ''
    let count = 0
    for (;;) {
      const ids = await this.#database.transaction(async (sql) => {
        const rows = await sql.all('SELECT id, account_id, request FROM job WHERE id > ? ORDER BY id LIMIT ?', [
          after,
          REWRAP_PAGE,
        ])
        for (const row of rows)
          await sql.run('UPDATE job SET request = ? WHERE id = ?', [
            encrypt(text(row, 'id'), bytes(row, 'request'), text(row, 'account_id')),
            text(row, 'id'),
          ])
        return rows.map((row) => text(row, 'id'))
      })
      count += ids.length
      after = ids.at(-1) ?? after
      if (ids.length < Number(REWRAP_PAGE)) return count
    }
  }
}

function readJob(row: Row): JobRow {
  const details = json<JobDetails>(row, 'details')
  if (details === null) throw new TypeError('A job has details.')
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    keyId: text(row, 'key_id'),
    requestId: text(row, 'request_id'),
    model: text(row, 'model'),
    request: bytes(row, 'request'),
    priceVersion: integer(row, 'price_version'),
    holdMicro: big(row, 'hold'),
    createdAtMs: integer(row, 'created_at'),
    deadlineMs: integer(row, 'deadline'),
    version: integer(row, 'version'),
    leaseOwner: text(row, 'lease_owner'),
    leaseUntilMs: integer(row, 'lease_until'),
    // CHECKs of the schema bound them.
    status: text(row, 'status') as JobStatus,
    phase: text(row, 'phase') as JobPhase,
    progress: integer(row, 'progress'),
    dueAtMs: integer(row, 'due_at'),
    completedAtMs: integerOrNull(row, 'completed_at'),
    expiresAtMs: integerOrNull(row, 'expires_at'),
    details,
  }
}
