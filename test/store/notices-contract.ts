import assert from 'node:assert/strict'
import { type NewNotice, StoreUnavailableError } from '../../src/ledger/ledger-store.ts'
import type { Channel, Delivery } from '../../src/store/notices/notice-rows.ts'
import { DeliveryError, Notifier } from '../../src/notices/notifier.ts'
import { UnwrittenNotices } from '../../src/store/notices/unwritten-notices.ts'
import type { Store } from '../../src/store/store.ts'
import { until } from '../harness/patience.ts'
import { benchTests, newId, type Bench, type Customer } from './ledger-fixture.ts'
import { createJob, move } from './jobs-contract.ts'

const DAY_MS = 86_400_000
const LEASE_MS = 60_000
const LOW = 1_000n

/** What notices may rely on, on every store. */
export function noticesContract(open: () => Promise<Store>): void {
  const notices = benchTests(open, { lowBalanceMicro: () => LOW })

  const channel = async (bench: Bench, fields: Partial<Channel> = {}): Promise<Channel> => {
    const made: Channel = {
      id: newId('chn_'),
      accountId: null,
      externalId: null,
      type: 'webhook',
      target: 'https://hooks.example.com/',
      secret: Buffer.from('sealed'),
      kinds: ['balance.low', 'limit.near', 'limit.reached', 'job.ended', 'shortfall'],
      language: 'en',
      enabled: true,
      createdAtMs: bench.clock.now(),
      confirmed: true,
      ...fields,
    }
    assert.equal(await bench.store.notices.addChannel(made, 5), 'added')
    return made
  }
  const addressed = async (bench: Bench): Promise<readonly Delivery[]> => {
    await bench.store.notices.address(bench.clock.now())
    const { data } = await bench.store.notices.deliveries({ accountId: null, state: null, limit: 50, offset: 0 })
    return data.toReversed()
  }
  const told = async (bench: Bench): Promise<readonly string[]> =>
    (await addressed(bench)).map(({ notice }) => notice.kind)
  const taken = async ({ store, clock }: Bench, most = 10): Promise<readonly Delivery[]> => {
    const room = { operator: most, well: most, troubled: most }
    return (await store.notices.take(room, clock.now(), clock.now() + LEASE_MS)).map(({ delivery }) => delivery)
  }
  const charge = async (bench: Bench, customer: Customer, micro: bigint, holdMicro = micro): Promise<string> => {
    const id = newId('gen-')
    await bench.hold(customer, holdMicro, id)
    assert.equal((await bench.settle(customer, id, micro)).status, 'settled')
    bench.clock.advance(1)
    return id
  }

  notices(
    'a balance that falls below the threshold is told once, and again only after it was a tenth above',
    async (bench) => {
      await channel(bench)
      const customer = await bench.customer(1_500n)
      await charge(bench, customer, 500n)
      assert.deepEqual(await told(bench), [], 'at the threshold it is not below')
      await charge(bench, customer, 1n)
      const [first] = await addressed(bench)
      assert.deepEqual(first?.notice.detail, { balance: 0.000_999, threshold: 0.001 })
      assert.equal(first.notice.accountId, customer.accountId)
      for (let swing = 0; swing < 5; swing += 1) {
        await bench.topUp(customer.accountId, 50n)
        await charge(bench, customer, 50n)
      }
      assert.equal((await told(bench)).length, 1)
      await bench.topUp(customer.accountId, 101n)
      await charge(bench, customer, 101n)
      assert.equal((await told(bench)).length, 2)
      await bench.auditClean()
    },
  )

  notices("a correction tells of a low balance too, and an account's own threshold counts", async (bench) => {
    await channel(bench)
    const customer = await bench.customer(10_000n)
    const { accountId } = customer
    const set = (lowMicro: bigint | null): Promise<void> =>
      bench.store.notices.setLowBalance(accountId, { lowMicro, fallbackMicro: LOW, atMs: bench.clock.now() })
    await set(5_000n)
    assert.deepEqual(await bench.store.notices.lowBalance(accountId), { lowMicro: 5_000n })
    await charge(bench, customer, 4_000n)
    assert.deepEqual(await told(bench), [])
    const { status } = await bench.store.entries.post({
      accountId,
      kind: 'adjustment',
      amountMicro: -1_001n,
      reason: 'test',
      reference: newId('adj_'),
      actor: 'test',
      atMs: bench.clock.now(),
      lowBalanceMicro: LOW,
    })
    assert.equal(status, 'created')
    assert.deepEqual(await told(bench), ['balance.low'])
    bench.clock.advance(1)
    await set(0n)
    await charge(bench, customer, 4_999n)
    assert.equal((await told(bench)).length, 1, 'a threshold of nothing is never passed')
    bench.clock.advance(1)
    await set(null)
    assert.equal((await told(bench)).length, 2, 'it is below the threshold that is set')
    assert.equal(await bench.store.notices.lowBalance('acc_none'), null)
    await bench.auditClean()
  })

  notices('a key is told of at 80 and at 100 % of its limit, once in a period', async (bench) => {
    await channel(bench)
    const customer = await bench.customer(1_000_000n, { limitMicro: 1_000n, limitReset: 'daily' })
    await charge(bench, customer, 799n)
    assert.deepEqual(await told(bench), [])
    await charge(bench, customer, 1n)
    await charge(bench, customer, 100n)
    assert.deepEqual(await told(bench), ['limit.near'])
    await charge(bench, customer, 100n)
    const [, reached] = await addressed(bench)
    assert.deepEqual(reached?.notice.detail, { key: customer.keyId, limit: 0.001, limit_reset: 'daily', spent: 0.001 })
    bench.clock.advance(DAY_MS)
    await charge(bench, customer, 1_000n)
    assert.deepEqual(await told(bench), ['limit.near', 'limit.reached', 'limit.reached'])
    await bench.auditClean()
  })

  notices('an account is told of at 80 and at 100 % of the limit that its keys have together', async (bench) => {
    await channel(bench)
    const one = await bench.customer(1_000_000n, {}, { limitMicro: 1_000n, limitReset: 'daily' })
    const two = await bench.key(one.accountId, { limitMicro: 250n })
    await charge(bench, one, 600n)
    // Both limits are near.
    await charge(bench, two, 210n)
    const near = await addressed(bench)
    assert.deepEqual(
      near
        .map(({ notice }) => [notice.kind, notice.detail])
        .toSorted(([, one], [, other]) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
      [
        ['limit.near', { key: two.keyId, limit: 0.000_25, limit_reset: null, spent: 0.000_21 }],
        ['limit.near', { limit: 0.001, limit_reset: 'daily', spent: 0.000_81 }],
      ],
    )
    await charge(bench, one, 100n)
    await charge(bench, one, 90n)
    const [, , reached] = await addressed(bench)
    assert.deepEqual(reached?.notice.detail, { limit: 0.001, limit_reset: 'daily', spent: 0.001 })
    assert.equal(reached.notice.accountId, one.accountId)
    bench.clock.advance(DAY_MS)
    await charge(bench, one, 800n)
    assert.deepEqual(await told(bench), ['limit.near', 'limit.near', 'limit.reached', 'limit.near'])
    await bench.auditClean()
  })

  notices('a shortfall is told once a day and account, and the end of a job with its charge', async (bench) => {
    await channel(bench)
    const customer = await bench.customer(1_001n)
    const other = await bench.customer(5_000n)
    const id = await charge(bench, customer, 1_100n, 1n)
    await charge(bench, customer, 7n, 0n)
    assert.deepEqual((await told(bench)).toSorted(), ['balance.low', 'shortfall'])
    const shortfall = (await addressed(bench)).find(({ notice }) => notice.kind === 'shortfall')
    assert.deepEqual(shortfall?.notice.detail, { generation: id, model: 'openai/gpt-4o', shortfall: 0.000_099 })
    const job = await createJob(bench, other)
    await bench.ledger.settle({
      generationId: job.id,
      costMicro: 300n,
      providerCostMicro: 0n,
      insuredMicro: 0n,
      record: bench.record(other, job.id),
      job: move(job, { status: 'completed', completedAtMs: bench.clock.now() }),
    })
    const ended = (await addressed(bench)).find(({ notice }) => notice.kind === 'job.ended')
    assert.deepEqual([ended?.notice.accountId, ended?.notice.detail['status']], [other.accountId, 'completed'])
  })

  notices('an account hears of itself and what it chose; the operator of all that it chose', async (bench) => {
    const customer = await bench.customer(1_000n)
    const other = await bench.customer(1_000n)
    const own = await channel(bench, { accountId: customer.accountId, kinds: ['balance.low'] })
    // It may not have what is the operator's, whatever stands in its row.
    await channel(bench, { accountId: customer.accountId, kinds: ['shortfall'] })
    await channel(bench, { accountId: other.accountId })
    const off = await channel(bench, { enabled: false })
    const operator = await channel(bench)
    await charge(bench, customer, 1_050n, 1_000n)
    const sent = await addressed(bench)
    const to = sent.map((delivery) => `${delivery.notice.kind} ${delivery.channel.id}`)
    assert.deepEqual(
      to.toSorted(),
      [`balance.low ${own.id}`, `balance.low ${operator.id}`, `shortfall ${operator.id}`].toSorted(),
    )
    assert.deepEqual(
      (await bench.store.notices.deliveries({ accountId: customer.accountId, state: 'pending', limit: 5, offset: 0 }))
        .total,
      1,
    )
    assert.equal(
      (await bench.store.notices.changeChannel(null, off.id, { enabled: true, kinds: [], language: 'ru' }))?.language,
      'ru',
    )
    assert.equal(await bench.store.notices.changeChannel(other.accountId, off.id, { enabled: false }), null)
    assert.equal(await bench.store.notices.removeChannel(other.accountId, operator.id), false)
    assert.equal(await bench.store.notices.removeChannel(null, operator.id), true)
    assert.equal((await addressed(bench)).length, 1)
    assert.equal((await bench.store.notices.channels(null)).length, 1)
  })

  const test = (bench: Bench, subject: string | null = null): NewNotice => ({
    id: newId('ntc_'),
    kind: 'shortfall',
    accountId: null,
    subject,
    clearAtMicro: null,
    atMs: bench.clock.now(),
    detail: {},
  })

  notices('a message is taken by one, for a lease; what nobody finished is taken again', async (bench) => {
    const { store, clock } = bench
    const one = await channel(bench)
    for (let count = 0; count < 2; count += 1) assert.equal(await store.notices.raise(test(bench)), true)
    const take = (): Promise<readonly Delivery[]> => taken(bench)
    assert.deepEqual(await take(), [])
    assert.equal(await store.notices.address(clock.now()), 2)
    assert.equal(await store.notices.address(clock.now()), 0)
    const both = await Promise.all([take(), take()])
    const [mine] = both.flat()
    assert.equal(both.flat().length, 1, 'one message of a channel at a time, and one taker')
    assert.ok(mine !== undefined)
    clock.advance(LEASE_MS + 1)
    const [again] = await take()
    assert.ok(again !== undefined)
    assert.deepEqual([again.id, again.attempts], [mine.id, 2])
    await store.notices.ended(mine, { error: 'late', dueAtMs: null, restUntilMs: clock.now() + 10_000 }, clock.now())
    assert.deepEqual(await take(), [], 'the failure of an attempt whose lease is over ends nothing: another has it')
    assert.deepEqual(await store.notices.counts(), { pending: 2, sent: 0, dead: 0 })
    await store.notices.ended(again, { error: 'it answered 500', dueAtMs: clock.now() + 10_000 }, clock.now())
    const [second] = await take()
    assert.notEqual(second?.id, mine.id, 'one that waits for its next attempt holds nothing up')
    await store.notices.ended(second ?? assert.fail(), 'sent', clock.now())
    assert.deepEqual(await take(), [])
    clock.advance(10_001)
    const [third] = await take()
    assert.equal(third?.error, 'it answered 500')
    await store.notices.ended(third, { error: 'it answered 410', dueAtMs: null }, clock.now())
    assert.deepEqual(await store.notices.counts(), { pending: 0, sent: 1, dead: 1 })
    assert.equal(await store.notices.replay('acc_other', mine.id, clock.now()), null)
    assert.equal((await store.notices.replay(null, mine.id, clock.now()))?.state, 'pending')
    const [replayed] = await take()
    assert.ok(replayed !== undefined)
    assert.deepEqual([replayed.id, replayed.channel.id], [mine.id, one.id])
    await store.notices.releaseLost()
    const [released] = await take()
    assert.equal(released?.id, mine.id, 'a start of the embedded store waits for no lease of a dead process')
    await store.notices.ended(replayed, 'sent', clock.now())
    await store.notices.ended(released, { error: 'late', dueAtMs: clock.now() }, clock.now())
    assert.deepEqual(await take(), [], 'what a receiver took once is not sent again, whoever noted it')
  })

  notices(
    'a subject is told once until it is cleared; what is old goes, and a low balance stays known',
    async (bench) => {
      const { store, clock } = bench
      await channel(bench)
      const customer = await bench.customer(1_000n)
      await charge(bench, customer, 1n)
      assert.equal(await store.notices.raise(test(bench, 'rates')), true)
      assert.equal(await store.notices.raise(test(bench, 'rates')), false)
      await store.notices.clear('rates')
      assert.equal(await store.notices.raise(test(bench, 'rates')), true)
      for (const each of await addressed(bench)) await store.notices.ended(each, 'sent', clock.now())
      clock.advance(91 * DAY_MS)
      await store.notices.removeExpired(clock.now())
      assert.deepEqual(await told(bench), [])
      assert.equal(await store.notices.raise(test(bench, 'rates')), true)
      await bench.topUp(customer.accountId, 2n)
      await charge(bench, customer, 2n)
      assert.deepEqual(await told(bench), ['shortfall'])
    },
  )

  notices(
    "an account has two receivers at work, those that failed have their own room, and the operator's too",
    async (bench) => {
      const { store, clock } = bench
      const operator = await channel(bench, { kinds: ['balance.low'] })
      const customers = [await bench.customer(2_000n), await bench.customer(2_000n)]
      const names = new Map([[operator.id, 'operator']])
      for (const [index, { accountId }] of customers.entries())
        for (let count = 0; count < 3; count += 1)
          names.set((await channel(bench, { accountId, kinds: ['balance.low'] })).id, `account ${index}`)
      for (const customer of customers) await charge(bench, customer, 1_500n)
      assert.equal(await store.notices.address(clock.now()), 2)
      const of = (all: readonly Delivery[]): readonly string[] =>
        all.map((delivery) => names.get(delivery.channel.id) ?? '').toSorted()
      const first = await taken(bench)
      const each = ['account 0', 'account 0', 'account 1', 'account 1']
      assert.deepEqual(of(first), [...each, 'operator'])
      assert.deepEqual(
        of(await taken(bench)),
        [],
        'both are at work; the other message of the operator waits for the first',
      )
      const failed = first.filter(({ channel: { accountId } }) => accountId === customers[0]?.accountId)
      for (const each of failed)
        await store.notices.ended(
          each,
          { error: 'no answer', dueAtMs: clock.now(), restUntilMs: clock.now() + 10 },
          clock.now(),
        )
      assert.deepEqual(of(await taken(bench)), ['account 0'], 'the third of it, while the two rest')
      clock.advance(11)
      const room = { operator: 0, well: 9, troubled: 1 }
      const lanes = (await store.notices.take(room, clock.now(), clock.now() + LEASE_MS)).map(({ lane }) => lane)
      assert.deepEqual(lanes, ['troubled'], 'one is at work, and the lane has room for one')
    },
  )

  notices('what is only in memory is written as soon as the store takes it, once', async (bench) => {
    const { store, clock } = bench
    await channel(bench)
    let isDown = true
    let tries = 0
    const unwritten = new UnwrittenNotices(
      {
        raise: (notice) => {
          tries += 1
          return isDown ? Promise.reject(new StoreUnavailableError('It was cut off.')) : store.notices.raise(notice)
        },
      },
      clock,
    )
    const [one, other] = [test(bench, 'one'), test(bench, 'other')]
    for (const notice of [one, one, other]) unwritten.tell(notice)
    await until(20_000, 'it is tried again', () => {
      clock.advance(2_000)
      return tries > 2
    })
    assert.deepEqual(await told(bench), [])
    isDown = false
    await until(20_000, 'both are written', async () => {
      clock.advance(2_000)
      return (await told(bench)).length === 2
    })
    isDown = true
    unwritten.tell(test(bench, 'third'))
    isDown = false
    await unwritten.stop()
    assert.equal((await told(bench)).length, 3, 'a stop tries once more')
  })

  notices('receivers that hang keep neither the operator nor those that answer waiting', async (bench) => {
    const { store, clock } = bench
    const hanging = new Map<string, () => void>()
    const sent: string[] = []
    let random = 0
    const notifier = new Notifier({
      store: store.notices,
      clock,
      leads: () => true,
      random: () => (random = (random + 0.37) % 1),
      log: () => undefined,
      send: ({ channel: { id, target } }) =>
        target === 'hangs'
          ? new Promise((_resolve, reject) => {
              hanging.set(id, () => reject(new DeliveryError('no answer', { restMs: 10_000 })))
            })
          : Promise.resolve().then(() => {
              sent.push(target)
            }),
    })
    const pass = (what: string, done: () => boolean): Promise<unknown> =>
      until(20_000, what, () => {
        clock.advance(2_000)
        return done()
      })
    const low = async (target: string, count: number): Promise<void> => {
      const { accountId } = await bench.customer(1n)
      for (let made = 0; made < count; made += 1) await channel(bench, { accountId, kinds: ['balance.low'], target })
      await store.notices.raise({ ...test(bench), kind: 'balance.low', accountId })
    }
    for (let account = 0; account < 12; account += 1) await low('hangs', 2)
    notifier.start()
    await pass('the slots of those that are well are taken', () => hanging.size === 16)
    await channel(bench, { target: 'operator', kinds: ['balance.low'] })
    await low('fine', 1)
    await pass('the operator is told', () => sent.includes('operator'))
    assert.deepEqual(
      sent.filter((target) => target === 'fine'),
      [],
      'until the first ones have failed',
    )
    const failAll = (): void => {
      for (const fail of hanging.values()) fail()
      hanging.clear()
    }
    failAll()
    await pass('the account is told', () => sent.includes('fine'))
    await pass('the others hang, and so do those that have failed', () => hanging.size === 16)
    failAll()
    await pass('all have failed: they share the slots of those in trouble', () => hanging.size === 8)
    await low('quick', 1)
    await pass('another is told beside them', () => sent.includes('quick'))
    const stopped = notifier.stop()
    failAll()
    await stopped
  })
}
