import { big, integer, readBeside, text, textOrNull, type Database } from '../database.ts'
import type { SpendGroup, SpendSums } from './spend-sums.ts'
import { HOUR_MS } from '../../base/time.ts'

/** A part of an account's log: its rows by number, and the time that it is about. */
export interface LogPart {
  readonly accountId: string
  /** The first number, and the first after them. */
  readonly from: bigint
  readonly below: bigint
  readonly fromMs: number
  readonly toMs: number
}

export interface HourSums extends SpendSums {
  /** Unix ms of its beginning. */
  readonly atMs: number
  readonly group: string
  readonly title: string | null
}

/**
 * Sums by hour and group, added up from the rows themselves: sums that are kept by hour would be one more row for most
 * requests, and hours are asked for by one account and for days at most. Reads beside all other work.
 */
export async function readHours(
  database: Database,
  { accountId, from, below, fromMs, toMs }: LogPart,
  group: SpendGroup,
): Promise<readonly HourSums[]> {
  const isSqlite = database.dialect === 'sqlite'
  const detail = (name: string): string =>
    isSqlite ? `json_extract(record, '$.${name}')` : `(record::json->>'${name}')`
  const columns: Readonly<Record<SpendGroup, string>> = {
    model: 'model',
    key: 'key_id',
    app: `COALESCE(${detail('appUrl')}, ${detail('appTitle')}, '')`,
  }
  const column = columns[group]
  const names = group === 'app' ? detail('appTitle') : 'NULL'
  const sum = (of: string): string => `CAST(SUM(${of}) AS BIGINT)`
  const rows = await readBeside(
    database,
    `SELECT ended_at / ${HOUR_MS} AS hour, ${column} AS grouped, MAX(${names}) AS title, COUNT(*) AS requests,
      ${sum(`CASE WHEN status = 'error' THEN 1 ELSE 0 END`)} AS errors, ${sum('input_tokens')} AS input_tokens, ${sum('output_tokens')} AS output_tokens, ${sum('cost')} AS cost,
      ${sum(`COALESCE(CAST(${detail('cacheSaved')} AS BIGINT), 0)`)} AS saved
    FROM generation WHERE account_id = ? AND seq >= ? AND seq < ? AND ended_at >= ? AND ended_at < ? GROUP BY 1, 2 ORDER BY 1, 2`,
    [accountId, from, below, BigInt(fromMs), BigInt(toMs)],
  )
  return rows.map((row) => ({
    atMs: integer(row, 'hour') * HOUR_MS,
    group: text(row, 'grouped'),
    title: textOrNull(row, 'title'),
    requests: integer(row, 'requests'),
    errors: integer(row, 'errors'),
    inputTokens: integer(row, 'input_tokens'),
    outputTokens: integer(row, 'output_tokens'),
    costMicro: big(row, 'cost'),
    savedMicro: big(row, 'saved'),
  }))
}
