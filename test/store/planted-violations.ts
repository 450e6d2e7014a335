import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'
import type { OpenedBelow } from './append-only.ts'

const DAY_MS = 86_400_000
const AUDITS = 3

interface Planted {
  readonly check: string
  readonly what: string
  /** Run below the store, on the books that `withAnswers` makes. */
  readonly statements: readonly string[]
  /** Other invariants that the same damage breaks. */
  readonly also?: readonly string[]
}

/** The newest entry, its money and the head that names it: what is left is whole in itself. */
const CUT_ENTRY = [
  "DELETE FROM entry WHERE id = (SELECT MAX(e.id) FROM entry e JOIN account a ON a.id = e.account_id WHERE a.name = 'net zero')",
  "UPDATE account SET available = available + 7, entry_head = (SELECT hash FROM entry WHERE account_id = account.id) WHERE name = 'net zero'",
]
/** Every entry and the head; the account was never paid in. */
const NET_ZERO = [
  "DELETE FROM entry WHERE account_id IN (SELECT id FROM account WHERE name = 'net zero')",
  "UPDATE account SET entry_head = '' WHERE name = 'net zero'",
]

/** Damage that the database's own constraints let through, and the invariant that tells of it (reliability.md 3.2). */
const PLANTED: readonly Planted[] = [
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
  },
  {
    check: 'I9',
    what: 'a refund that took less than its entry',
    statements: ['UPDATE payment_refund SET booked = booked - 1'],
    also: ['I19'],
  },
  { check: 'I9', what: 'a refund whose row is gone', statements: ['DELETE FROM payment_refund'] },
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
    also: ['I4', 'I5'],
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

/** Damage that the schema itself refuses: it can only be planted by taking the schema apart. */
const REFUSED: readonly (readonly [check: string, statement: string])[] = [
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

/** Books of every kind of money, sound, without the triggers that keep them so. */
export async function withBooks(
  open: () => Promise<OpenedBelow>,
  body: (bench: Bench, opened: OpenedBelow) => Promise<void>,
): Promise<void> {
  const opened = await open()
  const bench = new Bench(opened.store, new TestClock(NOON_MS))
  const customer = await bench.customer(1_000n, { limitMicro: 900n, expiresAtMs: NOON_MS + DAY_MS })
  await mixed(bench, customer)
  for (const action of ['account.create', 'account.update'] as const)
    await bench.store.events.append({
      atMs: NOON_MS,
      actor: 'admin',
      ip: null,
      action,
      object: 'acc_1',
      before: null,
      after: null,
    })
  const [settled, voided] = [newId('gen-'), newId('gen-')]
  for (const id of [settled, voided]) await bench.hold(customer, 100n, id)
  await bench.settle(customer, settled, 20n)
  await bench.void(customer, voided)
  await bench.hold(customer, 50n)
  // Written, and summed up.
  await bench.ledger.renew()
  await bench.spend(customer)
  bench.clock.advance(10_000)
  assert.deepEqual(await brokenChecks(bench), [])
  for (const drop of opened.dropTriggers) await opened.below(drop)
  await bench.ledger.stop()
  await body(bench, opened)
  if (opened.isOpen()) await opened.store.close()
}

/** Every invariant tells of damage of its own kind. */
export function plantedViolations(open: () => Promise<OpenedBelow>): void {
  for (const { check, what, statements, also = [] } of PLANTED) {
    test(`${check} tells of ${what}`, () =>
      withBooks(open, async (bench, { below }) => {
        for (const statement of statements) await below(statement)
        assert.deepEqual(await brokenChecks(bench), [check, ...also].toSorted())
      }))
  }

  test('an audit while charges come is of one moment: it tells of nothing', async () => {
    const { store, isOpen } = await open()
    const bench = new Bench(store, new TestClock(NOON_MS))
    const customer = await bench.customer(1_000_000n)
    const audits = { running: AUDITS }
    const audited = (async () => {
      for (; audits.running > 0; audits.running -= 1) assert.deepEqual(await brokenChecks(bench), [])
    })().finally(() => (audits.running = 0))
    while (audits.running > 0) {
      const id = newId('gen-')
      await bench.hold(customer, 30n, id)
      await bench.settle(customer, id, 20n)
    }
    await audited
    await bench.ledger.stop()
    if (isOpen()) await store.close()
  })

  for (const [check, statement] of REFUSED) {
    test(`${check} holds by the schema: ${statement.slice(0, 60)}`, () =>
      withBooks(open, async (bench, { below }) => {
        await assert.rejects(below(statement))
        assert.deepEqual(await brokenChecks(bench), [])
      }))
  }
}

/**
 * An account without entries and one whose entries come to nothing; a code and orders; a charge above its hold whose
 * row is gone, and one on the day after it was placed.
 */
async function mixed(bench: Bench, customer: Customer): Promise<void> {
  const { store, clock } = bench
  const [none, zero] = [newId('acc_'), newId('acc_')]
  for (const [id, name] of [
    [none, 'no entries'],
    [zero, 'net zero'],
  ] as const)
    await store.accounts.create({ id, name, email: null, defaultModel: null, rateLimit: null, createdAtMs: NOON_MS })
  const entry = { accountId: zero, amountMicro: 7n, reason: 'test', actor: 'test', atMs: NOON_MS }
  await store.entries.post({ ...entry, kind: 'topup', reference: newId('pay_') })
  await store.entries.post({ ...entry, kind: 'refund', reference: newId('pay_') })
  for (const id of ['ord_1', 'ord_2'])
    await store.payments.create({
      id,
      accountId: customer.accountId,
      method: 'yookassa',
      amountMicro: 40n,
      currency: 'RUB',
      createdAtMs: NOON_MS,
    })
  await store.payments.begin('ord_1', 'pay-1', null)
  assert.ok(await store.payments.pay({ id: 'ord_1', paymentId: 'pay-1', atMs: NOON_MS }))
  assert.equal(
    (await store.payments.refund({ orderId: 'ord_1', refundId: 'back-1', amountMicro: 9n, atMs: NOON_MS })).status,
    'booked',
  )
  // On the day before.
  clock.advance(-DAY_MS)
  const over = newId('gen-')
  const late = newId('gen-')
  await bench.hold(customer, 15n, over)
  await bench.settle(customer, over, 20n)
  await bench.hold(customer, 30n, late)
  clock.advance(DAY_MS)
  await bench.settle(customer, late, 20n)
  // Retention takes the row of the first.
  assert.equal(await store.logUpkeep.removeSome(NOON_MS - 1_000), 1)
  const digest = createHash('sha256').update('code').digest()
  await store.codes.create([
    {
      id: 'code_1',
      digest,
      label: 'TG-…',
      amountMicro: 11n,
      usesMax: 2,
      expiresAtMs: null,
      note: null,
      createdBy: 'admin',
      createdAtMs: NOON_MS,
    },
  ])
  assert.equal(
    (await store.codes.redeem({ digest, accountId: customer.accountId, actor: 'user', atMs: NOON_MS })).status,
    'redeemed',
  )
}

/** Which checks of the audit fail; the price of an output token is 4, the provider's 2. */
export async function brokenChecks(bench: Bench): Promise<readonly string[]> {
  const checks = await bench.store.audit.run({
    sinceMs: 0,
    nowMs: bench.clock.now(),
    replay: async ({ usage }) => ({
      costMicro: BigInt(usage.output ?? 0) * 4n,
      providerCostMicro: BigInt(usage.output ?? 0) * 2n,
    }),
  })
  return checks
    .filter(({ violations }) => violations.length > 0)
    .map(({ id }) => id)
    .toSorted()
}
