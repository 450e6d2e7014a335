import assert from 'node:assert/strict'
import type { NewKeptResponse } from '../../src/store/responses/response-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, benchTests, type Customer, newId } from './ledger-fixture.ts'

const DAY_MS = 24 * 3_600_000
const ROOM = 1_000_000

/** What kept answers may rely on, on every store. */
export function responsesContract(open: () => Promise<Store>): void {
  const onBench = benchTests(open)
  const responses = (name: string, body: (bench: Bench, customer: Customer) => Promise<void>): void =>
    onBench(name, async (bench) => body(bench, await bench.customer(1_000n)))

  const added = async (
    bench: Bench,
    { accountId, keyId }: Customer,
    fields: Partial<NewKeptResponse> = {},
    bytesMax = ROOM,
  ): Promise<string> => {
    const row = {
      id: newId('gen-'),
      accountId,
      keyId,
      previousId: null,
      input: Buffer.from('asked'),
      answer: Buffer.from('so far'),
      createdAtMs: bench.clock.now(),
      ...fields,
    }
    await bench.store.responses.add(row, bytesMax)
    return row.id
  }
  const settle = (bench: Bench, customer: Customer, id: string): ReturnType<Bench['settle']> =>
    bench.ledger.settle({
      generationId: id,
      costMicro: 1_200n,
      providerCostMicro: 0n,
      insuredMicro: 0n,
      record: bench.record(customer, id),
      kept: { answer: (chargedMicro) => Buffer.from(`cost ${chargedMicro}`) },
    })
  const found = async (bench: Bench, { accountId }: Customer, id: string): Promise<unknown> => {
    const kept = await bench.store.responses.find({ accountId }, id, 0)
    return kept === null ? null : `${kept.state}: ${kept.answer.toString()}`
  }

  responses('the answer comes with its charge, made from what was charged, and once', async (bench, customer) => {
    const id = newId('gen-')
    await bench.hold(customer, 1_000n, id)
    await added(bench, customer, { id })
    assert.equal(await found(bench, customer, id), 'running: so far')
    const bytes = async (): Promise<number | undefined> =>
      (await bench.store.responses.turns({ accountId: customer.accountId }, id, 0))[0]?.bytes
    assert.equal(await bytes(), 'askedso far'.length)
    assert.equal((await settle(bench, customer, id)).status, 'settled')
    assert.equal(await found(bench, customer, id), 'ended: cost 1000')
    // What it replaces is counted no longer.
    assert.equal(await bytes(), 'askedcost 1000'.length)
    assert.equal((await settle(bench, customer, id)).status, 'replayed')
    await bench.store.responses.end(id, Buffer.from('failed'))
    await bench.store.responses.drop(id)
    assert.equal(await found(bench, customer, id), 'ended: cost 1000')
    assert.equal(await bench.store.responses.find({ accountId: 'another' }, id, 0), null)
  })

  responses('without a hold that is open it is lost; a late settle brings it after all', async (bench, customer) => {
    const [free, late] = [newId('gen-'), newId('gen-')]
    for (const id of [free, late]) {
      await bench.hold(customer, 10n, id)
      await added(bench, customer, { id })
    }
    await bench.void(customer, free)
    assert.equal(await found(bench, customer, free), 'lost: so far')
    bench.clock.advance(60_001)
    await new Bench(bench.store, bench.clock, 'node-2').ledger.sweep()
    assert.equal(await found(bench, customer, late), 'lost: so far')
    assert.equal((await settle(bench, customer, late)).status, 'settled_late')
    assert.equal(await found(bench, customer, late), 'ended: cost 1000')
    await bench.store.responses.end(free, Buffer.from('why'))
    assert.equal(await found(bench, customer, free), 'ended: why')
  })

  responses('what is marked or removed is to stop, by its own account and while it runs', async (bench, customer) => {
    const other = await bench.customer(1_000n)
    const store = bench.store.responses
    const [marked, removed, ended, going] = await Promise.all([1, 2, 3, 4].map(() => added(bench, customer)))
    assert.ok(marked && removed && ended && going)
    const ids = [marked, removed, ended, going, "'; --"]
    assert.deepEqual(await store.toStop(ids), ["'; --"])
    await store.end(ended, Buffer.from('ended'))
    assert.equal(await store.askToStop({ accountId: other.accountId }, marked), false)
    assert.deepEqual(
      [
        await store.askToStop({ accountId: customer.accountId }, marked),
        await store.askToStop({ accountId: customer.accountId }, marked),
        await store.askToStop({ accountId: customer.accountId }, ended),
        await store.remove({ accountId: customer.accountId }, removed, 0),
      ],
      [true, false, false, true],
    )
    assert.deepEqual(await store.toStop(ids), [marked, removed, "'; --"])
    await bench.hold(customer, 10n, marked)
    assert.equal(await found(bench, customer, marked), 'running: so far')
    await store.heeded([marked, ended, "'; --"])
    assert.equal(await found(bench, customer, marked), 'stopped: so far')
    assert.equal(await found(bench, customer, ended), 'ended: ended')
    await bench.void(customer, marked)
    assert.equal(await found(bench, customer, marked), 'lost: so far')
    assert.deepEqual(await store.toStop([]), [])
  })

  responses('a removed row stays removed when its charge comes', async (bench, customer) => {
    const id = newId('gen-')
    await bench.hold(customer, 10n, id)
    await added(bench, customer, { id })
    assert.equal(await bench.store.responses.remove({ accountId: 'another' }, id, 0), false)
    assert.equal(await bench.store.responses.remove({ accountId: customer.accountId }, id, 0), true)
    assert.equal((await settle(bench, customer, id)).status, 'settled')
    assert.equal(await found(bench, customer, id), null)
  })

  responses('a conversation is read from its first turn, within its account and its time', async (bench, customer) => {
    const other = await bench.customer(0n)
    const first = await added(bench, customer)
    bench.clock.advance(10)
    const second = await added(bench, customer, { previousId: first })
    const third = await added(bench, customer, { previousId: second, input: Buffer.from('third') })
    const ids = async (accountId: string, id: string, since = 0): Promise<readonly string[]> =>
      (await bench.store.responses.turns({ accountId }, id, since)).map((turn) => turn.id)
    assert.deepEqual(await ids(customer.accountId, third), [first, second, third])
    assert.deepEqual(await ids(customer.accountId, third, bench.clock.now() - 5), [second, third])
    assert.deepEqual(await ids(other.accountId, third), [])
    const stolen = await added(bench, other, { previousId: second })
    assert.deepEqual(await ids(other.accountId, stolen), [stolen])
    const contents = async (accountId: string, since = 0): Promise<readonly string[]> => {
      const ids = [third, first, stolen, 'gen-unknown', "'; --"]
      const found = await bench.store.responses.contents(accountId, ids, since)
      return found.map(({ id, input }) => `${id}: ${input.toString()}`).toSorted()
    }
    assert.deepEqual(await contents(customer.accountId), [`${first}: asked`, `${third}: third`].toSorted())
    assert.deepEqual(await contents(customer.accountId, bench.clock.now() - 5), [`${third}: third`])
    assert.deepEqual(await contents(other.accountId), [`${stolen}: asked`])
  })

  responses('an account keeps its newest within its room, and what runs', async (bench, customer) => {
    const kept: string[] = []
    const size = Buffer.alloc(100)
    const running = await added(bench, customer, { input: size }, 1_000)
    for (let turn = 0; turn < 12; turn += 1) {
      bench.clock.advance(1)
      const id = await added(bench, customer, { input: size }, 1_000)
      await bench.store.responses.end(id, Buffer.from('x'))
      kept.push(id)
    }
    const states = await Promise.all(kept.map(async (id) => (await found(bench, customer, id)) !== null))
    assert.deepEqual([states.at(0), states.at(-1)], [false, true])
    assert.ok(states.filter(Boolean).length >= 5)
    assert.equal(await found(bench, customer, running), 'lost: so far')
  })

  responses('what is older goes, a page at a time', async (bench, customer) => {
    const old = await Promise.all(Array.from({ length: 120 }, () => added(bench, customer)))
    for (const id of old.slice(1)) await bench.store.responses.end(id, Buffer.from('x'))
    bench.clock.advance(1_000)
    const young = await added(bench, customer)
    const untilMs = bench.clock.now() - 500
    await bench.store.responses.removeOlder(untilMs, bench.clock.now())
    const left = await Promise.all([...old, young].map((id) => found(bench, customer, id)))
    assert.deepEqual([left.filter((state) => state !== null).length, left[0]], [2, 'lost: so far'])
    await bench.store.responses.removeOlder(untilMs, bench.clock.now() + DAY_MS)
    assert.equal(await found(bench, customer, old[0] ?? ''), null)
    assert.equal(await found(bench, customer, young), 'lost: so far')
  })

  responses('everything is encrypted again', async (bench, customer) => {
    const ids = await Promise.all(Array.from({ length: 103 }, () => added(bench, customer)))
    await bench.store.responses.encryptAgain((purpose, encrypted) => Buffer.from(`${purpose} ${encrypted.toString()}`))
    for (const id of ids) {
      const kept = await bench.store.responses.find({ accountId: customer.accountId }, id, 0)
      assert.deepEqual(
        [kept?.input.toString(), kept?.answer.toString()],
        [`response input:${id} asked`, `response answer:${id} so far`],
      )
    }
  })
}
