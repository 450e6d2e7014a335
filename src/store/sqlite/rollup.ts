import { big } from '../database.ts'
import { addSums } from '../ledger/sums.ts'
import type { SqliteDatabase } from './database.ts'

/** An app is identified by its URL, else by its title; empty = none (wire.md D-11.1). */
const APP_OF_RECORD = `COALESCE(json_extract(g.record, '$.appUrl'), json_extract(g.record, '$.appTitle'), '')`
const NEWEST = 'SELECT COALESCE(MAX(id), 0) AS id FROM generation'
const ROLLED_UP = 'SELECT generation AS id FROM rolled_up'
const SET_ROLLED_UP = 'UPDATE rolled_up SET generation = ?'
/** Rows of the log with their holds, summed up once for all tables of sums; many rows of a key become one. */
const MAKE_FRESH = `CREATE TEMP TABLE IF NOT EXISTS fresh (
  account_id, key_id, model, provider, condition, app, day, week, month, booked, title, requests, errors, input_tokens, output_tokens, revenue, provider_cost, insured, shortfall,
  saved, last_at, charges, spent, excess, named)`
const FORGET_FRESH = 'DELETE FROM temp.fresh'
/** Excess = what a settle took beyond its hold. */
const SUM_UP = `INSERT INTO temp.fresh
  SELECT g.account_id, g.key_id, g.model, COALESCE(g.provider, '') AS provider, COALESCE(json_extract(g.record, '$.condition'), '') AS condition, ${APP_OF_RECORD} AS app, h.day, h.week, h.month, h.booked, MAX(json_extract(g.record, '$.appTitle')),
    COUNT(*), SUM(g.status = 'error'), SUM(g.input_tokens), SUM(g.output_tokens), SUM(g.cost), SUM(g.provider_cost), SUM(g.insured), SUM(g.shortfall),
    SUM(COALESCE(json_extract(g.record, '$.cacheSaved'), 0)), MAX(g.ended_at), SUM(h.state IN ('settled', 'settled_late')),
    SUM(CASE WHEN h.state IN ('settled', 'settled_late') THEN h.charged ELSE 0 END),
    SUM(CASE WHEN h.state = 'settled_late' THEN h.charged WHEN h.state = 'settled' AND h.charged > h.amount THEN h.charged - h.amount ELSE 0 END),
    SUM(instr(g.record, '"endUser":') > 0)
  FROM generation g JOIN hold h ON h.id = g.generation_id WHERE g.id > ? AND g.id <= ?
  GROUP BY g.account_id, g.key_id, g.model, provider, condition, app, h.day, h.week, h.month, h.booked`
/** The rows are read again only if any of them names an end user, as few do. */
const SOME_NAMED = 'SELECT 1 AS some FROM temp.fresh WHERE named > 0 LIMIT 1'
const ADD_NAMED = `INSERT INTO generation_end_user (account_id, end_user, seq, ended_at)
  SELECT account_id, json_extract(record, '$.endUser'), seq, ended_at FROM generation WHERE id > ? AND id <= ? AND instr(record, '"endUser":') > 0`
const ADD = [
  // A charge counts in every period in which its hold was placed (wire.md D-9.1).
  addSums(
    'key_spend',
    `SELECT key_id, p.period, CASE p.period WHEN 'day' THEN day WHEN 'week' THEN week WHEN 'month' THEN month ELSE '' END AS start, SUM(spent), SUM(excess)
  FROM temp.fresh JOIN (SELECT 'total' AS period UNION ALL SELECT 'day' UNION ALL SELECT 'week' UNION ALL SELECT 'month') p
  WHERE charges > 0 GROUP BY key_id, p.period, start`,
  ),
  addSums(
    'usage_day',
    `SELECT account_id, day, key_id, model, provider, condition, SUM(requests), SUM(input_tokens), SUM(output_tokens), SUM(revenue), SUM(provider_cost), SUM(insured), SUM(shortfall)
  FROM temp.fresh WHERE TRUE GROUP BY account_id, day, key_id, model, provider, condition`,
  ),
  addSums(
    'app_day',
    `SELECT account_id, day, key_id, model, app, MAX(title), SUM(requests), SUM(errors), SUM(input_tokens), SUM(output_tokens), SUM(revenue), SUM(saved), MAX(last_at)
  FROM temp.fresh WHERE TRUE GROUP BY account_id, day, key_id, model, app`,
  ),
  addSums(
    'booked_later',
    `SELECT account_id, booked, day, model, SUM(requests), SUM(revenue)
  FROM temp.fresh WHERE booked <> '' GROUP BY account_id, booked, day, model`,
  ),
]

/**
 * Sums that follow from the usage log: key spends and day totals. The embedded store updates them for many log rows at
 * a time, before they are read. Their progress is written with them, so a crash loses nothing.
 */
export class SqliteRollup {
  readonly #database: SqliteDatabase
  #isOpen = false
  /** null = not read yet. */
  #rolledUp: bigint | null = null
  #behind = 0

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** The number of log rows that are not in the sums yet. */
  get behind(): number {
    return this.#behind
  }

  /** Rows were added to the log in the open transaction. */
  added(rows: number): void {
    this.#behind += rows
  }

  /** Completes the sums that an earlier process left behind. */
  open(): void {
    this.#isOpen = true
    this.#behind = 1
    this.catchUp()
  }

  /** Does nothing before `open`. */
  catchUp(): void {
    if (!this.#isOpen || this.#behind === 0) return
    this.#rolledUp = this.#database.atomically(() => this.#add(this.#rolledUp ?? this.#read()))
    this.#behind = 0
  }

  /** The open transaction was rolled back: the progress is read again the next time, when the disk may work. */
  reset(): void {
    this.#rolledUp = null
    this.#behind = 1
  }

  #read(): bigint {
    return big(this.#database.prepare(ROLLED_UP).get() ?? {}, 'id')
  }

  #add(after: bigint): bigint {
    const upTo = big(this.#database.prepare(NEWEST).get() ?? {}, 'id')
    if (upTo === after) return after
    this.#database.prepare(MAKE_FRESH).run()
    this.#database.prepare(FORGET_FRESH).run()
    this.#database.prepare(SUM_UP).run(after, upTo)
    for (const statement of ADD) this.#database.prepare(statement).run()
    if (this.#database.prepare(SOME_NAMED).get() !== undefined) this.#database.prepare(ADD_NAMED).run(after, upTo)
    this.#database.prepare(SET_ROLLED_UP).run(upTo)
    return upTo
  }
}
