import type { BookSeal } from '../audit/book-seal.ts'
import type { HoldRow } from '../../ledger/ledger-store.ts'
import { big, integer, text, textOrNull, type Database, type Row, type SqlValue } from '../database.ts'
import { GENERATION_SELECT, readGeneration } from './generation-row.ts'
import type { LogFilter } from '../../ledger/log-filters.ts'
import type { GenerationRow } from '../../ledger/generation-record.ts'
import { HOLD_SELECT, readHoldRow } from '../ledger/ledger-rows.ts'
import { LogBlocks, listedSeqs, seqList } from './blocks.ts'
import { readHours, type HourSums } from './hour-sums.ts'
import type { SpendGroup, SpendSums } from './spend-sums.ts'
import { splitConditions, type LogConditions } from './filter-conditions.ts'

export interface AccountLogFilter extends LogFilter {
  readonly accountId: string
  /** Only rows with a smaller number. */
  readonly beforeSeq: number | null
  readonly limit: number
}

/**
 * A page of an account's own log. `nextSeq` null = no more rows; `searchedToMs` is set when the search stopped before
 * the page was full.
 */
export interface AccountLogPage {
  readonly data: readonly GenerationRow[]
  readonly nextSeq: number | null
  readonly searchedToMs: number | null
}

export interface AppSums extends SpendSums {
  readonly app: string
  readonly title: string | null
  readonly model: string
  readonly lastAtMs: number
}

/** Rows that one page may read: 20 000 take up to 200 ms on a busy machine, for an account with ten million. */
const SCAN_ROWS = 20_000
/** Requests that share an id. */
const ID_ROWS = 1_000
/** Rows that one report by hour may add up: a second or two. */
export const HOUR_ROWS_MAX = 1_000_000
const SUMS = ['requests', 'errors', 'input_tokens', 'output_tokens', 'cost', 'saved']
  .map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`)
  .join(', ')
const OWN_DAYS = 'FROM app_day WHERE account_id = ? AND day >= ? AND day <= ?'
const GROUP_COLUMNS: Readonly<Record<SpendGroup, string>> = { model: 'model', key: 'key_id', app: 'app' }

function readSums(row: Row): SpendSums {
  return {
    requests: integer(row, 'requests'),
    errors: integer(row, 'errors'),
    inputTokens: integer(row, 'input_tokens'),
    outputTokens: integer(row, 'output_tokens'),
    costMicro: big(row, 'cost'),
    savedMicro: big(row, 'saved'),
  }
}

/** Row numbers: the first, and the first after them. */
interface Bounds {
  readonly from: bigint
  readonly below: bigint
}

/** An account's own log, read by row numbers, so that no page counts or skips earlier rows. */
export class LogStore {
  readonly #database: Database
  readonly #seal: BookSeal
  readonly #blocks: LogBlocks

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
    this.#blocks = new LogBlocks(database)
  }

  async page(filter: AccountLogFilter): Promise<AccountLogPage> {
    if (filter.generationId !== undefined || filter.requestId !== undefined) return this.#byId(filter)
    const bounds = await this.#bounds(filter)
    // Blocks or an index find the rows of one model, key or failure; other conditions are checked on a bounded number
    // of these rows.
    const [led, rest] = splitConditions(this.#database.dialect, filter, 'account', await this.#blocks.areFilled())
    // SQLite has no statistics and would use the index without the model: seconds instead of a millisecond.
    const hint = this.#database.dialect === 'sqlite' && led.index !== null ? ` INDEXED BY ${led.index}` : ''
    const isAll = rest.texts.length === 0
    const most = isAll ? filter.limit : SCAN_ROWS
    const { where, values, reach } = await this.#reached(filter.accountId, bounds, led, { hint, isAll, most })
    const rows = await this.#database.all(
      `${GENERATION_SELECT.replace('generation.id AS id', 'generation.id AS id, generation.seq AS seq').replace('FROM generation', `FROM generation${hint}`)} WHERE generation.account_id = ? AND ${where}${conditionsText(led)}${conditionsText(rest)}
        ORDER BY generation.seq DESC LIMIT ?`,
      [filter.accountId, ...values, ...led.values, ...rest.values, BigInt(filter.limit)],
    )
    const last = rows.at(-1)
    const data = rows.map(readGeneration)
    if (rows.length === filter.limit && last !== undefined)
      return { data, nextSeq: integer(last, 'seq'), searchedToMs: null }
    return isAll || reach === null
      ? { data, nextSeq: null, searchedToMs: null }
      : { data, nextSeq: reach.seq, searchedToMs: reach.atMs }
  }

  /** The condition of rows to look at, and where they end if there are more than `most`; `isAll`: all of them fit. */
  async #reached(
    accountId: string,
    { from, below }: Bounds,
    led: LogConditions,
    { hint, isAll, most }: { readonly hint: string; readonly isAll: boolean; readonly most: number },
  ): Promise<{
    readonly where: string
    readonly values: readonly SqlValue[]
    readonly reach: { readonly seq: number; readonly atMs: number } | null
  }> {
    if (led.lead === null) {
      const [end] = isAll
        ? []
        : await this.#database.all(
            `SELECT seq, ended_at FROM generation${hint} WHERE account_id = ? AND seq < ? AND seq >= ?${conditionsText(led)} ORDER BY seq DESC LIMIT 1 OFFSET ?`,
            [accountId, below, from, ...led.values, BigInt(most - 1)],
          )
      const reach = end === undefined ? null : { seq: integer(end, 'seq'), atMs: integer(end, 'ended_at') }
      const values = [below, reach === null ? from : BigInt(reach.seq)]
      return { where: 'generation.seq < ? AND generation.seq >= ?', values, reach }
    }
    const range = { accountId, from: Number(from), below: Number(below) }
    const seqs = await this.#blocks.newest(range, led.lead, most)
    const last = seqs.length < most ? undefined : seqs.at(-1)
    const [end] =
      last === undefined
        ? []
        : await this.#database.all('SELECT ended_at FROM generation WHERE account_id = ? AND seq = ?', [
            accountId,
            BigInt(last),
          ])
    return {
      where: listedSeqs(this.#database.dialect),
      values: [seqList(seqs)],
      reach: end === undefined ? null : { seq: last ?? 0, atMs: integer(end, 'ended_at') },
    }
  }

  async #byId({ accountId, generationId, requestId, limit }: AccountLogFilter): Promise<AccountLogPage> {
    const [column, id] = generationId === undefined ? ['request_id', requestId ?? ''] : ['generation_id', generationId]
    // Clients choose request ids, which may occur in other accounts too. The account is checked here: as a condition it
    // would tempt the database to read the account's whole log.
    const rows = await this.#database.all(
      `${GENERATION_SELECT} WHERE generation.${column} = ? ORDER BY generation.id DESC LIMIT ${ID_ROWS}`,
      [id],
    )
    const own = rows.map(readGeneration).filter((row) => row.accountId === accountId)
    return { data: own.slice(0, limit), nextSeq: null, searchedToMs: null }
  }

  async hold(generationId: string): Promise<HoldRow | null> {
    const [row] = await this.#database.all(`${HOLD_SELECT} WHERE id = ?`, [generationId])
    return row === undefined ? null : readHoldRow(row, this.#seal)
  }

  /** Days with requests, both ends included. */
  async days(
    accountId: string,
    fromDay: string,
    toDay: string,
  ): Promise<readonly (SpendSums & { readonly day: string })[]> {
    const rows = await this.#database.all(`SELECT day, ${SUMS} ${OWN_DAYS} GROUP BY day ORDER BY day`, [
      accountId,
      fromDay,
      toDay,
    ])
    return rows.map((row) => ({ day: text(row, 'day'), ...readSums(row) }))
  }

  async grouped(
    accountId: string,
    group: SpendGroup,
    fromDay: string,
    toDay: string,
  ): Promise<readonly (SpendSums & { readonly day: string; readonly group: string; readonly title: string | null })[]> {
    const column = GROUP_COLUMNS[group]
    const rows = await this.#database.all(
      `SELECT day, ${column} AS grouped, MAX(title) AS title, ${SUMS} ${OWN_DAYS} GROUP BY day, ${column} ORDER BY day, ${column}`,
      [accountId, fromDay, toDay],
    )
    return rows.map((row) => ({
      day: text(row, 'day'),
      group: text(row, 'grouped'),
      title: group === 'app' ? textOrNull(row, 'title') : null,
      ...readSums(row),
    }))
  }

  /** Sums by hour of the end of each request, `toMs` excluded; null = there are too many rows to add up. */
  async hours(
    { accountId, fromMs, toMs }: { readonly accountId: string; readonly fromMs: number; readonly toMs: number },
    group: SpendGroup,
  ): Promise<readonly HourSums[] | null> {
    const bounds = await this.#bounds({ accountId, fromMs, toMs, beforeSeq: null, limit: 0 })
    if (bounds.below - bounds.from > BigInt(HOUR_ROWS_MAX)) return null
    return readHours(this.#database, { accountId, ...bounds, fromMs, toMs }, group)
  }

  /** The day of the account's first request; null = there was none. */
  async firstDay(accountId: string): Promise<string | null> {
    const [row] = await this.#database.all('SELECT MIN(day) AS day FROM app_day WHERE account_id = ?', [accountId])
    return row === undefined ? null : textOrNull(row, 'day')
  }

  async apps(accountId: string, fromDay: string, toDay: string): Promise<readonly AppSums[]> {
    const rows = await this.#database.all(
      `SELECT app, model, MAX(title) AS title, MAX(last_at) AS last_at, ${SUMS} ${OWN_DAYS} GROUP BY app, model ORDER BY app, model`,
      [accountId, fromDay, toDay],
    )
    return rows.map((row) => ({
      app: text(row, 'app'),
      model: text(row, 'model'),
      title: textOrNull(row, 'title'),
      lastAtMs: integer(row, 'last_at'),
      ...readSums(row),
    }))
  }

  async providers(accountId: string, fromDay: string): Promise<readonly string[]> {
    const rows = await this.#database.all(
      `SELECT DISTINCT provider FROM usage_day WHERE account_id = ? AND day >= ? AND provider <> '' ORDER BY provider`,
      [accountId, fromDay],
    )
    return rows.map((row) => text(row, 'provider'))
  }

  /** The account's keys, deleted ones included. */
  async keys(
    accountId: string,
  ): Promise<
    readonly { readonly id: string; readonly name: string; readonly label: string; readonly deleted: boolean }[]
  > {
    const rows = await this.#database.all(
      'SELECT id, name, label, deleted FROM api_key WHERE account_id = ? ORDER BY created_at DESC, id LIMIT 1000',
      [accountId],
    )
    return rows.map((row) => ({
      id: text(row, 'id'),
      name: text(row, 'name'),
      label: text(row, 'label'),
      deleted: big(row, 'deleted') !== 0n,
    }))
  }

  /** Row numbers between which the requested time lies: they grow with time, so a few look-ups find each end. */
  async #bounds(filter: AccountLogFilter): Promise<Bounds> {
    const [account] = await this.#database.all('SELECT log_rows, log_dropped FROM account WHERE id = ?', [
      filter.accountId,
    ])
    const rows = account === undefined ? 0 : integer(account, 'log_rows')
    const first = account === undefined ? 1 : integer(account, 'log_dropped') + 1
    const newest =
      filter.toMs === undefined ? rows + 1 : await this.#firstAt(filter.accountId, filter.toMs, first, rows)
    const below = Math.min(newest, filter.beforeSeq ?? newest)
    const from = filter.fromMs === undefined ? first : await this.#firstAt(filter.accountId, filter.fromMs, first, rows)
    return { below: BigInt(below), from: BigInt(from) }
  }

  /** The number of the first row at or after a time; one more than the last if there is none. */
  async #firstAt(accountId: string, atMs: number, first: number, rows: number): Promise<number> {
    let low = first
    let high = rows + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const [row] = await this.#database.all('SELECT ended_at FROM generation WHERE account_id = ? AND seq = ?', [
        accountId,
        BigInt(middle),
      ])
      if (row !== undefined && integer(row, 'ended_at') < atMs) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** What follows the condition of the account. */
function conditionsText({ texts }: LogConditions): string {
  return texts.map((text) => ` AND ${text}`).join('')
}
