import type { Micro } from '../../base/money.ts'
import { big, integer, readBeside, text, textOrNull, type Database, type Row, type Sql } from '../database.ts'
import { column, Rows, type RecordOf } from '../rows.ts'
import { GENERATION_SELECT, readGeneration } from './generation-row.ts'
import { type EndUserRange, PERSON, readEndUsers } from './log-store.ts'
import { LogQuery } from './query.ts'
import type { GenerationFilter, LogPage } from './query.ts'
import type { GenerationRow } from '../../ledger/generation-record.ts'

const sum = (name: string): string => `CAST(SUM(${name}) AS BIGINT)`
const USAGE = new Rows('usage_day', {
  requests: column.integer('requests', sum('requests')),
  inputTokens: column.integer('input_tokens', sum('input_tokens')),
  outputTokens: column.integer('output_tokens', sum('output_tokens')),
  revenueMicro: column.big('revenue', sum('revenue')),
  providerCostMicro: column.big('provider_cost', sum('provider_cost')),
  insuredMicro: column.big('insured', sum('insured')),
  shortfallMicro: column.big('shortfall', sum('shortfall')),
})

export interface UsageRow extends RecordOf<typeof USAGE> {
  readonly group: string
}

/** A provider's costs on a day for one of our models: of answers, and of free or failed requests. */
export interface ProviderDay {
  readonly day: string
  readonly model: string
  readonly costMicro: Micro
}

/** What prompt caches saved customers, by model or key; below 0 if a provider charges more for cached tokens. */
export interface CacheSaving {
  readonly id: string
  readonly savedMicro: Micro
}

export interface KeySaving extends CacheSaving {
  readonly name: string
  readonly accountId: string
}

/** An account's sums of a report. */
export interface AccountUsage extends UsageRow {
  readonly name: string
}

/** A model's sums under one condition of its price; empty = the price without a condition. */
export interface ConditionUsage extends UsageRow {
  readonly condition: string
}

/** What was sold in a range of days, grouped in several ways. */
export interface MarginSums {
  readonly days: readonly UsageRow[]
  readonly models: readonly UsageRow[]
  readonly providers: readonly UsageRow[]
  /** All conditional prices of the models that were sold at one. */
  readonly conditions: readonly ConditionUsage[]
  /** The first hundred by revenue. */
  readonly accounts: readonly AccountUsage[]
  readonly caches: CacheSavings
}

/** The largest first; of the keys only the first hundred. */
export interface CacheSavings {
  readonly models: readonly CacheSaving[]
  readonly keys: readonly KeySaving[]
}

const KEYS_MAX = 100n
const ACCOUNTS_MAX = 100n

const GROUPS = {
  model: 'model',
  provider: 'provider',
  account: 'account_id',
  key: 'key_id',
  day: 'day',
  person: PERSON,
} as const

type UsageColumn = keyof typeof GROUPS

export class GenerationStore {
  readonly #database: Database
  readonly #query: LogQuery

  constructor(database: Database) {
    this.#database = database
    this.#query = new LogQuery(database)
  }

  /** Newest first. */
  list(filter: GenerationFilter): Promise<LogPage> {
    return this.#query.page(filter)
  }

  async get(generationId: string): Promise<GenerationRow | null> {
    const [row] = await this.#database.all(`${GENERATION_SELECT} WHERE generation.generation_id = ?`, [generationId])
    return row === undefined ? null : readGeneration(row)
  }

  /** Read from sums by day, so a report never scans the log. */
  async usage(query: {
    readonly groupBy: UsageColumn
    readonly fromDay: string
    readonly toDay: string
    /** Only of this account. */
    readonly accountId?: string | null
  }): Promise<readonly UsageRow[]> {
    const { groupBy, fromDay, toDay, accountId = null } = query
    const rows = await readBeside(this.#database, usageBy(groupBy, accountId !== null), [
      ...(accountId === null ? [] : [accountId]),
      fromDay,
      toDay,
    ])
    return rows.map(usageRow)
  }

  /** An account's sums by day and end user, as `LogStore.endUserDays` reads them; null = there are too many rows. */
  async endUserDays(accountId: string, range: EndUserRange): Promise<readonly UsageRow[] | null> {
    const sums = ['input_tokens', 'output_tokens', 'provider_cost', 'insured', 'shortfall'].map(
      (column) => `${sum(`g.${column}`)} AS ${column}`,
    )
    const all = ['COUNT(*) AS requests', `${sum('g.cost')} AS revenue`, ...sums].join(', ')
    const rows = await readEndUsers(this.#database, accountId, range, [all, USAGE.list, 'revenue'])
    return rows === null ? null : rows.map(usageRow)
  }

  /** Days from `fromDay` on and before `toDay`, read in one snapshot. */
  margin(fromDay: string, toDay: string): Promise<MarginSums> {
    return this.#database.transaction(
      async (sql) => {
        const sums = async (groupBy: UsageColumn): Promise<readonly UsageRow[]> =>
          (await sql.all(usageBy(groupBy), [fromDay, toDay])).map(usageRow)
        return {
          days: await sums('day'),
          models: await sums('model'),
          providers: await sums('provider'),
          conditions: (await sql.all(MODELS_BY_CONDITION, [fromDay, toDay, fromDay, toDay])).map((row) => ({
            ...usageRow(row),
            condition: text(row, 'condition'),
          })),
          accounts: (await sql.all(ACCOUNTS_BY_REVENUE, [fromDay, toDay, ACCOUNTS_MAX])).map((row) => ({
            ...usageRow(row),
            name: text(row, 'name'),
          })),
          caches: await readCacheSavings(sql, fromDay, toDay),
        }
      },
      { purpose: 'snapshot' },
    )
  }

  /** Days from `fromDay` on and before `toDay`, from sums that outlive the log's rows. */
  async providerDays(provider: string, fromDay: string, toDay: string): Promise<readonly ProviderDay[]> {
    const rows = await readBeside(
      this.#database,
      `SELECT day, model, CAST(SUM(provider_cost + insured) AS BIGINT) AS cost FROM usage_day WHERE provider = ? AND day >= ? AND day < ?
        GROUP BY day, model HAVING SUM(provider_cost + insured) > 0 ORDER BY day, model`,
      [provider, fromDay, toDay],
    )
    return rows.map((row) => ({ day: text(row, 'day'), model: text(row, 'model'), costMicro: big(row, 'cost') }))
  }

  /** What each account used of these models since a day, by the provider that answered. */
  async customersOf(models: readonly string[], fromDay: string): Promise<readonly CustomerUsage[]> {
    if (models.length === 0) return []
    const where = `day >= ? AND model IN (${models.map(() => '?').join(',')})`
    const rows = await readBeside(
      this.#database,
      `SELECT model, provider, account_id AS grouped, ${USAGE.list} FROM usage_day WHERE ${where}
        GROUP BY model, provider, account_id ORDER BY model, provider, account_id`,
      [fromDay, ...models],
    )
    return rows.map((row) => ({ ...usageRow(row), model: text(row, 'model'), provider: text(row, 'provider') }))
  }

  /**
   * Accounts that used any of these models since a day, those that paid the most first and `most` at most; and the
   * number of all of them.
   */
  async usersOf(
    models: readonly string[],
    fromDay: string,
    most: number,
  ): Promise<{ readonly total: number; readonly data: readonly ModelUser[] }> {
    if (models.length === 0) return { total: 0, data: [] }
    const where = `day >= ? AND model IN (${models.map(() => '?').join(',')})`
    const values = [fromDay, ...models]
    const [count] = await readBeside(
      this.#database,
      `SELECT COUNT(DISTINCT account_id) AS total FROM usage_day WHERE ${where}`,
      values,
    )
    const rows = await readBeside(
      this.#database,
      `SELECT account_id, CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(revenue) AS BIGINT) AS revenue FROM usage_day WHERE ${where}
        GROUP BY account_id ORDER BY 3 DESC, account_id LIMIT ?`,
      [...values, BigInt(most)],
    )
    return {
      total: count === undefined ? 0 : integer(count, 'total'),
      data: rows.map((row) => ({
        accountId: text(row, 'account_id'),
        requests: integer(row, 'requests'),
        revenueMicro: big(row, 'revenue'),
      })),
    }
  }
}

/** An account's sums of one model at one provider. */
export interface CustomerUsage extends UsageRow {
  readonly model: string
  readonly provider: string
}

/** How much an account used the models, and what it paid for them. */
export interface ModelUser {
  readonly accountId: string
  readonly requests: number
  readonly revenueMicro: Micro
}

const ACCOUNTS_BY_REVENUE = `SELECT sums.*, COALESCE(account.name, sums.grouped) AS name FROM (
    SELECT account_id AS grouped, ${USAGE.list} FROM usage_day WHERE day >= ? AND day < ? GROUP BY account_id ORDER BY revenue DESC, account_id LIMIT ?
  ) AS sums LEFT JOIN account ON account.id = sums.grouped ORDER BY sums.revenue DESC, sums.grouped`

const MODELS_BY_CONDITION = `SELECT model AS grouped, condition, ${USAGE.list} FROM usage_day WHERE day >= ? AND day < ?
  AND model IN (SELECT model FROM usage_day WHERE day >= ? AND day < ? AND condition <> '') GROUP BY model, condition ORDER BY model, condition`

function usageBy(groupBy: UsageColumn, isOne = false): string {
  const by = GROUPS[groupBy]
  const condition = isOne ? 'account_id = ? AND day >= ? AND day < ?' : 'day >= ? AND day < ?'
  return `SELECT ${by} AS grouped, ${USAGE.list} FROM usage_day WHERE ${condition} GROUP BY ${by} ORDER BY ${by}`
}

function usageRow(row: Row): UsageRow {
  return { group: text(row, 'grouped'), ...USAGE.read(row) }
}

async function readCacheSavings(sql: Sql, fromDay: string, toDay: string): Promise<CacheSavings> {
  const models = await sql.all(
    `SELECT model AS id, CAST(SUM(saved) AS BIGINT) AS saved FROM app_day WHERE day >= ? AND day < ?
      GROUP BY model HAVING SUM(saved) <> 0 ORDER BY SUM(saved) DESC, model`,
    [fromDay, toDay],
  )
  const keys = await sql.all(
    `SELECT app_day.key_id AS id, MAX(api_key.name) AS name, MAX(app_day.account_id) AS account_id, CAST(SUM(saved) AS BIGINT) AS saved
      FROM app_day LEFT JOIN api_key ON api_key.id = app_day.key_id WHERE day >= ? AND day < ?
      GROUP BY app_day.key_id HAVING SUM(saved) <> 0 ORDER BY SUM(saved) DESC, app_day.key_id LIMIT ?`,
    [fromDay, toDay, KEYS_MAX],
  )
  const saving = (row: Row): CacheSaving => ({ id: text(row, 'id'), savedMicro: big(row, 'saved') })
  return {
    models: models.map(saving),
    keys: keys.map((row) => ({
      ...saving(row),
      name: textOrNull(row, 'name') ?? '',
      accountId: text(row, 'account_id'),
    })),
  }
}
