import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { casesOf } from '../harness/form.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'
import { NEW_DETAILS, type JobDetails } from '../../src/ledger/job.ts'
import { newJob } from './new-job.ts'
import type { OpenedBelow } from './append-only.ts'
import { PLANTED, REFUSED } from './planted-damage.ts'

const DAY_MS = 86_400_000
const AUDITS = 3

/** Two acts of an administrator in the event log. */
export async function twoEvents(bench: Bench): Promise<void> {
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
}

/** Stores whose audit finds nothing in the books below. */
const SOUND = new WeakSet<() => Promise<OpenedBelow>>()

/** Valid books with every kind of money, without the triggers that protect them. */
export async function withBooks(
  open: () => Promise<OpenedBelow>,
  body: (bench: Bench, opened: OpenedBelow) => Promise<void>,
): Promise<void> {
  const opened = await open()
  const bench = new Bench(opened.store, new TestClock(NOON_MS))
  const limits = { limitMicro: 900n, expiresAtMs: NOON_MS + DAY_MS }
  const customer = await bench.customer(1_000n, limits, { limitMicro: 900n, limitReset: 'monthly' })
  await mixed(bench, customer)
  await twoEvents(bench)
  const [settled, voided] = [newId('gen-'), newId('gen-')]
  for (const id of [settled, voided]) await bench.hold(customer, 100n, id)
  await bench.settle(customer, settled, 20n)
  await bench.void(customer, voided)
  await bench.hold(customer, 50n)
  // Written, and rolled up.
  await bench.ledger.renew()
  await bench.spend(customer)
  bench.clock.advance(10_000)
  // The same books each time, checked once: an audit takes as long as all the rest.
  if (!SOUND.has(open)) assert.deepEqual(await brokenChecks(bench), [])
  SOUND.add(open)
  for (const drop of opened.dropTriggers) await opened.below(drop)
  await bench.ledger.stop()
  await body(bench, opened)
  if (opened.isOpen()) await opened.store.close()
}

/** Every invariant reports its kind of damage; the short form plants one for every so many invariants. */
export function plantedViolations(open: () => Promise<OpenedBelow>, every: number): void {
  const firsts = PLANTED.filter(({ check }, index) => PLANTED.findIndex((damage) => damage.check === check) === index)
  const short = firsts.filter((_, index) => index % every === 0)
  for (const { check, what, statements, also = [] } of casesOf(PLANTED, short)) {
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

  test('I1, I3 and I9 hold by the schema too: it refuses the damage, and the books stay as they were', () =>
    withBooks(open, async (bench, { below }) => {
      for (const [check, statement] of REFUSED) await assert.rejects(below(statement), `${check}: ${statement}`)
      assert.deepEqual(await brokenChecks(bench), [])
    }))
}

/**
 * An account without entries and one whose entries add up to nothing; a code and orders; a charge above its hold whose
 * row was removed, and one booked on the day after its hold.
 */
async function mixed(bench: Bench, customer: Customer): Promise<void> {
  const { store, clock } = bench
  const [none, zero] = [newId('acc_'), newId('acc_')]
  for (const [id, name] of [
    [none, 'no entries'],
    [zero, 'net zero'],
  ] as const)
    await store.accounts.create({ id, name, email: null, defaultModel: null, rateLimit: null, createdAtMs: NOON_MS })
  await store.accountGroups.create({
    id: 'grp_1',
    externalId: null,
    name: 'Partners',
    markup: '0.9',
    createdAtMs: NOON_MS,
  })
  await store.accounts.update(zero, { groupId: 'grp_1' })
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
    (
      await store.payments.refund({
        orderId: 'ord_1',
        refundId: 'back-1',
        amountMicro: 9n,
        atMs: NOON_MS,
        lowBalanceMicro: 0n,
      })
    ).status,
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
  // Retention removes the row of the first.
  assert.equal(await store.logUpkeep.removeSome(NOON_MS - 1_000), 1)
  await store.catalogs.append({
    after: 0,
    document: '{"models":[]}',
    credentials: Buffer.from('sealed'),
    fileDigest: 'digest',
    atMs: NOON_MS,
  })
  await heldJob(bench, customer)
  const digest = createHash('sha256').update('code').digest()
  await store.codes.create([
    {
      id: 'code_1',
      externalId: null,
      digest,
      label: 'TG-…',
      amountMicro: 11n,
      usesMax: 2,
      expiresAtMs: null,
      note: null,
      disabled: false,
      createdBy: 'admin',
      createdAtMs: NOON_MS,
    },
  ])
  await store.codes.create([
    {
      id: 'code_2',
      externalId: null,
      digest: createHash('sha256').update('unused').digest(),
      label: 'TG-…',
      amountMicro: 12n,
      usesMax: 1,
      expiresAtMs: null,
      note: null,
      disabled: false,
      createdBy: 'admin',
      createdAtMs: NOON_MS,
    },
  ])
  const rotation = { label: 'sk-tg-…', atMs: NOON_MS, graceUntilMs: NOON_MS + DAY_MS, secretId: newId('sec_') }
  await store.keys.rotate(customer.keyId, { ...rotation, digest: createHash('sha256').update('rotated').digest() })
  await store.keys.create({
    id: newId('key_'),
    accountId: customer.accountId,
    name: 'unused',
    digest: createHash('sha256').update('unused').digest(),
    label: 'sk-tg-…',
    limitMicro: null,
    limitReset: null,
    expiresAtMs: null,
    allowedModels: null,
    createdAtMs: NOON_MS,
  })
  assert.equal(
    (await store.codes.redeem({ digest, accountId: customer.accountId, actor: 'user', atMs: NOON_MS })).status,
    'redeemed',
  )
}

/** A job that waits for its provider. */
async function heldJob(bench: Bench, { accountId, keyId }: Customer): Promise<void> {
  const id = newId('gen-vid-')
  const candidate = {
    endpointId: 'e',
    providerSlug: 'p',
    providerName: 'P',
    upstreamModel: 'm',
    variant: null,
    costMicro: '60',
    buyMicro: '30',
  }
  const details: JobDetails = { ...NEW_DETAILS, candidates: [candidate] }
  const job = newJob({ accountId, keyId }, id, 60n, { nowMs: NOON_MS, ttlMs: DAY_MS }, { details })
  const outcome = await bench.ledger.hold({
    generationId: id,
    accountId,
    keyId,
    amountMicro: 60n,
    priceVersion: 1,
    subject: { type: 'video', model: job.model, requestId: job.requestId, streamed: false },
    job,
  })
  assert.equal(outcome.status, 'held')
}

/** The failed checks of the audit; the price of an output token is 4, the provider's 2. */
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
