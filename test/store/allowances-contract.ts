import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FRESH_MS } from '../../src/ledger/allowances.ts'
import { ALLOWANCE_PREFIX, type HoldRow } from '../../src/ledger/ledger-store.ts'
import type { Store } from '../../src/store/store.ts'
import { form } from '../harness/form.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

const RICH_MICRO = 1_000_000n
const LEASE_MS = 60_000
const IDLE_MS = 5_001

/**
 * Who decides the holds of a key at work: the database, since nodes have no allowances or the account asks for it, or a
 * node within what it has set aside.
 */
const POLICIES = ['exact', 'asked', 'slice'] as const
/** reliability.md R4: 10,000 races in the long form. */
const ROUNDS = form({ short: 40, long: 1_250 })
const RACERS = 12

type Policy = (typeof POLICIES)[number]

/**
 * Requests race for what is left of an account, of a key's limit and of an account's: half of them on each node, or all
 * on the one that there is.
 */
export async function lastMoneyRace(first: Bench, second: Bench, policy: Policy | 'all'): Promise<void> {
  const poor = await first.customer(400n)
  const limited = await first.customer(RICH_MICRO, { limitMicro: 400n })
  const joint = await first.customer(RICH_MICRO, {}, { limitMicro: 400n })
  const jointKeys = [joint, await first.key(joint.accountId)]
  for (const { accountId } of policy === 'asked' ? [poor, limited, joint] : [])
    await first.store.accounts.update(accountId, { exactHolds: true })
  let charged = 0n
  for (let round = 0; round < ROUNDS; round += 1) {
    const ids = Array.from({ length: RACERS }, () => newId('gen-'))
    await Promise.all(
      ids.map(async (id, index) => {
        const node = index % 2 === 0 ? first : second
        const customer = [poor, limited, jointKeys[index % 4 < 2 ? 0 : 1] ?? joint][index % 3] ?? poor
        if ((await node.hold(customer, 6n, id)).status !== 'held') return
        // More than was held for it, sometimes.
        const outcome = await node.settle(customer, id, index === 0 ? 9n : 5n)
        if ('chargedMicro' in outcome && customer === poor) charged += outcome.chargedMicro
      }),
    )
    const { available, held } = await first.money(poor.accountId)
    assert.ok(available >= 0n && held >= 0n, `round ${round}: ${available} available, ${held} held`)
    if (round % Math.ceil(ROUNDS / 5) === 7) await first.auditClean()
    // For two more races, or one and a rest.
    if (available < 6n && round < ROUNDS - 20) {
      await first.topUp(poor.accountId, 11n)
      charged -= 11n
    }
  }
  for (const { ledger } of [first, second]) await ledger.tidy()
  first.clock.advance(IDLE_MS)
  for (const { ledger } of [first, second]) await ledger.tidy()
  const { available, held } = await first.money(poor.accountId)
  assert.deepEqual({ available: available + charged, held }, { available: 400n, held: 0n })
  // Neither leaves more than one hold unused: idle money comes back, and is spent.
  assert.ok(available < 6n, `${available} are left`)
  const { total } = await first.spend(limited)
  assert.ok(total <= 400n && total > 394n, `${total} of a limit of 400 are spent`)
  const account = await first.store.accounts.get(joint.accountId)
  const jointMicro = account?.limitSpentMicro ?? 0n
  assert.ok(jointMicro <= 400n && jointMicro > 394n, `${jointMicro} of an account's limit of 400 are spent`)
}

/** What holds where nodes decide holds within money that the database has set aside for them. */
export function allowancesContract(newDatabase: () => Promise<string>, open: (url: string) => Promise<Store>): void {
  /** Nodes on one database and one clock, audited at the end. */
  async function nodes(
    count: number,
    body: (benches: readonly Bench[]) => Promise<void>,
    policy: Policy = 'slice',
  ): Promise<void> {
    const url = await newDatabase()
    const clock = new TestClock(NOON_MS)
    const benches: Bench[] = []
    for (let index = 1; index <= count; index += 1)
      benches.push(new Bench(await open(url), clock, `node-${index}`, policy === 'exact' ? {} : { nodes: () => count }))
    try {
      await body(benches)
      await benches[0]?.auditClean()
    } finally {
      for (const { ledger } of benches) await ledger.stop()
      await benches[0]?.auditClean()
      for (const { store } of benches) await store.close()
    }
  }

  async function openHolds({ store }: Bench): Promise<readonly HoldRow[]> {
    return store.ledger.openHolds(null)
  }

  /** The second request of a key within seconds brings its allowance. */
  async function atWork(bench: Bench, customer: Customer, amountMicro = 10n): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) {
      const id = newId('gen-')
      await bench.hold(customer, amountMicro, id)
      await bench.settle(customer, id, 1n)
    }
    await bench.ledger.tidy()
  }

  test('a key at work has money set aside: its next holds are not written, and who looks sees it as available', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(RICH_MICRO, { limitMicro: 900_000n })
      await atWork(bench, customer)
      const ids = [newId('gen-'), newId('gen-')]
      for (const id of ids) assert.deepEqual(await bench.hold(customer, 10n, id), { status: 'held' })
      const held = await openHolds(bench)
      assert.deepEqual(
        held.map(({ id, amountMicro }) => [id.startsWith(ALLOWANCE_PREFIX), amountMicro]),
        [[true, 40n]],
      )
      assert.deepEqual(await bench.money(customer.accountId), { available: RICH_MICRO - 2n, held: 0n })
      assert.equal((await bench.spend(customer)).held, 0n)
      await bench.auditClean()
      for (const id of ids)
        assert.deepEqual(await bench.settle(customer, id, 7n), {
          status: 'settled',
          chargedMicro: 7n,
          shortfallMicro: 0n,
        })
      // What was taken out of it was put back with the charge.
      assert.deepEqual(
        (await openHolds(bench)).map(({ amountMicro }) => amountMicro),
        [40n],
      )
      assert.deepEqual(await bench.money(customer.accountId), { available: RICH_MICRO - 16n, held: 0n })
      assert.equal((await bench.settle(customer, ids[0] ?? '', 7n)).status, 'replayed')
    })
  })

  test('a hold that others look for is in the database at once, an allowance or none', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(RICH_MICRO)
      await atWork(bench, customer)
      const generationId = newId('gen-')
      await bench.ledger.hold({
        generationId,
        accountId: customer.accountId,
        keyId: customer.keyId,
        amountMicro: 10n,
        priceVersion: 1,
        subject: { type: 'chat', model: 'm', requestId: 'r', streamed: false },
        isShared: true,
      })
      assert.ok((await openHolds(bench)).some(({ id }) => id === generationId))
      await bench.void(customer, generationId)
    })
  })

  test('an end that makes an allowance smaller in the commit that was asked for its size: no more is drawn than is left', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(100n)
      await atWork(bench, customer)
      const [drawn, large, rest] = [newId('gen-'), newId('gen-'), newId('gen-')]
      await bench.hold(customer, 10n, drawn)
      const isShared = true
      const subject = { type: 'chat', model: 'm', requestId: 'r', streamed: false } as const
      const { accountId, keyId } = customer
      const other = { generationId: rest, accountId, keyId, amountMicro: 23n, priceVersion: 1, subject, isShared }
      assert.equal((await bench.ledger.hold(other)).status, 'held')
      // All that is left, and a wish; then, in the same commit, what finds nothing to put back.
      const outcomes = await Promise.all([bench.hold(customer, 35n, large), bench.settle(customer, drawn, 10n)])
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['held', 'settled'],
      )
      const ids = Array.from({ length: 4 }, () => newId('gen-'))
      const held: string[] = []
      for (const id of ids) if ((await bench.hold(customer, 10n, id)).status === 'held') held.push(id)
      for (const id of held)
        assert.deepEqual(await bench.settle(customer, id, 10n), {
          status: 'settled',
          chargedMicro: 10n,
          shortfallMicro: 0n,
        })
      assert.equal(held.length, 3)
      for (const id of [large, rest]) await bench.void(customer, id)
    })
  })

  test('a free answer of a hold that was only in memory leaves its row, and gives all back', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(RICH_MICRO)
      await atWork(bench, customer)
      const id = newId('gen-')
      await bench.hold(customer, 10n, id)
      assert.deepEqual(await bench.void(customer, id, 3n), { status: 'voided' })
      assert.equal((await bench.void(customer, id)).status, 'replayed')
      assert.deepEqual(await bench.money(customer.accountId), { available: RICH_MICRO - 2n, held: 0n })
    })
  })

  for (const policy of POLICIES)
    test(`R4, ${policy}: two nodes race for the last money of an account and of a key: never more than there is`, async () => {
      await nodes(2, ([first = assert.fail(), second = assert.fail()]) => lastMoneyRace(first, second, policy), policy)
    })

  async function lateNode(
    [first = assert.fail(), second = assert.fail()]: readonly Bench[],
    policy: Policy,
  ): Promise<void> {
    const customer = await first.customer(400n)
    if (policy === 'asked') await first.store.accounts.update(customer.accountId, { exactHolds: true })
    await atWork(first, customer)
    const ids = [newId('gen-'), newId('gen-'), newId('gen-')]
    for (const id of ids) assert.equal((await first.hold(customer, 10n, id)).status, 'held')
    // The first stands still.
    first.clock.advance(LEASE_MS + 1)
    await second.ledger.sweep()
    assert.deepEqual(await openHolds(second), [])
    const spent = newId('gen-')
    assert.equal((await second.hold(customer, 390n, spent)).status, 'held')
    await second.settle(customer, spent, 390n)
    // It asks the database before it sells anything more.
    assert.deepEqual(await first.hold(customer, 10n), { status: 'insufficient_balance', availableMicro: 8n })
    assert.deepEqual(
      [
        await first.settle(customer, ids[0] ?? '', 5n),
        await first.settle(customer, ids[1] ?? '', 5n),
        await first.void(customer, ids[2] ?? ''),
      ],
      [
        { status: 'settled_late', chargedMicro: 5n, shortfallMicro: 0n },
        { status: 'settled_late', chargedMicro: 3n, shortfallMicro: 2n },
        { status: 'voided' },
      ],
    )
    assert.deepEqual(await first.money(customer.accountId), { available: 0n, held: 0n })
  }

  for (const policy of POLICIES)
    test(`SIGSTOP beyond the lease, ${policy}: another node gives the money back, and who comes back charges only what is left`, async () => {
      await nodes(2, (benches) => lateNode(benches, policy), policy)
    })

  test('an account that asks for it: the database decides each hold, and what a node had set aside goes back', async () => {
    await nodes(2, async ([first = assert.fail(), second = assert.fail()]) => {
      const customer = await first.customer(RICH_MICRO)
      const exactly = async (exactHolds: boolean): Promise<void> =>
        void (await second.store.accounts.update(customer.accountId, { exactHolds }))
      await atWork(first, customer)
      const drawn = newId('gen-')
      assert.equal((await first.hold(customer, 10n, drawn)).status, 'held')
      await exactly(true)
      assert.equal((await first.settle(customer, drawn, 3n)).status, 'settled')
      await first.ledger.tidy()
      assert.deepEqual(await openHolds(first), [])
      await atWork(first, customer)
      assert.deepEqual(await openHolds(first), [])
      // Where nothing is drawn, the next wish learns it.
      await exactly(false)
      first.clock.advance(IDLE_MS)
      await atWork(first, customer)
      assert.equal((await openHolds(first)).length, 1)
      await exactly(true)
      const [{ amountMicro } = assert.fail()] = await openHolds(first)
      const large = newId('gen-')
      assert.equal((await first.hold(customer, amountMicro + 1n, large)).status, 'held')
      await first.ledger.tidy()
      assert.deepEqual(
        (await openHolds(first)).map(({ id }) => id),
        [large],
      )
      await first.void(customer, large)
    })
  })

  test('a node that dies loses nothing: its allowance comes back after its lease, and what it ran is free', async () => {
    await nodes(2, async ([first = assert.fail(), second = assert.fail()]) => {
      const customer = await second.customer(RICH_MICRO)
      await atWork(first, customer)
      await first.hold(customer, 10n)
      first.clock.advance(LEASE_MS - 1)
      await second.ledger.sweep()
      assert.equal((await openHolds(second)).length, 1)
      first.clock.advance(2)
      await second.ledger.sweep()
      assert.deepEqual(await openHolds(second), [])
      assert.deepEqual(await second.money(customer.accountId), { available: RICH_MICRO - 2n, held: 0n })
    })
  })

  test('an allowance lives while its node renews it, and is given back when its key rests or its node stops', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(RICH_MICRO)
      await atWork(bench, customer)
      const id = newId('gen-')
      await bench.hold(customer, 10n, id)
      for (let turn = 0; turn < 4; turn += 1) {
        bench.clock.advance(20_000)
        await bench.ledger.renew()
        await bench.ledger.sweep()
        await bench.ledger.tidy()
      }
      // But for what runs it has gone back.
      assert.deepEqual(
        (await openHolds(bench)).map(({ amountMicro }) => amountMicro),
        [10n],
      )
      assert.equal((await bench.settle(customer, id, 5n)).status, 'settled')
      await bench.ledger.tidy()
      assert.deepEqual(await openHolds(bench), [])
      await atWork(bench, customer)
      assert.equal((await openHolds(bench)).length, 1)
      await bench.ledger.stop()
      assert.deepEqual(await openHolds(bench), [])
    })
  })

  test('a key that is closed sells nothing once its node has heard of the database, and never after 2.5 s', async () => {
    await nodes(2, async ([first = assert.fail(), second = assert.fail()]) => {
      const close = async (customer: Customer): Promise<void> =>
        void (await second.store.keys.update(
          customer.keyId,
          { disabled: true },
          second.ledger.periods(second.clock.now()),
        ))
      const refused = { status: 'refused', reason: 'key_deactivated' }
      const busy = await first.customer(RICH_MICRO)
      await atWork(first, busy)
      const id = newId('gen-')
      await first.hold(busy, 10n, id)
      await close(busy)
      assert.equal((await first.settle(busy, id, 5n)).status, 'settled')
      assert.deepEqual(await first.hold(busy, 10n), refused)
      const idle = await first.customer(RICH_MICRO)
      await atWork(first, idle)
      await close(idle)
      first.clock.advance(FRESH_MS + 1)
      assert.deepEqual(await first.hold(idle, 10n), refused)
    })
  })

  test('a limit that is lowered below what is spent closes the allowance with the next charge', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(RICH_MICRO, { limitMicro: 500_000n })
      await atWork(bench, customer)
      const id = newId('gen-')
      await bench.hold(customer, 10n, id)
      await bench.store.keys.update(customer.keyId, { limitMicro: 1n }, bench.ledger.periods(bench.clock.now()))
      await bench.settle(customer, id, 5n)
      assert.equal((await bench.hold(customer, 1n)).status, 'limit_exceeded')
    })
  })

  test('a top-up counts at once, and a request that needs all of it gets what its own node has set aside', async () => {
    await nodes(1, async ([bench = assert.fail()]) => {
      const customer = await bench.customer(402n)
      await atWork(bench, customer)
      assert.equal((await openHolds(bench)).length, 1)
      await bench.topUp(customer.accountId, 100n)
      const id = newId('gen-')
      assert.equal((await bench.hold(customer, 500n, id)).status, 'held')
      assert.deepEqual(await bench.money(customer.accountId), { available: 0n, held: 500n })
      await bench.settle(customer, id, 500n)
    })
  })
}
