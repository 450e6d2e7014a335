export interface Planted {
  readonly check: string
  readonly what: string
  /** Run directly on the database, on the books that `withAnswers` makes. */
  readonly statements: readonly string[]
  /** Other invariants that the same damage breaks. */
  readonly also?: readonly string[]
}

/** The newest entry, its money and the head that names it are removed: the rest is consistent. */
const CUT_ENTRY = [
  "DELETE FROM entry WHERE id = (SELECT MAX(e.id) FROM entry e JOIN account a ON a.id = e.account_id WHERE a.name = 'net zero')",
  "UPDATE account SET available = available + 7, entry_head = (SELECT hash FROM entry WHERE account_id = account.id) WHERE name = 'net zero'",
]
/** Every entry and the head are removed: the account looks as if it never had money. */
const NET_ZERO = [
  "DELETE FROM entry WHERE account_id IN (SELECT id FROM account WHERE name = 'net zero')",
  "UPDATE account SET entry_head = '' WHERE name = 'net zero'",
]

/** Damage that the database's own constraints allow, and the invariant that finds it (guarantees.md 3.2). */
export const PLANTED: readonly Planted[] = [
  {
    check: 'I1',
    what: 'an entry whose two sides are one',
    statements: ["UPDATE entry SET debit = credit WHERE kind = 'charge'"],
    also: ['I2', 'I16'],
  },
  { check: 'I2', what: 'money that no entry brought', statements: ['UPDATE account SET available = available + 1'] },
  {
    check: 'I4',
    what: 'held money without a hold',
    statements: ['UPDATE account SET available = available - 1, held = held + 1 WHERE held > 0'],
  },
  { check: 'I5', what: 'a key that holds what no request holds', statements: ['UPDATE api_key SET held = held + 1'] },
  { check: 'I6', what: 'a key beyond its limit', statements: ['UPDATE api_key SET spend_limit = 0'], also: ['I19'] },
  {
    check: 'I7',
    what: 'a spend that no charge made',
    statements: ["UPDATE key_spend SET spent = spent + 1 WHERE period = 'month'"],
  },
  {
    check: 'I8',
    what: 'a settled hold charged another amount than its entry',
    statements: ["UPDATE hold SET charged = charged + 1 WHERE state = 'settled'"],
    also: ['I7', 'I18', 'I19'],
  },
  {
    check: 'I8',
    what: 'a hold that is voided after its charge',
    statements: ["UPDATE hold SET state = 'voided', charged = NULL WHERE state = 'settled'"],
    also: ['I7', 'I11', 'I18', 'I19'],
  },
  {
    check: 'I9',
    what: 'a code that was used more often than it paid',
    statements: ['UPDATE redeem_code SET uses = uses + 1'],
  },
  {
    check: 'I9',
    what: 'a paid order that is no longer so',
    statements: ["UPDATE payment_order SET state = 'pending' WHERE state = 'paid'"],
    also: ['I19'],
  },
  {
    check: 'I9',
    what: 'a refund that took less than its entry',
    statements: ['UPDATE payment_refund SET booked = booked - 1'],
    also: ['I19'],
  },
  { check: 'I9', what: 'a refund whose row is gone', statements: ['DELETE FROM payment_refund'], also: ['I20'] },
  {
    check: 'I9',
    what: 'a refund of more than was paid',
    statements: ['UPDATE payment_refund SET amount = amount + 1000'],
    also: ['I19'],
  },
  {
    check: 'I10',
    what: 'an open hold whose lease ended long ago',
    statements: ["UPDATE hold SET lease_until = 0 WHERE state = 'open'"],
  },
  {
    check: 'I11',
    what: 'an answer that was completed and charged nothing',
    statements: ["UPDATE generation SET status = 'completed' WHERE cost = 0"],
    also: ['I19'],
  },
  {
    check: 'I12',
    what: 'a shortfall that is not booked',
    statements: ["UPDATE hold SET shortfall = 1 WHERE state = 'settled'"],
    also: ['I18', 'I19'],
  },
  {
    check: 'I12',
    what: 'a charge at another price version than its hold',
    statements: ["UPDATE hold SET price_version = 2 WHERE state = 'settled'"],
    also: ['I19'],
  },
  {
    check: 'I13',
    what: 'an open hold of a finished request',
    statements: [
      "UPDATE hold SET state = 'open', lease_until = 9000000000000000, charged = NULL WHERE state = 'voided'",
    ],
    also: ['I4', 'I5', 'I19'],
  },
  {
    check: 'I14',
    what: 'a hold that expired before its lease was over',
    statements: ["UPDATE hold SET state = 'expired', ended_at = lease_until - 1 WHERE state = 'voided'"],
    also: ['I19'],
  },
  { check: 'I15', what: 'a missing log row', statements: ['DELETE FROM generation WHERE cost > 0'], also: ['I18'] },
  {
    check: 'I15',
    what: 'a log row with another cost than its charge',
    statements: ['UPDATE generation SET cost = cost + 1, shortfall = shortfall - 1 WHERE cost > 0'],
    also: ['I18', 'I19'],
  },
  {
    check: 'I16',
    what: 'a changed entry',
    statements: ["UPDATE entry SET reason = 'x' WHERE id = (SELECT MIN(id) FROM entry)"],
  },
  {
    check: 'I16',
    what: 'a changed event',
    statements: ["UPDATE event SET actor = 'x' WHERE id = (SELECT MIN(id) FROM event)"],
  },
  {
    check: 'I17',
    what: "a provider's cost that its meters do not come to",
    statements: ['UPDATE generation SET provider_cost = provider_cost + 1 WHERE cost > 0'],
    also: ['I18', 'I19'],
  },
  {
    check: 'I17',
    what: 'a record that cannot be read',
    statements: ['UPDATE generation SET record = SUBSTR(record, 2) WHERE cost > 0'],
    also: ['I19'],
  },
  {
    check: 'I17',
    what: 'a charge that its meters do not come to',
    statements: [`UPDATE generation SET record = REPLACE(record, '"output":5', '"output":6') WHERE cost > 0`],
    also: ['I19'],
  },
  {
    check: 'I18',
    what: "a day's sum that was changed",
    statements: ['UPDATE usage_day SET provider_cost = provider_cost + 1 WHERE revenue > 0'],
  },
  { check: 'I18', what: "a day's sums that are gone", statements: ['DELETE FROM usage_day', 'DELETE FROM app_day'] },
  {
    check: 'I18',
    what: "a day's sums that were moved to another day",
    statements: [
      "UPDATE usage_day SET day = '2026-11-01' WHERE day = '2026-11-18'",
      "UPDATE app_day SET day = '2026-11-01' WHERE day = '2026-11-18'",
    ],
  },
  { check: 'I18', what: 'sums of an app that no row has', statements: ['UPDATE app_day SET cost = cost + 1'] },
  {
    check: 'I18',
    what: 'a charge that was moved to another day of the statement',
    statements: ["UPDATE booked_later SET booked = '2026-11-20'"],
  },
  {
    check: 'I19',
    what: "a key's spending that is gone, so that its limit is spent twice",
    statements: ['DELETE FROM key_spend'],
  },
  {
    check: 'I19',
    what: 'an excess that is less than the charges beyond their holds',
    statements: ['UPDATE key_spend SET excess = 0 WHERE excess > 0'],
  },
  { check: 'I19', what: 'an excess that was raised by hand', statements: ['UPDATE key_spend SET excess = excess + 1'] },
  {
    check: 'I19',
    what: 'what a lowered limit left, raised by hand',
    statements: ["UPDATE api_key SET limit_over = 5, limit_over_start = 'total '"],
  },
  {
    check: 'I19',
    what: 'a job at another price',
    statements: [`UPDATE job SET details = REPLACE(details, '"costMicro":"60"', '"costMicro":"10"')`],
  },
  {
    check: 'I19',
    what: 'a job of another account',
    statements: ["UPDATE job SET account_id = (SELECT id FROM account WHERE name = 'no entries')"],
    also: ['I21'],
  },
  { check: 'I21', what: 'a job that is gone while its money is held', statements: ['DELETE FROM job'] },
  {
    check: 'I20',
    what: 'an account that is gone, with all that is its own',
    statements: ["DELETE FROM account WHERE name = 'no entries'"],
  },
  {
    check: 'I20',
    what: 'a key that is gone and was never used',
    statements: ['DELETE FROM api_key WHERE id NOT IN (SELECT key_id FROM hold)'],
  },
  {
    check: 'I20',
    what: 'missing log rows that retention is said to have taken',
    statements: ['UPDATE log_kept SET before_at = before_at + 1'],
  },
  { check: 'I20', what: 'an unused code that is gone', statements: ["DELETE FROM redeem_code WHERE id = 'code_2'"] },
  {
    check: 'I20',
    what: 'an order that is gone before it was paid',
    statements: ["DELETE FROM payment_order WHERE state = 'pending'"],
  },
  {
    check: 'I19',
    what: 'a price that was changed in a catalogue',
    statements: [`UPDATE catalog_version SET document = '{}'`],
  },
  {
    check: 'I19',
    what: 'an open hold in another period',
    statements: ["UPDATE hold SET month = '2026-12-01' WHERE state = 'open'"],
  },
  {
    check: 'I19',
    what: 'a log row of another key',
    statements: ["UPDATE generation SET key_id = 'key_other' WHERE cost = 0"],
    also: ['I18'],
  },
  {
    check: 'I19',
    what: 'tokens that were changed with the sums of their day',
    statements: [
      "UPDATE generation SET input_tokens = input_tokens + 1 WHERE generation_id = (SELECT id FROM hold WHERE charged > 0 AND day = '2026-11-18')",
      ...['usage_day', 'app_day'].map(
        (table) => `UPDATE ${table} SET input_tokens = input_tokens + 1 WHERE day = '2026-11-18'`,
      ),
    ],
  },
  {
    check: 'I19',
    what: 'insured cost that was taken out of a log row',
    statements: ['UPDATE generation SET insured = insured + 1 WHERE cost = 0'],
    also: ['I18'],
  },
  { check: 'I19', what: 'a limit that was raised', statements: ['UPDATE api_key SET spend_limit = spend_limit + 1'] },
  {
    check: 'I19',
    what: 'a key that opens another account',
    statements: ["UPDATE api_key SET account_id = (SELECT MIN(id) FROM account WHERE entry_head = '')"],
  },
  {
    check: 'I19',
    what: 'another amount of a hold that has ended',
    statements: ["UPDATE hold SET amount = amount + 1 WHERE state = 'voided'"],
  },
  {
    check: 'I6',
    what: 'an account whose limit is lower than what it has spent and holds',
    statements: ['UPDATE account SET spend_limit = 100 WHERE spend_limit IS NOT NULL'],
    also: ['I20'],
  },
  {
    check: 'I7',
    what: 'an account that has spent less of its limit than its keys were charged',
    statements: ['UPDATE account SET limit_spent = limit_spent - 1 WHERE limit_spent > 0'],
  },
  {
    check: 'I7',
    what: 'what an account without a limit is said to have spent of it',
    statements: ["UPDATE account SET limit_spent = 5 WHERE name = 'no entries'"],
  },
  {
    check: 'I20',
    what: 'the limit of an account, taken off',
    statements: [
      'UPDATE account SET spend_limit = NULL, limit_start = NULL, limit_spent = 0 WHERE spend_limit IS NOT NULL',
    ],
  },
  { check: 'I19', what: 'a code that is worth more', statements: ['UPDATE redeem_code SET amount = amount + 1'] },
  {
    check: 'I19',
    what: 'an order that brings more',
    statements: ["UPDATE payment_order SET amount = amount + 1 WHERE state = 'pending'"],
  },
  { check: 'I20', what: 'the newest entry of an account, gone with its head', statements: CUT_ENTRY },
  { check: 'I20', what: 'all entries of an account that come to nothing, gone with its head', statements: NET_ZERO },
  {
    check: 'I20',
    what: 'the newest event that is gone',
    statements: ['DELETE FROM event WHERE id = (SELECT MAX(id) FROM event)'],
  },
  {
    check: 'I20',
    what: 'the newest event that is gone with its head',
    statements: [
      'DELETE FROM event WHERE id = (SELECT MAX(id) FROM event)',
      'UPDATE event_head SET hash = (SELECT hash FROM event ORDER BY id DESC LIMIT 1)',
    ],
  },
  {
    check: 'I20',
    what: 'all events, gone with their head',
    statements: ['DELETE FROM event', "UPDATE event_head SET hash = ''"],
  },
  {
    check: 'I20',
    what: 'what is free in an hour, begun anew',
    statements: ['UPDATE account SET free_insured = 0, free_spent = 0 WHERE free_spent > 0'],
  },
  {
    check: 'I20',
    what: 'rows of the log that retention is said to have taken',
    statements: ['UPDATE account SET log_dropped = log_dropped + 1, log_rows = log_rows + 1'],
    also: ['I15'],
  },
]

/** Damage that the schema itself refuses: planting it needs a change of the schema. */
export const REFUSED: readonly (readonly [check: string, statement: string])[] = [
  [
    'I1',
    "INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) SELECT 'world', 'revenue', -1, 'x', 'x', id, 0, '' FROM account",
  ],
  ['I3', 'UPDATE account SET available = -1'],
  ['I3', 'UPDATE account SET held = -1'],
  [
    'I9',
    'INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) SELECT debit, credit, amount, kind, ref, account_id, created_at, hash FROM entry',
  ],
]
