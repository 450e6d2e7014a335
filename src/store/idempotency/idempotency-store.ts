import type { EncryptAgain } from '../rewrap.ts'
import { HOUR_MS } from '../../base/time.ts'
import { bytes, integer, text, textOrNull, type Database, type Row } from '../database.ts'
import { changeEach } from '../rows.ts'

/** How long a process may take from its claim to its hold before it counts as dead. */
const CLAIM_MS = 60_000
/** Others may delete or take over the row between two looks at it, but only so many times. */
const CLAIM_TRIES_MAX = 20
/** The condition of a hold that was charged, or may still be. */
const HOLD_COUNTS = `EXISTS (SELECT 1 FROM hold WHERE hold.id = idempotency_key.generation_id AND hold.state IN ('open','settled','settled_late'))`
const NO_OPEN_HOLD = `NOT EXISTS (SELECT 1 FROM hold WHERE hold.id = idempotency_key.generation_id AND hold.state = 'open')`
const NO_JOB = 'NOT EXISTS (SELECT 1 FROM job WHERE job.id = idempotency_key.generation_id)'

export const RUNNING_CLAIM = `SELECT generation_id FROM idempotency_key WHERE id = ? AND state = 'running'`
/** Follows `END_CLAIM` if an answer is kept. */
export const COUNT_KEPT = `INSERT INTO kept_answer (account_id, hour, bytes) SELECT account_id, expires_at / ${HOUR_MS}, LENGTH(answer) FROM idempotency_key WHERE id = ? AND answer IS NOT NULL ON CONFLICT (account_id, hour) DO UPDATE SET bytes = kept_answer.bytes + excluded.bytes`
export const END_CLAIM = `UPDATE idempotency_key SET state = 'ended', answer = ? WHERE id = ?`

export interface NewClaim {
  /** SHA-256 of the account, its API key and the Idempotency-Key, hex. */
  readonly id: string
  readonly accountId: string
  /** SHA-256 of the path and the body, hex. */
  readonly requestDigest: string
  readonly generationId: string
  readonly atMs: number
  readonly expiresAtMs: number
}

export type ClaimOutcome =
  | { readonly status: 'claimed' | 'other_request' }
  | { readonly status: 'running'; readonly generationId: string }
  /** `model`: the model that answered; null = its log row is gone. `answer`: encrypted; null = it was not kept. */
  | {
      readonly status: 'ended'
      readonly generationId: string
      readonly model: string | null
      readonly answer: Buffer | null
    }

/** The purpose for which an answer is encrypted. */
export function answerPurpose(id: string, generationId: string): string {
  return `answer:${id}:${generationId}`
}

/**
 * Idempotency-Keys: for each key the request that has it, and its answer. A claim ends in the commit that charges its
 * generation; a request that ends free releases it. The claim of a dead process is recognised by its hold. The process
 * that takes the claim over writes its own generation into the row, so that a late settle charges nothing.
 */
export class IdempotencyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async claim(claim: NewClaim): Promise<ClaimOutcome> {
    for (let tries = 0; tries < CLAIM_TRIES_MAX; tries += 1) {
      if (await this.#insert(claim)) return { status: 'claimed' }
      const [row] = await this.#database.all(
        `SELECT k.request_digest AS request_digest, k.generation_id AS generation_id, k.state AS state, k.answer AS answer, k.claimed_at AS claimed_at, k.expires_at AS expires_at,
          h.state AS hold_state, j.id AS job_id, COALESCE(g.model, j.model) AS model
          FROM idempotency_key k LEFT JOIN hold h ON h.id = k.generation_id LEFT JOIN job j ON j.id = k.generation_id LEFT JOIN generation g ON g.generation_id = k.generation_id WHERE k.id = ?`,
        [claim.id],
      )
      if (row === undefined) continue
      if (!isFree(row, claim.atMs)) return outcomeOf(row, claim)
      if (await this.#takeOver(claim, text(row, 'generation_id'))) return { status: 'claimed' }
    }
    return { status: 'running', generationId: claim.generationId }
  }

  /** Ends a claim without a charge, such as that of a job. */
  async end(id: string, generationId: string, answer: Buffer | null): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const ended = await sql.run(
        `UPDATE idempotency_key SET state = 'ended', answer = ? WHERE id = ? AND generation_id = ? AND state = 'running'`,
        [answer, id, generationId],
      )
      if (ended === 1 && answer !== null) await sql.run(COUNT_KEPT, [id])
    })
  }

  /** The bytes of an account's kept answers, including those that have expired in this hour. */
  async keptBytes(accountId: string, nowMs: number): Promise<number> {
    const [row = {}] = await this.#database.all(
      'SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM kept_answer WHERE account_id = ? AND hour >= ?',
      [accountId, BigInt(Math.floor(nowMs / HOUR_MS))],
    )
    return integer(row, 'bytes')
  }

  /** Releases a claim unless its generation was or may be charged. */
  async release(id: string, generationId: string): Promise<void> {
    await this.#database.run(
      `DELETE FROM idempotency_key WHERE id = ? AND generation_id = ? AND state = 'running' AND NOT ${HOLD_COUNTS}`,
      [id, generationId],
    )
  }

  /** Releases the claims of a dead process, in a store that one process owns. */
  async releaseLost(): Promise<void> {
    await this.#database.run(`DELETE FROM idempotency_key WHERE state = 'running' AND ${NO_JOB} AND NOT ${HOLD_COUNTS}`)
  }

  async removeExpired(nowMs: number): Promise<void> {
    await this.#database.run(
      `DELETE FROM idempotency_key WHERE expires_at <= ? AND (state = 'ended' OR ${NO_OPEN_HOLD})`,
      [BigInt(nowMs)],
    )
    await this.#database.run('DELETE FROM kept_answer WHERE hour < ?', [BigInt(Math.floor(nowMs / HOUR_MS))])
  }

  async encryptAgain(encrypt: EncryptAgain): Promise<void> {
    const select =
      'SELECT id, generation_id, answer FROM idempotency_key WHERE answer IS NOT NULL AND id > ? ORDER BY id LIMIT ?'
    await changeEach(this.#database, select, (sql, row) => {
      const [id, generationId] = [text(row, 'id'), text(row, 'generation_id')]
      return sql.run(
        'UPDATE idempotency_key SET answer = ? WHERE id = ? AND generation_id = ? AND answer IS NOT NULL',
        [encrypt(answerPurpose(id, generationId), bytes(row, 'answer')), id, generationId],
      )
    })
  }

  async #insert(claim: NewClaim): Promise<boolean> {
    const { id, accountId, requestDigest, generationId, atMs, expiresAtMs } = claim
    return (
      (await this.#database.run(
        `INSERT INTO idempotency_key (id, account_id, request_digest, generation_id, state, claimed_at, expires_at) VALUES (?,?,?,?,'running',?,?) ON CONFLICT (id) DO NOTHING`,
        [id, accountId, requestDigest, generationId, BigInt(atMs), BigInt(expiresAtMs)],
      )) === 1
    )
  }

  async #takeOver({ id, requestDigest, generationId, atMs, expiresAtMs }: NewClaim, from: string): Promise<boolean> {
    return (
      (await this.#database.run(
        `UPDATE idempotency_key SET request_digest = ?, generation_id = ?, state = 'running', answer = NULL, claimed_at = ?, expires_at = ?
          WHERE id = ? AND generation_id = ? AND (state = 'running' OR expires_at <= ?)`,
        [requestDigest, generationId, BigInt(atMs), BigInt(expiresAtMs), id, from, BigInt(atMs)],
      )) === 1
    )
  }
}

/**
 * Whether a claim is free: the row has expired, its request ended without a charge, or its process died before it could
 * place the hold.
 */
function isFree(row: Row, nowMs: number): boolean {
  if (text(row, 'state') === 'ended') return integer(row, 'expires_at') <= nowMs
  const hold = textOrNull(row, 'hold_state')
  if (textOrNull(row, 'job_id') !== null) return false
  return hold === null ? integer(row, 'claimed_at') + CLAIM_MS <= nowMs : hold === 'voided' || hold === 'expired'
}

function outcomeOf(row: Row, { requestDigest }: NewClaim): ClaimOutcome {
  if (text(row, 'request_digest') !== requestDigest) return { status: 'other_request' }
  const generationId = text(row, 'generation_id')
  const model = textOrNull(row, 'model')
  if (text(row, 'state') === 'ended')
    return { status: 'ended', generationId, model, answer: row['answer'] === null ? null : bytes(row, 'answer') }
  // The process died between the commit of the job and the end of its claim.
  return textOrNull(row, 'job_id') === null
    ? { status: 'running', generationId }
    : { status: 'ended', generationId, model, answer: null }
}
