import type { Micro } from '../../money.ts'
import { big, integer, readBeside, text, textOrNull, type Database, type Row } from '../database.ts'
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

/**
 * Savings by prompt caches, for the customers of a model or a key; below 0 where a provider asks more for cached
 * tokens.
 */
export interface CacheSaving {
  readonly id: string
  readonly savedMicro: Micro
}

export interface KeySaving extends CacheSaving {
  readonly name: string
  readonly accountId: string
}

const KEYS_MAX = 100n

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
    const rows = await readBeside(
      this.#database,
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
    const rows = await readBeside(
      this.#database,
      `SELECT day, model, CAST(SUM(provider_cost + insured) AS BIGINT) AS cost FROM usage_day WHERE provider = ? AND day >= ? AND day < ?
        GROUP BY day, model HAVING SUM(provider_cost + insured) > 0 ORDER BY day, model`,
      [provider, fromDay, toDay],
    )
    return rows.map((row) => ({ day: text(row, 'day'), model: text(row, 'model'), costMicro: big(row, 'cost') }))
  }

  /** From `fromDay` on and before `toDay`, the largest first; the keys are the first hundred. */
  async cacheSavings(
    fromDay: string,
    toDay: string,
  ): Promise<{ readonly models: readonly CacheSaving[]; readonly keys: readonly KeySaving[] }> {
    const [models, keys] = await this.#database.transaction(
      async (sql) => [
        await sql.all(
          `SELECT model AS id, CAST(SUM(saved) AS BIGINT) AS saved FROM app_day WHERE day >= ? AND day < ?
            GROUP BY model HAVING SUM(saved) <> 0 ORDER BY SUM(saved) DESC, model`,
          [fromDay, toDay],
        ),
        await sql.all(
          `SELECT app_day.key_id AS id, MAX(api_key.name) AS name, MAX(app_day.account_id) AS account_id, CAST(SUM(saved) AS BIGINT) AS saved
            FROM app_day LEFT JOIN api_key ON api_key.id = app_day.key_id WHERE day >= ? AND day < ?
            GROUP BY app_day.key_id HAVING SUM(saved) <> 0 ORDER BY SUM(saved) DESC, app_day.key_id LIMIT ?`,
          [fromDay, toDay, KEYS_MAX],
        ),
      ],
      { purpose: 'snapshot' },
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
}
