import { brokenHeads, brokenRows, brokenStatements, brokenChains } from './seals.ts'
import { WRONG_MARKS } from '../ledger/entry-marks.ts'
import { chargeableRows, replayPeriod, type Replay, type ReplayReport } from './replay.ts'
import type { BookSeal } from './book-seal.ts'
import type { Database, Sql, SqlValue } from '../database.ts'
import { NO_LIVE_JOB } from '../ledger/job-rows.ts'
import { DAY_MS, isoDay } from '../../base/time.ts'

export type AuditInvariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I12'
  | 'I13'
  | 'I14'
  | 'I15'
  | 'I16'
  | 'I17'
  | 'I18'
  | 'I19'
  | 'I20'
  | 'I21'
  | 'I22'

export interface AuditCheck {
  readonly id: AuditInvariant
  readonly name: string
  readonly violations: readonly string[]
}

const VIOLATIONS_MAX = 100
/** How long an open hold may outlive its lease: the time that the sweep needs. */
const LEASE_SLACK_MS = 60_000

interface Query {
  readonly id: AuditInvariant
  readonly name: string
  /** Each row that it returns is a violation, described in its column `what`. */
  readonly text: string
  readonly values?: readonly SqlValue[]
}

/** The invariants of guarantees.md 3.2 that one query can check. */
function queries(nowMs: number, sinceMs: number): readonly Query[] {
  const since = BigInt(sinceMs)
  return [
    {
      id: 'I1',
      name: 'every amount is a non-negative whole number, and each entry has two different sides',
      text: `SELECT 'entry ' || id AS what FROM entry WHERE amount < 0 OR debit = credit`,
    },
    {
      id: 'I2',
      name: 'available + held = ledger balance of the account',
      text: `SELECT 'account ' || a.id AS what FROM account a LEFT JOIN (
        SELECT account_id, SUM(CASE WHEN credit = 'account:' || account_id THEN amount WHEN debit = 'account:' || account_id THEN -amount ELSE 0 END) AS balance FROM entry GROUP BY account_id
      ) e ON e.account_id = a.id WHERE a.available + a.held <> COALESCE(e.balance, 0)
        UNION ALL ${WRONG_MARKS}`,
    },
    {
      id: 'I3',
      name: 'available ≥ 0 and held ≥ 0',
      text: `SELECT 'account ' || id AS what FROM account WHERE available < 0 OR held < 0`,
    },
    {
      id: 'I4',
      name: 'account.held = Σ its open holds',
      text: `SELECT 'account ' || a.id AS what FROM account a LEFT JOIN (SELECT account_id, SUM(amount) AS held FROM hold WHERE state = 'open' GROUP BY account_id) h ON h.account_id = a.id WHERE a.held <> COALESCE(h.held, 0)`,
    },
    {
      id: 'I5',
      name: 'key.held = Σ its open holds',
      text: `SELECT 'key ' || k.id AS what FROM api_key k LEFT JOIN (SELECT key_id, SUM(amount) AS held FROM hold WHERE state = 'open' GROUP BY key_id) h ON h.key_id = k.id WHERE k.held <> COALESCE(h.held, 0)`,
    },
    {
      id: 'I6',
      name: 'spent + held ≤ limit + excess in the newest period of each limit, of a key or an account',
      text: `SELECT 'key ' || k.id AS what FROM api_key k JOIN key_spend s ON s.key_id = k.id
        AND s.period = CASE k.limit_reset WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' ELSE 'total' END
        LEFT JOIN (SELECT key_id, day, week, month, SUM(amount) AS held FROM hold WHERE state = 'open' GROUP BY key_id, day, week, month) h ON h.key_id = k.id
          AND s.start = CASE k.limit_reset WHEN 'daily' THEN h.day WHEN 'weekly' THEN h.week WHEN 'monthly' THEN h.month ELSE '' END
        WHERE k.spend_limit IS NOT NULL AND s.start = (SELECT MAX(n.start) FROM key_spend n WHERE n.key_id = k.id AND n.period = s.period)
        GROUP BY k.id, k.spend_limit, k.limit_over, k.limit_over_start, s.period, s.start, s.spent, s.excess
        HAVING s.spent + COALESCE(SUM(h.held), 0) > k.spend_limit + s.excess + CASE WHEN k.limit_over_start = s.period || ' ' || s.start THEN k.limit_over ELSE 0 END
        UNION ALL ${ACCOUNTS_OVER_LIMIT}`,
    },
    {
      id: 'I7',
      name: "key spend of each period = Σ charges whose hold was placed in it, and an account's spending in its limit's period too",
      text: [
        ACCOUNTS_MISCOUNTED,
        ...['total', 'day', 'week', 'month'].map((period) => {
          const start = period === 'total' ? `''` : period
          return `SELECT 'key ' || s.key_id || ' ${period} ' || s.start AS what FROM key_spend s LEFT JOIN (
            SELECT key_id, ${start} AS start, SUM(charged) AS spent FROM hold WHERE state IN ('settled', 'settled_late') GROUP BY key_id${period === 'total' ? '' : `, ${period}`}
          ) h ON h.key_id = s.key_id AND h.start = s.start WHERE s.period = '${period}' AND s.spent <> COALESCE(h.spent, 0)`
        }),
      ].join(' UNION ALL '),
    },
    ...historyQueries(nowMs, since),
  ]
}

/** The consistency of holds, charges, entries and the log. */
// oxlint-disable-next-line eslint/max-lines-per-function -- one table
function historyQueries(nowMs: number, since: bigint): readonly Query[] {
  return [
    {
      id: 'I8',
      name: 'a charge exists exactly for settled holds, with their amount',
      text: `SELECT 'hold ' || h.id AS what FROM hold h LEFT JOIN entry e ON e.kind = 'charge' AND e.ref = h.id WHERE h.placed_at >= ?
        AND ((h.state IN ('settled', 'settled_late')) <> (e.id IS NOT NULL) OR (e.id IS NOT NULL AND e.amount <> h.charged))
        UNION ALL SELECT 'entry ' || e.id AS what FROM entry e LEFT JOIN hold h ON h.id = e.ref WHERE e.kind = 'charge' AND h.id IS NULL`,
      values: [since],
    },
    {
      id: 'I9',
      name: 'one credit per external reference',
      text: `SELECT kind || ' ' || ref AS what FROM entry GROUP BY kind, ref HAVING COUNT(*) > 1
        UNION ALL SELECT 'order ' || o.id AS what FROM payment_order o LEFT JOIN entry e ON e.kind = 'topup' AND e.ref = o.method || ':' || o.payment_id
          WHERE (o.state = 'paid') <> (e.id IS NOT NULL) OR (e.id IS NOT NULL AND (e.amount <> o.amount OR e.account_id <> o.account_id))
        UNION ALL SELECT 'refund ' || r.id AS what FROM payment_refund r LEFT JOIN entry e ON e.kind = 'refund' AND e.ref = r.id
          WHERE (r.booked > 0) <> (e.id IS NOT NULL) OR (e.id IS NOT NULL AND (e.amount <> r.booked OR e.account_id <> r.account_id))
        UNION ALL SELECT 'order ' || o.id AS what FROM payment_order o JOIN payment_refund r ON r.order_id = o.id GROUP BY o.id, o.amount, o.state HAVING SUM(r.amount) > o.amount OR o.state <> 'paid'
        UNION ALL SELECT 'refund ' || e.ref AS what FROM entry e LEFT JOIN payment_refund r ON r.id = e.ref WHERE e.kind = 'refund' AND r.id IS NULL AND e.actor IN (SELECT method FROM payment_order)
        UNION ALL SELECT 'code ' || c.id AS what FROM redeem_code c WHERE c.uses <> (SELECT COUNT(*) FROM entry e WHERE e.kind = 'topup' AND e.ref >= 'code:' || c.id || ':' AND e.ref < 'code:' || c.id || ';')`,
    },
    {
      id: 'I10',
      name: 'no open hold whose lease ended more than 60 s ago',
      text: `SELECT 'hold ' || id AS what FROM hold WHERE state = 'open' AND lease_until < ? AND ${NO_LIVE_JOB}`,
      values: [BigInt(nowMs - LEASE_SLACK_MS)],
    },
    {
      id: 'I11',
      name: 'a completed answer is charged',
      text: `SELECT 'generation ' || g.generation_id AS what FROM generation g LEFT JOIN hold h ON h.id = g.generation_id
        WHERE g.status = 'completed' AND g.created_at >= ? AND (h.id IS NULL OR h.state NOT IN ('settled', 'settled_late'))`,
      values: [since],
    },
    {
      id: 'I12',
      name: 'a shortfall is booked; a voided, expired or open hold is charged nothing; a log row has the price version of its hold',
      text: `SELECT 'hold ' || h.id AS what FROM hold h LEFT JOIN entry e ON e.kind = 'shortfall' AND e.ref = h.id
        WHERE COALESCE(h.shortfall, 0) <> COALESCE(e.amount, 0) OR (h.state IN ('voided', 'expired', 'open') AND COALESCE(h.charged, 0) <> 0)
        UNION ALL SELECT 'generation ' || g.generation_id AS what FROM generation g JOIN hold h ON h.id = g.generation_id WHERE g.price_version <> h.price_version`,
    },
    {
      id: 'I13',
      name: 'the hold of a finished request is closed',
      text: `SELECT 'hold ' || h.id AS what FROM hold h JOIN generation g ON g.generation_id = h.id WHERE h.state = 'open' AND g.ended_at < ?`,
      values: [BigInt(nowMs - 5_000)],
    },
    {
      id: 'I14',
      name: 'no hold expired before its lease ended',
      text: `SELECT 'hold ' || id AS what FROM hold WHERE state = 'expired' AND ended_at < lease_until`,
    },
    {
      id: 'I15',
      name: 'one log row per generation, its cost the charge, its numbers without gaps',
      text: `SELECT 'generation ' || g.generation_id AS what FROM generation g LEFT JOIN entry e ON e.kind = 'charge' AND e.ref = g.generation_id WHERE g.cost <> COALESCE(e.amount, 0)
        UNION ALL SELECT 'hold ' || h.id AS what FROM hold h LEFT JOIN generation g ON g.generation_id = h.id WHERE h.state IN ('settled', 'settled_late') AND g.id IS NULL AND h.ended_at >= (SELECT before_at FROM log_kept)
        UNION ALL SELECT 'account ' || a.id AS what FROM account a LEFT JOIN (SELECT account_id, COUNT(*) AS n, MAX(seq) AS top FROM generation GROUP BY account_id) g ON g.account_id = a.id
          WHERE a.log_rows - a.log_dropped <> COALESCE(g.n, 0) OR a.log_rows <> COALESCE(g.top, a.log_dropped)`,
    },
    {
      id: 'I21',
      name: 'a job holds its money while it lives, is charged exactly when it is completed, and ends with one log row',
      text: `SELECT 'job ' || j.id AS what FROM job j LEFT JOIN hold h ON h.id = j.id LEFT JOIN generation g ON g.generation_id = j.id
        WHERE h.id IS NULL OR h.amount <> j.hold OR (j.status IN ('pending','in_progress')) <> (h.state = 'open') OR (j.status = 'completed') <> (h.state IN ('settled','settled_late'))
          OR (j.status IN ('pending','in_progress') AND g.id IS NOT NULL) OR (j.status NOT IN ('pending','in_progress') AND g.id IS NULL AND h.ended_at >= (SELECT before_at FROM log_kept))
          OR h.account_id <> j.account_id OR h.key_id <> j.key_id OR h.price_version <> j.price_version
        UNION ALL SELECT 'job ' || h.id || ': it is gone' AS what FROM hold h LEFT JOIN job j ON j.id = h.id WHERE j.id IS NULL AND h.subject LIKE '{"type":"video"%'`,
    },
  ]
}

/** The wrong sums of days. A day that began before `sinceMs` in any time zone is left out. */
async function wrongSums(sql: Sql, sinceMs: number): Promise<readonly string[]> {
  const fromDay = sinceMs === 0 ? '' : isoDay(sinceMs + 2 * DAY_MS)
  const violations: string[] = []
  for (const { text, days } of DAY_SUMS) {
    const rows = await sql.all(
      `SELECT what FROM (${text}) violations LIMIT ${VIOLATIONS_MAX}`,
      Array.from({ length: days }, () => fromDay),
    )
    violations.push(...rows.map((row) => String(row['what'])))
  }
  return violations
}

/** The audit of guarantees.md 3.2: read-only, in one snapshot. */
export class AuditStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  run(options: {
    readonly sinceMs: number
    readonly nowMs: number
    readonly replay: Replay
  }): Promise<readonly AuditCheck[]> {
    return this.#database.transaction(
      async (sql) => {
        const checks: AuditCheck[] = []
        for (const query of queries(options.nowMs, options.sinceMs)) {
          const rows = await sql.all(
            `SELECT what FROM (${query.text}) violations LIMIT ${VIOLATIONS_MAX}`,
            query.values ?? [],
          )
          checks.push({ id: query.id, name: query.name, violations: rows.map((row) => String(row['what'])) })
        }
        checks.push({
          id: 'I16',
          name: 'the hash chains of entries and events verify',
          violations: await brokenChains(sql, VIOLATIONS_MAX),
        })
        checks.push({
          id: 'I17',
          name: 'charge + shortfall = price of the logged usage, replayed',
          violations: await chargeableRows(sql, options.sinceMs, options.replay, VIOLATIONS_MAX),
        })
        checks.push(...(await this.#signed(sql, options.sinceMs)))
        return checks
      },
      { purpose: 'snapshot' },
    )
  }

  /** The checks that need seals. */
  async #signed(sql: Sql, sinceMs: number): Promise<readonly AuditCheck[]> {
    const seal = this.#seal
    const rows = await sql.all(`SELECT what FROM (${WRONG_SPENDS}) violations LIMIT ${VIOLATIONS_MAX}`)
    const spends = rows.map((row) => String(row['what']))
    return [
      {
        id: 'I18',
        name: 'the sums of each day = Σ log rows, those removed by retention included = Σ charges',
        violations: await wrongSums(sql, sinceMs),
      },
      {
        id: 'I19',
        name: "every charge is in its key's spending; limits, holds, log rows, codes, orders, jobs and prices match their seals",
        violations: [...spends, ...(await brokenRows(sql, seal, VIOLATIONS_MAX))],
      },
      {
        id: 'I20',
        name: 'each chain ends at its signed head, and no counted row is missing',
        violations: await brokenHeads(sql, seal, VIOLATIONS_MAX),
      },
      {
        id: 'I22',
        name: 'closed months follow one another, and their closing balance is the sum of their entries',
        violations: await brokenStatements(sql, seal, VIOLATIONS_MAX),
      },
    ]
  }

  /** Recalculates the charges of a period from the log. */
  replay(options: { readonly fromMs: number; readonly toMs: number; readonly replay: Replay }): Promise<ReplayReport> {
    return this.#database.transaction(
      (sql) => replayPeriod(sql, options.fromMs, options.toMs, options.replay, VIOLATIONS_MAX),
      { purpose: 'snapshot' },
    )
  }
}

/** A query whose every row is a violation, described in its column `what`; rows of days before `?` are left out. */
interface SumQuery {
  readonly text: string
  /** How many times the first day is a parameter. */
  readonly days: number
}

const PLACE = ['account_id', 'day', 'key_id', 'model', 'provider']
const SUMS = ['requests', 'input_tokens', 'output_tokens', 'revenue', 'provider_cost', 'insured', 'shortfall']

/**
 * Differences between two sides: both are added up, one of them negated, so that a difference in either direction is
 * found.
 */
function differing(
  column: string,
  place: readonly string[],
  sums: readonly string[],
  sides: readonly string[],
): string {
  return `SELECT ${column} AS what FROM (${sides.join(' UNION ALL ')}) AS sides GROUP BY ${place.join(', ')} HAVING ${sums.map((name) => `SUM(${name}) <> 0`).join(' OR ')}`
}

function columns(table: string, place: readonly string[], sums: readonly string[], sign: '' | '-'): string {
  const names = sums.map((name) => `${sign}${name} AS ${name}`).join(', ')
  const [, column = ''] = place
  return `SELECT ${place.join(', ')}, ${names} FROM ${table} WHERE ${column} >= ?`
}

function sumOf(names: readonly string[], of: (name: string) => string): string {
  return names.map((name) => `-SUM(${of(name)}) AS ${name}`).join(', ')
}

/** A day's sums must equal those of its log rows, of the rows that retention removed, and of the charges (I18). */
export const DAY_SUMS: readonly SumQuery[] = [
  {
    days: 3,
    text: differing(
      `'usage of ' || account_id || ' ' || day || ' ' || key_id || ' ' || model || ' ' || provider`,
      PLACE,
      SUMS,
      [
        columns('usage_day', PLACE, SUMS, ''),
        columns('removed_day', PLACE, SUMS, '-'),
        `SELECT g.account_id, h.day, g.key_id, g.model, COALESCE(g.provider, '') AS provider, ${sumOf(SUMS, (name) => (name === 'requests' ? '1' : name === 'revenue' ? 'g.cost' : `g.${name}`))}
        FROM generation g JOIN hold h ON h.id = g.generation_id WHERE h.day >= ? GROUP BY g.account_id, h.day, g.key_id, g.model, COALESCE(g.provider, '')`,
      ],
    ),
  },
  {
    days: 2,
    text: differing(
      `'charges of ' || account_id || ' ' || day || ' ' || key_id`,
      ['account_id', 'day', 'key_id'],
      ['revenue', 'shortfall'],
      [
        columns('usage_day', ['account_id', 'day', 'key_id'], ['revenue', 'shortfall'], ''),
        `SELECT account_id, day, key_id, -SUM(COALESCE(charged, 0)) AS revenue, -SUM(COALESCE(shortfall, 0)) AS shortfall FROM hold WHERE day >= ? AND state IN ('settled', 'settled_late') GROUP BY account_id, day, key_id`,
      ],
    ),
  },
  {
    days: 2,
    text: differing(
      `'usage by app of ' || account_id || ' ' || day || ' ' || key_id || ' ' || model`,
      ['account_id', 'day', 'key_id', 'model'],
      ['requests', 'input_tokens', 'output_tokens', 'cost'],
      [
        columns(
          'app_day',
          ['account_id', 'day', 'key_id', 'model'],
          ['requests', 'input_tokens', 'output_tokens', 'cost'],
          '',
        ),
        `SELECT account_id, day, key_id, model, -requests AS requests, -input_tokens AS input_tokens, -output_tokens AS output_tokens, -revenue AS cost FROM usage_day WHERE day >= ?`,
      ],
    ),
  },
  {
    days: 2,
    text: differing(
      `'late charges of ' || account_id || ' placed ' || placed || ' booked ' || booked`,
      ['account_id', 'placed', 'booked'],
      ['requests', 'amount'],
      [
        columns('booked_later', ['account_id', 'placed', 'booked'], ['requests', 'amount'], ''),
        `SELECT account_id, day AS placed, booked, -COUNT(*) AS requests, -SUM(COALESCE(charged, 0)) AS amount FROM hold WHERE day >= ? AND booked <> '' GROUP BY account_id, day, booked`,
      ],
    ),
  },
]

/** The part of a settled hold's charge that exceeds its amount. */
const BEYOND = `CASE WHEN state = 'settled_late' THEN charged WHEN charged > amount THEN charged - amount ELSE 0 END`
/** The number of charges of each key and period, and the sum of their parts beyond their holds. */
const CHARGED = ['total', 'day', 'week', 'month']
  .map((period) => {
    const start = period === 'total' ? `''` : period
    return `SELECT key_id, '${period}' AS period, ${start} AS start, COUNT(*) AS charges, CAST(SUM(${BEYOND}) AS BIGINT) AS beyond
      FROM hold WHERE state IN ('settled', 'settled_late') GROUP BY key_id${period === 'total' ? '' : `, ${period}`}`
  })
  .join(' UNION ALL ')

/** A key's spending must include every charge in each period, with the part beyond its hold as excess (I19). */
export const WRONG_SPENDS = `SELECT 'spending of ' || key_id || ' ' || period || ' ' || start AS what FROM (
      SELECT key_id, period, start, 1 AS spent, 0 AS charges, 0 AS beyond, excess FROM key_spend
      UNION ALL SELECT key_id, period, start, 0 AS spent, charges, beyond, 0 AS excess FROM (${CHARGED}) AS charged
    ) AS sides GROUP BY key_id, period, start HAVING (SUM(charges) > 0 AND SUM(spent) = 0) OR SUM(excess) <> SUM(beyond)`

/** The condition that a hold belongs to the limit's period in its account's row. */
const OF_LIMIT = `h.account_id = a.id AND a.limit_start = CASE a.limit_reset WHEN 'daily' THEN 'day ' || h.day WHEN 'weekly' THEN 'week ' || h.week WHEN 'monthly' THEN 'month ' || h.month ELSE 'total ' END`
/** An account without a limit is joined with no rows. */
const LIMITED =
  'account_id IN (SELECT id FROM account WHERE spend_limit IS NOT NULL) GROUP BY account_id, day, week, month'

/** Accounts that have spent and hold more than their limit in the period in their row (I6). */
export const ACCOUNTS_OVER_LIMIT = `SELECT 'account ' || a.id AS what FROM account a
  LEFT JOIN (SELECT account_id, day, week, month, SUM(amount) AS held FROM hold WHERE state = 'open' AND ${LIMITED}) h ON ${OF_LIMIT}
  WHERE a.spend_limit IS NOT NULL GROUP BY a.id, a.spend_limit, a.limit_spent, a.limit_start, a.limit_over, a.limit_over_start
  HAVING a.limit_spent + COALESCE(SUM(h.held), 0) > a.spend_limit + CASE WHEN a.limit_over_start = a.limit_start THEN a.limit_over ELSE 0 END`

/**
 * Accounts whose row states another spending than their charges amount to; an account without a limit must state none
 * (I7).
 */
export const ACCOUNTS_MISCOUNTED = `SELECT 'account ' || a.id AS what FROM account a
  LEFT JOIN (SELECT account_id, day, week, month, SUM(charged) AS charged FROM hold WHERE state IN ('settled', 'settled_late') AND ${LIMITED}) h ON ${OF_LIMIT}
  WHERE a.spend_limit IS NOT NULL OR a.limit_start IS NOT NULL OR a.limit_spent <> 0 GROUP BY a.id, a.spend_limit, a.limit_spent, a.limit_start
  HAVING a.limit_spent <> COALESCE(SUM(h.charged), 0) OR (a.spend_limit IS NULL AND a.limit_start IS NOT NULL)`
