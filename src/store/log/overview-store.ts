import type { Micro } from '../../base/money.ts'
import { big, integer, text, type Database, type Sql } from '../database.ts'
import { jsonField, type Dialect } from '../dialect.ts'

/** Rows of the log that are read: about 30 ms, in a snapshot that delays no other work. */
const LOOK_ROWS = 10_000
const CAUSES_MAX = 20
const ACCOUNTS_MAX = 10

export interface Overview {
  readonly recent: RecentRows
  readonly causes: readonly ErrorCause[]
  readonly lowBalances: readonly LowBalance[]
  /** Accounts that are not active and have money. */
  readonly lockedAccounts: number
  readonly lockedMicro: Micro
  readonly pendingPayments: number
  readonly pendingMicro: Micro
}

/** The newest rows of the log. */
export interface RecentRows {
  readonly requests: number
  readonly errors: number
  readonly flagged: number
  readonly cacheSavedMicro: Micro
  /** When the oldest of them ended, Unix ms; null = no rows. */
  readonly fromMs: number | null
  /** Time to the first token, ms; null = no row has one. */
  readonly ttft: { readonly p50: number; readonly p99: number } | null
}

export interface ErrorCause {
  /** Empty = no provider was called. */
  readonly provider: string
  readonly errorType: string
  readonly requests: number
}

/**
 * An account whose free money covers less than `coveredDays` of its spend, or less than a request that was refused for
 * lack of money.
 */
export interface LowBalance {
  readonly id: string
  readonly name: string
  readonly availableMicro: Micro
  /** Since `fromDay`. */
  readonly spentMicro: Micro
}

/** The beginning of a statement that reads the newest rows as `recent`. */
function recent(dialect: Dialect): string {
  const field = (name: string): string => jsonField(dialect, 'record', name)
  return `WITH newest AS (SELECT status, COALESCE(provider, '') AS provider, ended_at, record FROM generation ORDER BY id DESC LIMIT ${LOOK_ROWS}),
    recent AS (SELECT status, provider, ended_at, COALESCE(${field('errorType')}, '') AS cause,
      CASE WHEN CAST(${field('flagged')} AS TEXT) IN ('1', 'true') THEN 1 ELSE 0 END AS flagged, CAST(${field('latencyMs')} AS BIGINT) AS latency,
      COALESCE(CAST(${field('cacheSaved')} AS BIGINT), 0) AS saved FROM newest WHERE ended_at >= ?)`
}

/**
 * The figures of the operator's first page. They are read from sums and the newest rows, so the length of the log does
 * not matter.
 */
export class OverviewStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Rows that ended, and requests that were refused, after `sinceMs`; balances below `coveredDays` of the spend of
   * `days` days from `fromDay` on.
   */
  read(query: {
    readonly sinceMs: number
    readonly fromDay: string
    readonly days: number
    readonly coveredDays: number
  }): Promise<Overview> {
    const { fromDay, days, coveredDays } = query
    const select = recent(this.#database.dialect)
    const since = [BigInt(query.sinceMs)]
    return this.#database.transaction(
      async (sql) => {
        const [sums = {}] = await sql.all(
          `${select} SELECT COUNT(*) AS requests, CAST(COALESCE(SUM(CASE WHEN status = 'error' THEN 1 ELSE 0 END), 0) AS BIGINT) AS errors,
            CAST(COALESCE(SUM(flagged), 0) AS BIGINT) AS flagged, CAST(COALESCE(SUM(saved), 0) AS BIGINT) AS saved, COALESCE(MIN(ended_at), 0) AS oldest, COUNT(latency) AS timed FROM recent`,
          since,
        )
        const causes = await sql.all(
          `${select} SELECT provider, cause, COUNT(*) AS requests FROM recent WHERE status = 'error' GROUP BY provider, cause ORDER BY 3 DESC, 1, 2 LIMIT ${CAUSES_MAX}`,
          since,
        )
        const timed = integer(sums, 'timed')
        const placeOf = (share: number): bigint => BigInt(Math.min(timed, Math.floor(timed * share) + 1))
        const ranked = await sql.all(
          `${select}, ranked AS (SELECT latency, ROW_NUMBER() OVER (ORDER BY latency) AS place FROM recent WHERE latency IS NOT NULL)
          SELECT latency FROM ranked WHERE place IN (?, ?) ORDER BY place`,
          [...since, placeOf(0.5), placeOf(0.99)],
        )
        const [p50, p99 = p50] = ranked.map((row) => integer(row, 'latency'))
        const field = (name: string): string => jsonField(this.#database.dialect, 'figures', name)
        const low = await sql.all(
          `SELECT id, name, available, spent FROM account JOIN (
            SELECT account_id, CAST(SUM(spent) AS BIGINT) AS spent, MAX(required) AS required FROM (
              SELECT account_id, revenue AS spent, 0 AS required FROM usage_day WHERE day >= ?
              UNION ALL SELECT account_id, 0, CAST(${field('required')} AS DOUBLE PRECISION) * 1000000 FROM refusal WHERE cause = 'insufficient_balance' AND at >= ?
            ) AS each_one GROUP BY account_id) AS sums ON account_id = id
          WHERE status = 'active' AND (available * ? < spent * ? OR required > available) ORDER BY available, id LIMIT ${ACCOUNTS_MAX}`,
          [fromDay, ...since, BigInt(days), BigInt(coveredDays)],
        )
        return {
          recent: {
            requests: integer(sums, 'requests'),
            errors: integer(sums, 'errors'),
            flagged: integer(sums, 'flagged'),
            cacheSavedMicro: big(sums, 'saved'),
            fromMs: integer(sums, 'requests') === 0 ? null : integer(sums, 'oldest'),
            ttft: p50 === undefined || p99 === undefined ? null : { p50, p99 },
          },
          causes: causes.map((row) => ({
            provider: text(row, 'provider'),
            errorType: text(row, 'cause'),
            requests: integer(row, 'requests'),
          })),
          lowBalances: low.map((row) => ({
            id: text(row, 'id'),
            name: text(row, 'name'),
            availableMicro: big(row, 'available'),
            spentMicro: big(row, 'spent'),
          })),
          ...(await aside(sql)),
        }
      },
      { purpose: 'snapshot' },
    )
  }
}

async function aside(
  sql: Sql,
): Promise<Pick<Overview, 'lockedAccounts' | 'lockedMicro' | 'pendingPayments' | 'pendingMicro'>> {
  const [locked = {}] = await sql.all(
    `SELECT COUNT(*) AS number, CAST(COALESCE(SUM(available), 0) AS BIGINT) AS amount FROM account WHERE status <> 'active' AND available > 0`,
  )
  const [pending = {}] = await sql.all(
    `SELECT COUNT(*) AS number, CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS amount FROM payment_order WHERE state = 'pending'`,
  )
  return {
    lockedAccounts: integer(locked, 'number'),
    lockedMicro: big(locked, 'amount'),
    pendingPayments: integer(pending, 'number'),
    pendingMicro: big(pending, 'amount'),
  }
}
