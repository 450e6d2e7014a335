import { big, bytes, integer, text, textOrNull, type Database, type Row, type Sql } from '../database.ts'
import { changeEach } from '../rows.ts'
import { listedIds } from '../dialect.ts'
import { within, type Reach } from '../accounts/key-lists.ts'
import { KEEP_ANSWER } from '../ledger/direct-changes.ts'
import type { EncryptAgain } from '../rewrap.ts'
import { DAY_MS } from '../../base/time.ts'

/** The most turns of one conversation. */
export const CHAIN_MAX = 1_000
/** The most answers of one account; the oldest ones beyond it are removed. */
const ACCOUNT_ROWS_MAX = 10_000n
/** The share of an account's answers that stays when some are removed, so that not every new answer removes one. */
const ROOM_LEFT_PERCENT = 90n
const PAGE = 100n

/**
 * A conversation from its newest turn back; the query that uses it says whose turns it selects. Each step selects by id
 * alone: with the account as a condition a database may choose the index of accounts and read all answers of one for
 * each turn.
 */
const TURNS = `WITH RECURSIVE turn (id, account_id, key_id, created_at, previous_id, state, bytes, place) AS (
  SELECT id, account_id, key_id, created_at, previous_id, state, bytes, 1 FROM kept_response WHERE id = ?
  UNION ALL SELECT r.id, r.account_id, r.key_id, r.created_at, r.previous_id, r.state, r.bytes, turn.place + 1
    FROM turn JOIN kept_response r ON r.id = turn.previous_id
    WHERE turn.account_id = ? AND turn.created_at > ? AND turn.place <= ${CHAIN_MAX})`

export interface NewKeptResponse {
  /** The id of its generation. */
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  /** The id of the Response that it continues; null = it begins a conversation. */
  readonly previousId: string | null
  /** The items that its request added, encrypted. */
  readonly input: Buffer
  /** Everything known of the answer so far, encrypted. */
  readonly answer: Buffer
  readonly createdAtMs: number
}

/**
 * `running`: its request is running; `stopped`: its client stopped it, and its provider may still have to report what
 * it bills; `lost`: its request ended without an answer, as when its process died; `unkept`: its answer was charged but
 * is not kept.
 */
export type KeptState = 'running' | 'stopped' | 'lost' | 'unkept' | 'ended'

/** Values of `stopped`. */
const MARKED = 1n
const HEEDED = 2n

export interface KeptResponse {
  readonly id: string
  readonly state: KeptState
  readonly input: Buffer
  readonly answer: Buffer
}

/** A turn of a conversation, without its contents. */
export interface KeptTurn {
  readonly id: string
  readonly previousId: string | null
  readonly ended: boolean
  readonly bytes: number
}

/** The purpose for which an answer, or its input items, are encrypted. */
export function responsePurpose(part: 'input' | 'answer', id: string): string {
  return `response ${part}:${id}`
}

/**
 * Answers kept for their account (clients.md 3). The row is made before a provider is called. Its answer is written in
 * the commit that charges it, so that no answer is charged but lost, or kept but not charged.
 */
export class ResponseStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Adds a row, and removes the account's oldest answers if there are too many or their bytes exceed `bytesMax`. */
  async add(row: NewKeptResponse, bytesMax: number): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const size = BigInt(row.input.length + row.answer.length)
      await makeRoom(sql, row.accountId, size, BigInt(bytesMax))
      await sql.run(
        `INSERT INTO kept_response (id, account_id, key_id, previous_id, state, bytes, created_at, input, answer) VALUES (?,?,?,?,'running',?,?,?,?)`,
        [row.id, row.accountId, row.keyId, row.previousId, size, BigInt(row.createdAtMs), row.input, row.answer],
      )
    })
  }

  /** null = it does not exist, is older than `sinceMs`, or is not within `reach`. */
  async find(reach: Reach, id: string, sinceMs: number): Promise<KeptResponse | null> {
    const { condition, values } = within(reach, 'r')
    const [row] = await this.#database.all(
      `SELECT r.id AS id, r.state AS state, r.stopped AS stopped, r.input AS input, r.answer AS answer, h.state AS hold_state
        FROM kept_response r LEFT JOIN hold h ON h.id = r.id WHERE r.id = ? AND r.created_at > ? AND ${condition}`,
      [id, BigInt(sinceMs), ...values],
    )
    return row === undefined ? null : { ...contentsOf(row), state: stateOf(row) }
  }

  /** The conversation that ends with `id`, its first turn first; at most one turn more than a conversation may have. */
  async turns(reach: Reach, id: string, sinceMs: number): Promise<readonly KeptTurn[]> {
    const since = BigInt(sinceMs)
    const { condition, values } = within(reach, 'turn')
    const rows = await this.#database.all(
      `${TURNS} SELECT id, previous_id, state, bytes FROM turn WHERE turn.created_at > ? AND ${condition} ORDER BY place DESC`,
      [id, reach.accountId, since, since, ...values],
      { withoutAmounts: true },
    )
    return rows.map((row) => ({
      id: text(row, 'id'),
      previousId: textOrNull(row, 'previous_id'),
      ended: text(row, 'state') === 'ended',
      bytes: integer(row, 'bytes'),
    }))
  }

  /**
   * The contents of some of these turns, in any order. The rows are found by their ids alone, for the reason of
   * `TURNS`.
   */
  async contents(
    accountId: string,
    ids: readonly string[],
    sinceMs: number,
  ): Promise<readonly Omit<KeptResponse, 'state'>[]> {
    const condition = listedIds(this.#database.dialect)
    const rows = await this.#database.all(
      `SELECT id, account_id, created_at, input, answer FROM kept_response WHERE ${condition}`,
      [JSON.stringify(ids)],
      { withoutAmounts: true },
    )
    return rows
      .filter((row) => text(row, 'account_id') === accountId && integer(row, 'created_at') > sinceMs)
      .map(contentsOf)
  }

  /** Ends an answer that is not charged. */
  async end(id: string, answer: Buffer): Promise<void> {
    await this.#database.run(KEEP_ANSWER, [answer, BigInt(answer.length), id])
  }

  /** Removes an answer whose request failed. */
  async drop(id: string): Promise<void> {
    await this.#database.run(`DELETE FROM kept_response WHERE id = ? AND state = 'running'`, [id])
  }

  /** false = there is none with this id within `reach`. */
  async remove(reach: Reach, id: string, sinceMs: number): Promise<boolean> {
    const { condition, values } = within(reach, 'kept_response')
    const text = `DELETE FROM kept_response WHERE id = ? AND created_at > ? AND ${condition}`
    return (await this.#database.run(text, [id, BigInt(sinceMs), ...values])) > 0
  }

  /**
   * Marks a running answer, so that the process that runs it stops it. false = no unmarked answer with this id is
   * running within `reach`.
   */
  async askToStop(reach: Reach, id: string): Promise<boolean> {
    const { condition, values } = within(reach, 'kept_response')
    const text = `UPDATE kept_response SET stopped = ? WHERE id = ? AND state = 'running' AND stopped = 0 AND ${condition}`
    return (await this.#database.run(text, [MARKED, id, ...values])) > 0
  }

  /** Records that their process has stopped these answers. */
  async heeded(ids: readonly string[]): Promise<void> {
    const condition = listedIds(this.#database.dialect)
    await this.#database.run(`UPDATE kept_response SET stopped = ? WHERE ${condition}`, [HEEDED, JSON.stringify(ids)])
  }

  /** Those of the running answers `ids` that are to be stopped, because they were marked or removed. */
  async toStop(ids: readonly string[]): Promise<readonly string[]> {
    const condition = listedIds(this.#database.dialect)
    const rows = await this.#database.all(`SELECT id FROM kept_response WHERE ${condition} AND stopped = 0`, [
      JSON.stringify(ids),
    ])
    const going = new Set(rows.map((row) => text(row, 'id')))
    return ids.filter((id) => !going.has(id))
  }

  /** Removes answers made by `untilMs`; a running one stays for at least a day. */
  async removeOlder(untilMs: number, nowMs: number): Promise<void> {
    for (let removed = PAGE; removed === PAGE;)
      removed = BigInt(
        await this.#database.run(
          `DELETE FROM kept_response WHERE id IN (SELECT id FROM kept_response WHERE created_at <= ? AND (state = 'ended' OR created_at <= ?) ORDER BY created_at LIMIT ?)`,
          [BigInt(untilMs), BigInt(nowMs - DAY_MS), PAGE],
        ),
      )
  }

  async encryptAgain(encrypt: EncryptAgain): Promise<void> {
    const select = 'SELECT id, account_id, input, answer FROM kept_response WHERE id > ? ORDER BY id LIMIT ?'
    await changeEach(this.#database, select, async (sql, row) => {
      const { id, input, answer } = contentsOf(row)
      const accountId = text(row, 'account_id')
      await sql.run('UPDATE kept_response SET input = ? WHERE id = ?', [
        encrypt(responsePurpose('input', id), input, accountId),
        id,
      ])
      // A charge may have written another answer meanwhile.
      await sql.run('UPDATE kept_response SET answer = ? WHERE id = ? AND answer = ?', [
        encrypt(responsePurpose('answer', id), answer, accountId),
        id,
        answer,
      ])
    })
  }
}

async function makeRoom(sql: Sql, accountId: string, size: bigint, bytesMax: bigint): Promise<void> {
  const [row] = await sql.all(
    'SELECT COUNT(*) AS kept, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM kept_response WHERE account_id = ?',
    [accountId],
  )
  if (row === undefined || (big(row, 'kept') < ACCOUNT_ROWS_MAX && big(row, 'bytes') + size <= bytesMax)) return
  const roomy = (bytesMax * ROOM_LEFT_PERCENT) / 100n - size
  await sql.run(
    `DELETE FROM kept_response WHERE state = 'ended' AND id IN (SELECT id FROM (
        SELECT id, ROW_NUMBER() OVER (ORDER BY created_at DESC, id DESC) AS place, SUM(bytes) OVER (ORDER BY created_at DESC, id DESC) AS total
        FROM kept_response WHERE account_id = ?) AS kept WHERE place > ? OR total > ?)`,
    [accountId, (ACCOUNT_ROWS_MAX * ROOM_LEFT_PERCENT) / 100n, roomy > 0n ? roomy : 0n],
  )
}

function contentsOf(row: Row): Omit<KeptResponse, 'state'> {
  return { id: text(row, 'id'), input: bytes(row, 'input'), answer: bytes(row, 'answer') }
}

function stateOf(row: Row): KeptState {
  if (text(row, 'state') === 'ended') return 'ended'
  const hold = textOrNull(row, 'hold_state')
  if (hold === 'settled' || hold === 'settled_late') return 'unkept'
  if (hold !== 'open') return 'lost'
  return big(row, 'stopped') === HEEDED ? 'stopped' : 'running'
}
