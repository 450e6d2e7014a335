/** Each row that these return is a violation, described in its column `what`; rows of days before `?` are left out. */
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

/** What a settled hold was charged beyond its amount. */
const BEYOND = `CASE WHEN state = 'settled_late' THEN charged WHEN charged > amount THEN charged - amount ELSE 0 END`
/** The sum of charges of each key and period, and what they took beyond their holds. */
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

/** Holds are of the period that their account's row counts. */
const OF_LIMIT = `h.account_id = a.id AND a.limit_start = CASE a.limit_reset WHEN 'daily' THEN 'day ' || h.day WHEN 'weekly' THEN 'week ' || h.week WHEN 'monthly' THEN 'month ' || h.month ELSE 'total ' END`
/** An account without a limit is joined with nothing. */
const LIMITED =
  'account_id IN (SELECT id FROM account WHERE spend_limit IS NOT NULL) GROUP BY account_id, day, week, month'

/** Accounts that have spent and hold more than their limit in the period that it counts (I6). */
export const ACCOUNTS_OVER_LIMIT = `SELECT 'account ' || a.id AS what FROM account a
  LEFT JOIN (SELECT account_id, day, week, month, SUM(amount) AS held FROM hold WHERE state = 'open' AND ${LIMITED}) h ON ${OF_LIMIT}
  WHERE a.spend_limit IS NOT NULL GROUP BY a.id, a.spend_limit, a.limit_spent, a.limit_start, a.limit_over, a.limit_over_start
  HAVING a.limit_spent + COALESCE(SUM(h.held), 0) > a.spend_limit + CASE WHEN a.limit_over_start = a.limit_start THEN a.limit_over ELSE 0 END`

/** Accounts whose row has another spending than its charges; one without a limit has none (I7). */
export const ACCOUNTS_MISCOUNTED = `SELECT 'account ' || a.id AS what FROM account a
  LEFT JOIN (SELECT account_id, day, week, month, SUM(charged) AS charged FROM hold WHERE state IN ('settled', 'settled_late') AND ${LIMITED}) h ON ${OF_LIMIT}
  WHERE a.spend_limit IS NOT NULL OR a.limit_start IS NOT NULL OR a.limit_spent <> 0 GROUP BY a.id, a.spend_limit, a.limit_spent, a.limit_start
  HAVING a.limit_spent <> COALESCE(SUM(h.charged), 0) OR (a.spend_limit IS NULL AND a.limit_start IS NOT NULL)`
