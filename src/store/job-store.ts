import type { ErrorType } from '../errors.ts'
import type { Micro } from '../money.ts'
import { big, bytes, integer, integerOrNull, json, text, type Database, type Row, type SqlValue } from './database.ts'
import type { Page } from './store.ts'

/** As clients see it (wire.md D-4.2). */
export type JobStatus = 'pending' | 'in_progress' | 'completed' | 'failed' | 'expired' | 'cancelled'

/**
 * Where its submission is: none is out; one is written down and may be on its way; one may have arrived and nobody
 * knows; a provider has it.
 */
export type JobPhase = 'ready' | 'sending' | 'parked' | 'accepted'

/** One way to serve the job, fixed with its price when the job was created. */
export interface JobCandidate {
  readonly endpointId: string
  readonly providerSlug: string
  readonly providerName: string
  readonly upstreamModel: string
  /** Which of the endpoint's prices counts, such as a resolution; null = it has one. */
  readonly variant: string | null
  /** What the client pays if this one serves it, and what it costs us; µRUB as text, since JSON has no bigint. */
  readonly costMicro: string
  readonly buyMicro: string
}

/** What changes while the job lives and nothing is searched by. */
export interface JobDetails {
  readonly candidates: readonly JobCandidate[]
  /** Index of the candidate that has it, or had it last. */
  readonly current: number
  /** Indexes of those that refused it. */
  readonly refused: readonly number[]
  /** Submissions written down so far. */
  readonly attempts: number
  /** Fingerprint of the provider's key that the submission went with; null where there is none. */
  readonly keyPrint: string | null
  /** How the adapter finds the job at the provider; null until it is accepted. */
  readonly reference: string | null
  readonly upstreamId: string | null
  /** Times it was asked for, and times in a row without an answer that helps. */
  readonly polls: number
  readonly misses: number
  /** When a provider accepted it, Unix ms. */
  readonly acceptedAtMs: number | null
  /** Videos stored, as files `<id>-0`, `<id>-1` …; 0 again once the owner has removed them. */
  readonly files: number
  readonly costMicro: string
  /** What the client is told of an end that is no success. */
  readonly error: string | null
  readonly errorType: ErrorType | null
  readonly appUrl: string | null
  readonly appTitle: string | null
  readonly sessionId: string | null
}

/** Everything of a job that a move may change. */
export interface JobState {
  readonly status: JobStatus
  readonly phase: JobPhase
  /** Per cent. */
  readonly progress: number
  /** When it is looked at next, Unix ms; of no meaning once it has ended. */
  readonly dueAtMs: number
  readonly completedAtMs: number | null
  /** When its files are removed. */
  readonly expiresAtMs: number | null
  readonly details: JobDetails
}

export interface NewJob extends JobState {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  readonly requestId: string
  readonly model: string
  /** What was asked for, sealed: no prompt lies readable in the store. */
  readonly request: Buffer
  readonly priceVersion: number
  readonly holdMicro: Micro
  readonly createdAtMs: number
  /** Not finished by then, it expires. */
  readonly deadlineMs: number
}

export interface JobRow extends NewJob {
  /** Grows with every change; a change names the one it was made from. */
  readonly version: number
  /** Who looks at it now, until when; empty and 0 where nobody does. */
  readonly leaseOwner: string
  readonly leaseUntilMs: number
}

/** A move from one version of a job to the next. */
export interface JobMove {
  readonly id: string
  readonly version: number
  readonly state: JobState
  /** The mover goes on with it. */
  readonly keepsLease: boolean
  /** In the place of what was asked for, sealed; absent = it stays. */
  readonly request?: Buffer
}

/**
 * Jobs that outlive their request. They are created, and end, in the ledger's own commits: what is here moves them in
 * between.
 */
export interface JobStore {
  find(id: string): Promise<JobRow | null>
  /** Takes jobs that are due and that nobody else has, oldest first. */
  claim(wish: {
    readonly owner: string
    readonly nowMs: number
    readonly leaseUntilMs: number
    readonly limit: number
  }): Promise<readonly JobRow[]>
  /** null = the job is no longer what the move was made from. */
  move(move: JobMove): Promise<JobRow | null>
  renew(ids: readonly string[], owner: string, leaseUntilMs: number): Promise<void>
  /** Gives back what an owner had; all leases where null. */
  release(owner: string | null): Promise<void>
  /** When the next live job is due; null = there is none. */
  nextDueMs(): Promise<number | null>
  /** Completed jobs of an account, newest first. */
  completed(accountId: string, limit: number, offset: number): Promise<Page<JobRow>>
  /** Live jobs whose submission may have arrived, oldest first, for the operator. */
  parked(): Promise<readonly JobRow[]>
  /** Seals every request anew; answers how many there are. */
  reseal(seal: (id: string, request: Buffer) => Buffer): Promise<number>
}

/** What the request of a job is sealed for. */
export function jobPurpose(id: string): string {
  return `job:${id}`
}

const RESEAL_PAGE = 100n
const LIVE = `status IN ('pending','in_progress')`
const STATE = 'status, phase, progress, due_at, completed_at, expires_at, details'
const COLUMNS = `id, account_id, key_id, request_id, model, request, price_version, hold, created_at, deadline, version, lease_owner, lease_until, ${STATE}`

export const INSERT_JOB = `INSERT INTO job (${COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
export const MOVE_JOB = `UPDATE job SET status = ?, phase = ?, progress = ?, due_at = ?, completed_at = ?, expires_at = ?, details = ?, request = COALESCE(?, request), version = version + 1,
  lease_owner = CASE WHEN ? = 1 THEN lease_owner ELSE '' END, lease_until = CASE WHEN ? = 1 THEN lease_until ELSE 0 END WHERE id = ? AND version = ?`
/** Jobs that live keep their hold open, whatever its lease says. */
export const NO_LIVE_JOB = `NOT EXISTS (SELECT 1 FROM job WHERE job.id = hold.id AND job.${LIVE})`

export function newJobValues(job: NewJob): readonly SqlValue[] {
  return [
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
}

export function jobMoveValues({ id, version, state, keepsLease, request }: JobMove): readonly SqlValue[] {
  const keeps = keepsLease ? 1n : 0n
  return [...stateValues(state), request ?? null, keeps, keeps, id, BigInt(version)]
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

export class SqlJobs implements JobStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: string): Promise<JobRow | null> {
    const [row] = await this.#database.all(`SELECT ${COLUMNS} FROM job WHERE id = ?`, [id])
    return row === undefined ? null : readJob(row)
  }

  claim({ owner, nowMs, leaseUntilMs, limit }: Parameters<JobStore['claim']>[0]): Promise<readonly JobRow[]> {
    // Another node that claims at the same moment passes over what this one has locked.
    const lock = this.#database.dialect === 'postgres' ? ' FOR UPDATE SKIP LOCKED' : ''
    return this.#database.transaction(async (sql) => {
      const rows = await sql.all(
        `UPDATE job SET lease_owner = ?, lease_until = ?, version = version + 1 WHERE id IN (
          SELECT id FROM job WHERE ${LIVE} AND due_at <= ? AND lease_until < ? ORDER BY due_at LIMIT ?${lock}) RETURNING ${COLUMNS}`,
        [owner, BigInt(leaseUntilMs), BigInt(nowMs), BigInt(nowMs), BigInt(limit)],
      )
      return rows.map(readJob).toSorted((left, right) => left.dueAtMs - right.dueAtMs)
    })
  }

  async move(move: JobMove): Promise<JobRow | null> {
    const rows = await this.#database.transaction((sql) =>
      sql.all(`${MOVE_JOB} RETURNING ${COLUMNS}`, jobMoveValues(move)),
    )
    return rows[0] === undefined ? null : readJob(rows[0])
  }

  async renew(ids: readonly string[], owner: string, leaseUntilMs: number): Promise<void> {
    await this.#database.transaction(async (sql) => {
      for (const id of ids)
        await sql.run('UPDATE job SET lease_until = ? WHERE id = ? AND lease_owner = ?', [
          BigInt(leaseUntilMs),
          id,
          owner,
        ])
    })
  }

  async release(owner: string | null): Promise<void> {
    const [text, values] = owner === null ? [`lease_owner <> ''`, []] : ['lease_owner = ?', [owner]]
    await this.#database.run(`UPDATE job SET lease_owner = '', lease_until = 0 WHERE ${text}`, values)
  }

  async nextDueMs(): Promise<number | null> {
    const [row] = await this.#database.all(`SELECT MIN(due_at) AS due FROM job WHERE ${LIVE}`)
    return row === undefined ? null : integerOrNull(row, 'due')
  }

  async completed(accountId: string, limit: number, offset: number): Promise<Page<JobRow>> {
    const where = `WHERE account_id = ? AND status = 'completed'`
    const [count] = await this.#database.all(`SELECT COUNT(*) AS total FROM job ${where}`, [accountId])
    const rows = await this.#database.all(
      `SELECT ${COLUMNS} FROM job ${where} ORDER BY completed_at DESC, id DESC LIMIT ? OFFSET ?`,
      [accountId, BigInt(limit), BigInt(offset)],
    )
    return { data: rows.map(readJob), total: count === undefined ? 0 : integer(count, 'total') }
  }

  async parked(): Promise<readonly JobRow[]> {
    return (
      await this.#database.all(`SELECT ${COLUMNS} FROM job WHERE ${LIVE} AND phase = 'parked' ORDER BY created_at`)
    ).map(readJob)
  }

  async reseal(seal: (id: string, request: Buffer) => Buffer): Promise<number> {
    let after = ''
    let count = 0
    for (;;) {
      const ids = await this.#database.transaction(async (sql) => {
        const rows = await sql.all('SELECT id, request FROM job WHERE id > ? ORDER BY id LIMIT ?', [after, RESEAL_PAGE])
        for (const row of rows)
          await sql.run('UPDATE job SET request = ? WHERE id = ?', [
            seal(text(row, 'id'), bytes(row, 'request')),
            text(row, 'id'),
          ])
        return rows.map((row) => text(row, 'id'))
      })
      count += ids.length
      after = ids.at(-1) ?? after
      if (ids.length < Number(RESEAL_PAGE)) return count
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
