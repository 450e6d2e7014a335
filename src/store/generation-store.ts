import type { GenerationRecord } from '../ledger/generation-record.ts'
import { big, integer, text, textOrNull, type Database, type Row, type SqlValue } from './database.ts'
import { withDetails } from './log-details.ts'
import type { GenerationFilter, GenerationRow, GenerationStore, Page, UsageRow } from './store.ts'

const COLUMNS = [
  'id', 'generation_id', 'account_id', 'key_id', 'request_id', 'type', 'model', 'provider', 'status', 'cost', 'provider_cost', 'shortfall', 'insured', 'input_tokens',
  'output_tokens', 'price_version', 'created_at', 'ended_at', 'record',
]
export const GENERATION_SELECT = `SELECT ${COLUMNS.map((name) => `generation.${name} AS ${name}`).join(', ')}, api_key.name AS key_name
  FROM generation LEFT JOIN api_key ON api_key.id = generation.key_id`

const GROUPS = { model: 'model', provider: 'provider', account: 'account_id', key: 'key_id', day: 'day' } as const

export function readGeneration(row: Row): GenerationRow {
  const record = withDetails(
    {
      generationId: text(row, 'generation_id'),
      accountId: text(row, 'account_id'),
      keyId: text(row, 'key_id'),
      requestId: text(row, 'request_id'),
      // Both columns are written from the same types by this folder alone.
      type: text(row, 'type') as GenerationRecord['type'],
      status: text(row, 'status') as GenerationRecord['status'],
      model: text(row, 'model'),
      providerSlug: textOrNull(row, 'provider'),
      inputTokens: integer(row, 'input_tokens'),
      outputTokens: integer(row, 'output_tokens'),
      priceVersion: integer(row, 'price_version'),
      createdAtMs: integer(row, 'created_at'),
    },
    text(row, 'record'),
  )
  return {
    ...record,
    id: integer(row, 'id'),
    costMicro: big(row, 'cost'),
    providerCostMicro: big(row, 'provider_cost'),
    shortfallMicro: big(row, 'shortfall'),
    insuredMicro: big(row, 'insured'),
    keyName: textOrNull(row, 'key_name') ?? '',
    endedAtMs: integer(row, 'ended_at'),
  }
}

function conditions(filter: GenerationFilter): { readonly where: string; readonly values: SqlValue[]; readonly count: number } {
  const parts: string[] = []
  const values: SqlValue[] = []
  const add = (condition: string, value: SqlValue | undefined): void => {
    if (value === undefined) return
    parts.push(condition)
    values.push(value)
  }
  add('generation.account_id = ?', filter.accountId)
  add('generation.key_id = ?', filter.keyId)
  add('generation.generation_id = ?', filter.generationId)
  add('generation.request_id = ?', filter.requestId)
  add('generation.model = ?', filter.model)
  add('generation.type = ?', filter.type)
  add('generation.provider = ?', filter.provider)
  add('generation.status = ?', filter.status)
  add('generation.ended_at >= ?', filter.fromMs === undefined ? undefined : BigInt(filter.fromMs))
  add('generation.ended_at < ?', filter.toMs === undefined ? undefined : BigInt(filter.toMs))
  return { where: parts.length === 0 ? '' : ` WHERE ${parts.join(' AND ')}`, values, count: parts.length }
}

export class SqlGenerations implements GenerationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(filter: GenerationFilter): Promise<Page<GenerationRow>> {
    const { where, values, count } = conditions(filter)
    if (count === 1 && filter.accountId !== undefined) return this.#ownPage(filter.accountId, filter.limit, filter.offset)
    const [total] = await this.#database.all(`SELECT COUNT(*) AS total FROM generation${where}`, values)
    const rows = await this.#database.all(`${GENERATION_SELECT}${where} ORDER BY generation.id DESC LIMIT ? OFFSET ?`, [...values, BigInt(filter.limit), BigInt(filter.offset)])
    return { data: rows.map(readGeneration), total: total === undefined ? 0 : integer(total, 'total') }
  }

  async get(generationId: string): Promise<GenerationRow | null> {
    const [row] = await this.#database.all(`${GENERATION_SELECT} WHERE generation.generation_id = ?`, [generationId])
    return row === undefined ? null : readGeneration(row)
  }

  /** The day roll-ups answer it, so that a report never scans the log. */
  async usage(query: { readonly groupBy: 'model' | 'provider' | 'account' | 'key' | 'day'; readonly fromDay: string; readonly toDay: string }): Promise<readonly UsageRow[]> {
    const column = GROUPS[query.groupBy]
    const sums = ['requests', 'input_tokens', 'output_tokens', 'revenue', 'provider_cost', 'insured', 'shortfall'].map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`)
    const rows = await this.#database.all(`SELECT ${column} AS grouped, ${sums.join(', ')} FROM usage_day WHERE day >= ? AND day < ? GROUP BY ${column} ORDER BY ${column}`, [query.fromDay, query.toDay])
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

  /** An account's rows are numbered without gaps, so total and offset are arithmetic and no row is counted. */
  async #ownPage(accountId: string, limit: number, offset: number): Promise<Page<GenerationRow>> {
    const [account] = await this.#database.all('SELECT log_rows FROM account WHERE id = ?', [accountId])
    const total = account === undefined ? 0 : integer(account, 'log_rows')
    const newest = total - offset
    const rows = await this.#database.all(`${GENERATION_SELECT} WHERE generation.account_id = ? AND generation.seq <= ? AND generation.seq > ? ORDER BY generation.seq DESC`, [
      accountId, BigInt(newest), BigInt(newest - limit),
    ])
    return { data: rows.map(readGeneration), total }
  }
}
