import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bench, newId, NOON_MS, TestClock } from './ledger-fixture.ts'
import type { OpenedBelow } from './append-only.ts'

interface Planted {
  readonly check: string
  readonly what: string
  /** Run below the store, on the books that `withAnswers` makes. */
  readonly statements: readonly string[]
  /** Other invariants that the same damage breaks. */
  readonly also?: readonly string[]
}

/** Damage that the database's own constraints let through, and the invariant that tells of it (reliability.md 3.2). */
const PLANTED: readonly Planted[] = [
  { check: 'I1', what: 'an entry whose two sides are one', statements: ["UPDATE entry SET debit = credit WHERE kind = 'charge'"], also: ['I2', 'I16'] },
  { check: 'I2', what: 'money that no entry brought', statements: ['UPDATE account SET available = available + 1'] },
  { check: 'I4', what: 'held money without a hold', statements: ['UPDATE account SET available = available - 1, held = held + 1'] },
  { check: 'I5', what: 'a key that holds what no request holds', statements: ['UPDATE api_key SET held = held + 1'] },
  { check: 'I6', what: 'a key beyond its limit', statements: ['UPDATE api_key SET spend_limit = 0'] },
  { check: 'I7', what: 'a spend that no charge made', statements: ["UPDATE key_spend SET spent = spent + 1 WHERE period = 'month'"] },
  { check: 'I8', what: 'a settled hold charged another amount than its entry', statements: ["UPDATE hold SET charged = charged + 1 WHERE state = 'settled'"], also: ['I7'] },
  { check: 'I8', what: 'a hold that is voided after its charge', statements: ["UPDATE hold SET state = 'voided', charged = NULL WHERE state = 'settled'"], also: ['I7', 'I11'] },
  { check: 'I10', what: 'an open hold whose lease ended long ago', statements: ["UPDATE hold SET lease_until = 0 WHERE state = 'open'"] },
  { check: 'I11', what: 'an answer that was completed and charged nothing', statements: ["UPDATE generation SET status = 'completed' WHERE cost = 0"] },
  { check: 'I12', what: 'a shortfall that is not booked', statements: ["UPDATE hold SET shortfall = 1 WHERE state = 'settled'"] },
  { check: 'I12', what: 'a charge at another price version than its hold', statements: ["UPDATE hold SET price_version = 2 WHERE state = 'settled'"] },
  { check: 'I13', what: 'an open hold of a finished request', statements: ["UPDATE hold SET state = 'open', lease_until = 9000000000000000, charged = NULL WHERE state = 'voided'"], also: ['I4', 'I5'] },
  { check: 'I14', what: 'a hold that expired before its lease was over', statements: ["UPDATE hold SET state = 'expired', ended_at = lease_until - 1 WHERE state = 'voided'"] },
  { check: 'I15', what: 'a missing log row', statements: ['DELETE FROM generation WHERE cost > 0'] },
  { check: 'I15', what: 'a log row with another cost than its charge', statements: ['UPDATE generation SET cost = cost + 1, shortfall = shortfall - 1 WHERE cost > 0'] },
  { check: 'I16', what: 'a changed entry', statements: ["UPDATE entry SET reason = 'x' WHERE id = (SELECT MIN(id) FROM entry)"] },
  { check: 'I16', what: 'a changed event', statements: ["UPDATE event SET actor = 'x' WHERE id = (SELECT MIN(id) FROM event)"] },
  { check: 'I17', what: "a provider's cost that its meters do not come to", statements: ['UPDATE generation SET provider_cost = provider_cost + 1 WHERE cost > 0'] },
  { check: 'I17', what: 'a charge that its meters do not come to', statements: [`UPDATE generation SET record = REPLACE(record, '"output":5', '"output":6') WHERE cost > 0`] },
]

/** Damage that the schema itself refuses: it can only be planted by taking the schema apart. */
const REFUSED: readonly (readonly [check: string, statement: string])[] = [
  ['I1', "INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) SELECT 'world', 'revenue', -1, 'x', 'x', id, 0, '' FROM account"],
  ['I3', 'UPDATE account SET available = -1'],
  ['I3', 'UPDATE account SET held = -1'],
  ['I9', 'INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) SELECT debit, credit, amount, kind, ref, account_id, created_at, hash FROM entry'],
]

/** Every invariant tells of damage of its own kind. */
export function plantedViolations(open: () => Promise<OpenedBelow>): void {
  const withAnswers = async (body: (bench: Bench, opened: OpenedBelow) => Promise<void>): Promise<void> => {
    const opened = await open()
    const bench = new Bench(opened.store, new TestClock(NOON_MS))
    const customer = await bench.customer(1_000n, { limitMicro: 900n })
    await bench.store.events.append({ atMs: NOON_MS, actor: 'admin', ip: null, action: 'first', object: 'acc_1', before: null, after: null })
    const [settled, voided] = [newId('gen-'), newId('gen-')]
    for (const id of [settled, voided]) await bench.hold(customer, 100n, id)
    await bench.settle(customer, settled, 20n)
    await bench.void(customer, voided)
    await bench.hold(customer, 50n)
    // Written, and summed up.
    await bench.ledger.renew()
    await bench.spend(customer)
    bench.clock.advance(10_000)
    assert.deepEqual(await broken(bench), [])
    for (const drop of opened.dropTriggers) await opened.below(drop)
    await body(bench, opened)
    await bench.ledger.stop()
    await opened.store.close()
  }

  for (const { check, what, statements, also = [] } of PLANTED) {
    test(`${check} tells of ${what}`, () =>
      withAnswers(async (bench, { below }) => {
        for (const statement of statements) await below(statement)
        assert.deepEqual(await broken(bench), [check, ...also].toSorted())
      }))
  }

  for (const [check, statement] of REFUSED) {
    test(`${check} holds by the schema: ${statement.slice(0, 60)}`, () =>
      withAnswers(async (bench, { below }) => {
        await assert.rejects(below(statement))
        assert.deepEqual(await broken(bench), [])
      }))
  }
}

/** Which checks of the audit fail; the price of an output token is 4, the provider's 2. */
async function broken(bench: Bench): Promise<readonly string[]> {
  const checks = await bench.store.audit.run({
    sinceMs: 0, nowMs: bench.clock.now(),
    replay: async ({ usage }) => ({ costMicro: BigInt(usage.output ?? 0) * 4n, providerCostMicro: BigInt(usage.output ?? 0) * 2n }),
  })
  return checks.filter(({ violations }) => violations.length > 0).map(({ id }) => id).toSorted()
}
