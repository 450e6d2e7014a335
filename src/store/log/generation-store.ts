import type { Micro } from '../../money.ts'
import { big, integer, text, type Database, type Row, type SqlValue } from '../database.ts'
import { GENERATION_SELECT, readGeneration } from './generation-row.ts'
import { LogQuery } from './query.ts'
import type { GenerationFilter, LogPage } from './query.ts'
import type { GenerationRow } from '../../ledger/generation-record.ts'

export interface UsageRow {
  readonly group: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly revenueMicro: Micro
  readonly providerCostMicro: Micro
  readonly insuredMicro: Micro
  readonly shortfallMicro: Micro
}

/** A provider's costs on a day for one of our models: of answers, and of free or failed requests. */
export interface ProviderDay {
  readonly day: string
  readonly model: string
  readonly costMicro: Micro
}

const GROUPS = { model: 'model', provider: 'provider', account: 'account_id', key: 'key_id', day: 'day' } as const

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

  /** Answered from the day roll-ups, so that a report never scans the log. */
  async usage(query: {
    readonly groupBy: 'model' | 'provider' | 'account' | 'key' | 'day'
    readonly fromDay: string
    readonly toDay: string
  }): Promise<readonly UsageRow[]> {
    const column = GROUPS[query.groupBy]
    const sums = ['requests', 'input_tokens', 'output_tokens', 'revenue', 'provider_cost', 'insured', 'shortfall'].map(
      (name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`,
    )
    const rows = await this.#beside(
      `SELECT ${column} AS grouped, ${sums.join(', ')} FROM usage_day WHERE day >= ? AND day < ? GROUP BY ${column} ORDER BY ${column}`,
      [query.fromDay, query.toDay],
    )
    return rows.map((row) => ({
      group: text(row, 'grouped'),
      requests: integer(row, 'requests'),
      inputTokens: integer(row, 'input_tokens'),
      outputTokens: integer(row, 'output_tokens'),
      revenueMicro: big(row, 'revenue'),
      providerCostMicro: big(row, 'provider_cost'),
      insuredMicro: big(row, 'insured'),
      shortfallMicro: big(row, 'shortfall'),
    }))
  }

  /** From `fromDay` on and before `toDay`, from sums that outlive the log's rows. */
  async providerDays(provider: string, fromDay: string, toDay: string): Promise<readonly ProviderDay[]> {
    const rows = await this.#beside(
      `SELECT day, model, CAST(SUM(provider_cost + insured) AS BIGINT) AS cost FROM usage_day WHERE provider = ? AND day >= ? AND day < ?
        GROUP BY day, model HAVING SUM(provider_cost + insured) > 0 ORDER BY day, model`,
      [provider, fromDay, toDay],
    )
    return rows.map((row) => ({ day: text(row, 'day'), model: text(row, 'model'), costMicro: big(row, 'cost') }))
  }

  /** All accounts together may have millions of rows. */
  #beside(text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.#database.transaction((sql) => sql.all(text, values), { purpose: 'snapshot' })
  }
}
