import type { BookSeal } from '../audit/book-seal.ts'
import type { HoldRow } from '../../ledger/ledger-store.ts'
import { integer, text, textOrNull, type Database, readBeside, type Row } from '../database.ts'
import { type Dialect, indexHint, jsonField } from '../dialect.ts'
import { column, Rows, type RecordOf } from '../rows.ts'
import { GENERATION_SELECT, readGeneration } from './generation-row.ts'
import type { LogFilter } from '../../ledger/log-filters.ts'
import type { GenerationRow } from '../../ledger/generation-record.ts'
import { HOLD_SELECT, readHoldRow } from '../ledger/ledger-rows.ts'
import { type LogConditions, type Range, numberedSelect, ownRange, rowsOfEndUser, splitConditions } from './query.ts'
import { HOUR_MS } from '../../base/time.ts'

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

const sum = (of: string): string => `CAST(SUM(${of}) AS BIGINT)`
const SUMS = new Rows('app_day', {
  requests: column.integer('requests', sum('requests')),
  errors: column.integer('errors', sum('errors')),
  inputTokens: column.integer('input_tokens', sum('input_tokens')),
  outputTokens: column.integer('output_tokens', sum('output_tokens')),
  costMicro: column.big('cost', sum('cost')),
  /** Saved by prompt caches; below 0 if a provider charges more for cached tokens. */
  savedMicro: column.big('saved', sum('saved')),
})
/** Sums of a day, key, model and app, or of a group of them. */
export type SpendSums = RecordOf<typeof SUMS>

/** Sums of a day and a group. */
export interface GroupDay extends SpendSums {
  readonly day: string
  readonly group: string
  readonly title: string | null
}

/** Days, both included, and the time in which their requests ended. */
export interface EndUserRange {
  readonly fromDay: string
  readonly toDay: string
  readonly fromMs: number
  readonly toMs: number
}

/** The group of all others. */
export const REST = '…rest'
const END_USERS_MAX = 50

export interface AppSums extends SpendSums {
  readonly app: string
  readonly title: string | null
  readonly model: string
  readonly lastAtMs: number
}

/** Rows that one page may read: 20 000 take up to 200 ms on a busy machine, for an account with ten million. */
const SCAN_ROWS = 20_000
/** The most requests that are read for one id. */
const ID_ROWS = 1_000
/** The most rows that one report by hour may add up, which takes a second or two. */
const HOUR_ROWS_MAX = 1_000_000
/** The same of a report by end user, whose groups are as many as its rows may be. */
const END_USER_ROWS_MAX = 500_000

/** The most rows that a report by hour may add up. */
export function rowsMax(group: HourGroup): number {
  return group === 'end_user' ? END_USER_ROWS_MAX : HOUR_ROWS_MAX
}

const KEYS = new Rows('api_key', {
  id: column.text('id'),
  name: column.text('name'),
  label: column.text('label'),
  deleted: column.flag('deleted'),
})
const OWN_DAYS = 'FROM app_day WHERE account_id = ? AND day >= ? AND day <= ?'
/** Who made the key of a row; '' = a program or the operator, or there was no key. */
export const PERSON = `COALESCE((SELECT made_by FROM api_key WHERE api_key.id = key_id), '')`
const GROUP_COLUMNS: Readonly<Record<SpendGroup, string>> = {
  model: 'model',
  key: 'key_id',
  app: 'app',
  person: PERSON,
}

/** An account's own log, read by row numbers, so that no page counts or skips earlier rows. */
export class LogStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  async page(filter: AccountLogFilter): Promise<AccountLogPage> {
    if (filter.generationId !== undefined || filter.requestId !== undefined) return this.#byId(filter)
    const range = await ownRange(this.#database, filter.accountId, filter)
    const { accountId, limit, endUser } = filter
    if (endUser !== undefined) {
      const own = { accountId, from: range.from, below: Math.min(range.below, filter.beforeSeq ?? range.below) }
      const found = await rowsOfEndUser(this.#database, own, { ...filter, endUser }, { limit, offset: 0 })
      return { data: found.data, nextSeq: found.next, searchedToMs: found.searchedToMs }
    }
    // An index finds the rows of one model, key or failure; other conditions are checked on a bounded number of these.
    const [led, rest] = splitConditions(this.#database.dialect, filter, 'account')
    const hint = indexHint(this.#database.dialect, led.index)
    const isAll = rest.texts.length === 0
    const below = Math.min(range.below, filter.beforeSeq ?? range.below)
    const reach = isAll ? null : await this.#reach(filter.accountId, { ...range, below }, led, hint)
    const from = reach?.seq ?? range.from
    const rows = await this.#database.all(
      `${numberedSelect(hint)} WHERE generation.account_id = ? AND generation.seq < ? AND generation.seq >= ?${conditionsText(led)}${conditionsText(rest)}
        ORDER BY generation.seq DESC LIMIT ?`,
      [filter.accountId, BigInt(below), BigInt(from), ...led.values, ...rest.values, BigInt(filter.limit)],
    )
    const last = rows.at(-1)
    const data = rows.map(readGeneration)
    if (rows.length === filter.limit && last !== undefined)
      return { data, nextSeq: integer(last, 'seq'), searchedToMs: null }
    return isAll || reach === null
      ? { data, nextSeq: null, searchedToMs: null }
      : { data, nextSeq: reach.seq, searchedToMs: reach.atMs }
  }

  /** The last row to read; null = all rows fit. */
  async #reach(
    accountId: string,
    { from, below }: Pick<Range, 'from' | 'below'>,
    led: LogConditions,
    hint: string,
  ): Promise<{ readonly seq: number; readonly atMs: number } | null> {
    const [end] = await this.#database.all(
      `SELECT seq, ended_at FROM generation${hint} WHERE account_id = ? AND seq < ? AND seq >= ?${conditionsText(led)} ORDER BY seq DESC LIMIT 1 OFFSET ?`,
      [accountId, BigInt(below), BigInt(from), ...led.values, BigInt(SCAN_ROWS - 1)],
    )
    return end === undefined ? null : { seq: integer(end, 'seq'), atMs: integer(end, 'ended_at') }
  }

  async #byId({ accountId, generationId, requestId, limit }: AccountLogFilter): Promise<AccountLogPage> {
    const [by, id] = generationId === undefined ? ['request_id', requestId ?? ''] : ['generation_id', generationId]
    // Clients choose request ids, which may occur in other accounts too. The account is checked here: with it as a
    // condition the database might choose to read the account's whole log.
    const rows = await this.#database.all(
      `${GENERATION_SELECT} WHERE generation.${by} = ? ORDER BY generation.id DESC LIMIT ${ID_ROWS}`,
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
    const rows = await this.#database.all(`SELECT day, ${SUMS.list} ${OWN_DAYS} GROUP BY day ORDER BY day`, [
      accountId,
      fromDay,
      toDay,
    ])
    return rows.map((row) => ({ day: text(row, 'day'), ...SUMS.read(row) }))
  }

  async grouped(accountId: string, group: SpendGroup, fromDay: string, toDay: string): Promise<readonly GroupDay[]> {
    const by = GROUP_COLUMNS[group]
    const rows = await this.#database.all(
      `SELECT day, ${by} AS grouped, MAX(title) AS title, ${SUMS.list} ${OWN_DAYS} GROUP BY 1, 2 ORDER BY 1, 2`,
      [accountId, fromDay, toDay],
    )
    return rows.map((row) => ({
      day: text(row, 'day'),
      group: text(row, 'grouped'),
      title: group === 'app' ? textOrNull(row, 'title') : null,
      ...SUMS.read(row),
    }))
  }

  /**
   * Sums by day and end user, the most expensive ones by name and all others as one; null = there are too many rows to
   * add up. Only rows that name an end user count, each on the day of its hold as in all sums of days. A sum for each
   * of them would be a further write of a charge; this reads the rows that `from` and `to` may have.
   */
  async endUserDays(accountId: string, range: EndUserRange): Promise<readonly GroupDay[] | null> {
    const rows = await readEndUsers(this.#database, accountId, range, [
      rowSums(this.#database.dialect, 'g.'),
      SUMS.list,
      'cost',
    ])
    if (rows === null) return null
    return rows.map((row) => ({ day: text(row, 'day'), group: text(row, 'grouped'), title: null, ...SUMS.read(row) }))
  }

  /** Sums by the hour in which requests ended, before `toMs`; null = there are too many rows to add up. */
  async hours(
    { accountId, fromMs, toMs }: { readonly accountId: string; readonly fromMs: number; readonly toMs: number },
    group: HourGroup,
  ): Promise<readonly HourSums[] | null> {
    const { from, below } = await ownRange(this.#database, accountId, { fromMs, toMs })
    if (below - from > rowsMax(group)) return null
    return readHours(this.#database, { accountId, from, below, fromMs, toMs }, group)
  }

  /** The day of the account's first request; null = there was none. */
  async firstDay(accountId: string): Promise<string | null> {
    const [row] = await this.#database.all('SELECT MIN(day) AS day FROM app_day WHERE account_id = ?', [accountId])
    return row === undefined ? null : textOrNull(row, 'day')
  }

  async apps(accountId: string, fromDay: string, toDay: string): Promise<readonly AppSums[]> {
    const rows = await this.#database.all(
      `SELECT app, model, MAX(title) AS title, MAX(last_at) AS last_at, ${SUMS.list} ${OWN_DAYS} GROUP BY app, model ORDER BY app, model`,
      [accountId, fromDay, toDay],
    )
    return rows.map((row) => ({
      app: text(row, 'app'),
      model: text(row, 'model'),
      title: textOrNull(row, 'title'),
      lastAtMs: integer(row, 'last_at'),
      ...SUMS.read(row),
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
  keys(accountId: string): Promise<readonly RecordOf<typeof KEYS>[]> {
    return KEYS.all(this.#database, 'WHERE account_id = ? ORDER BY created_at DESC, id LIMIT 1000', [accountId])
  }
}

/** The conditions besides the one of the account. */
function conditionsText({ texts }: LogConditions): string {
  return texts.map((text) => ` AND ${text}`).join('')
}

/** A part of an account's log: its rows by number, and its range of time. */
interface LogPart {
  readonly accountId: string
  /** The first number, and the first after them. */
  readonly from: number
  readonly below: number
  readonly fromMs: number
  readonly toMs: number
}

interface HourSums extends SpendSums {
  /** The hour's beginning, Unix ms. */
  readonly atMs: number
  readonly group: string
  readonly title: string | null
}

/**
 * Sums by hour and group, added up from the rows themselves: stored sums by hour would cost one more row for most
 * requests, and hours are asked for one account and a few days only. Reads beside all other work.
 */
async function readHours(
  database: Database,
  { accountId, from, below, fromMs, toMs }: LogPart,
  group: HourGroup,
): Promise<readonly HourSums[]> {
  const detail = (name: string): string => jsonField(database.dialect, 'record', name)
  const columns: Readonly<Record<HourGroup, string>> = {
    end_user: `COALESCE(${detail('endUser')}, '')`,
    model: 'model',
    key: 'key_id',
    person: PERSON,
    app: `COALESCE(${detail('appUrl')}, ${detail('appTitle')}, '')`,
  }
  const by = columns[group]
  const names = group === 'app' ? detail('appTitle') : 'NULL'
  const sums = rowSums(database.dialect, '')
  const select = `SELECT ended_at / ${HOUR_MS} AS hour, ${by} AS grouped, MAX(${names}) AS title, ${sums}
    FROM generation WHERE account_id = ? AND seq >= ? AND seq < ? AND ended_at >= ? AND ended_at < ? GROUP BY 1, 2`
  const rows = await readBeside(
    database,
    group === 'end_user' ? mostExpensive('hour', select, [SUMS.list, 'cost']) : `${select} ORDER BY 1, 2`,
    [accountId, BigInt(from), BigInt(below), BigInt(fromMs), BigInt(toMs)],
  )
  return rows.map((row) => ({
    atMs: integer(row, 'hour') * HOUR_MS,
    group: text(row, 'grouped'),
    title: group === 'end_user' ? null : textOrNull(row, 'title'),
    ...SUMS.read(row),
  }))
}

/** The sums of a group's rows. */
function rowSums(dialect: Dialect, of: '' | 'g.'): string {
  const saved = jsonField(dialect, `${of}record`, 'cacheSaved')
  return `COUNT(*) AS requests, ${sum(`CASE WHEN ${of}status = 'error' THEN 1 ELSE 0 END`)} AS errors,
    ${sum(`${of}input_tokens`)} AS input_tokens, ${sum(`${of}output_tokens`)} AS output_tokens, ${sum(`${of}cost`)} AS cost,
    ${sum(`COALESCE(CAST(${saved} AS BIGINT), 0)`)} AS saved`
}

/** The columns of a report, and the one of what was paid. */
type ReportColumns = readonly [columns: string, paid: string]

/**
 * Sums by day and end user of the rows of an account's log that name one; null = the range has too many rows. `sums`:
 * those of `g`, a row.
 */
export async function readEndUsers(
  database: Database,
  accountId: string,
  { fromDay, toDay, ...ended }: EndUserRange,
  [sums, ...report]: readonly [sums: string, ...ReportColumns],
): Promise<readonly Row[] | null> {
  const { from, below } = await ownRange(database, accountId, ended)
  if (below - from > END_USER_ROWS_MAX) return null
  const by = jsonField(database.dialect, 'g.record', 'endUser')
  const select = `SELECT h.day AS day, ${by} AS grouped, ${sums} FROM generation g JOIN hold h ON h.id = g.generation_id
    WHERE g.account_id = ? AND g.seq >= ? AND g.seq < ? AND g.record LIKE '%"endUser":%' AND h.day >= ? AND h.day <= ? GROUP BY 1, 2`
  const values = [accountId, BigInt(from), BigInt(below), fromDay, toDay]
  return readBeside(database, mostExpensive('day', select, report), values)
}

/** An account may name a million end users: the most expensive of the range stay, and all others are one group. */
function mostExpensive(period: 'day' | 'hour', select: string, [columns, column]: ReportColumns): string {
  return `WITH found AS (${select}),
    most AS (SELECT grouped FROM found GROUP BY grouped ORDER BY SUM(${column}) DESC, SUM(requests) DESC, grouped LIMIT ${END_USERS_MAX})
    SELECT ${period}, CASE WHEN grouped IN (SELECT grouped FROM most) THEN grouped ELSE '${REST}' END AS grouped, ${columns}
    FROM found GROUP BY 1, 2 ORDER BY 1, 2`
}

export type SpendGroup = 'model' | 'key' | 'app' | 'person'
export type HourGroup = SpendGroup | 'end_user'
