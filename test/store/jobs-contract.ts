import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobMove, JobRow, JobState, NewJob } from '../../src/ledger/job.ts'
import type { Store } from '../../src/store/store.ts'
import { newJob } from './new-job.ts'
import { Bench, benchTests, type Customer, newId, NOON_MS, TestClock } from './ledger-fixture.ts'

const HOUR_MS = 3_600_000
function newVideo(customer: Customer, id: string, over: Partial<NewJob> = {}): NewJob {
  return newJob(customer, id, 300n, { nowMs: NOON_MS, ttlMs: HOUR_MS }, over)
}

export async function createJob(bench: Bench, customer: Customer, over: Partial<NewJob> = {}): Promise<JobRow> {
  const id = newId('gen-vid-')
  const job = newVideo(customer, id, over)
  const outcome = await bench.ledger.hold({
    generationId: id,
    accountId: customer.accountId,
    keyId: customer.keyId,
    amountMicro: job.holdMicro,
    priceVersion: 1,
    subject: { type: 'video', model: job.model, requestId: job.requestId, streamed: false },
    job,
  })
  assert.equal(outcome.status, 'held')
  const row = await bench.store.jobs.find(id)
  assert.ok(row)
  return row
}

export function move(row: JobRow, state: Partial<JobState>, keepsLease = false): JobMove {
  return { id: row.id, version: row.version, state: { ...row, ...state }, keepsLease }
}

const ENDED = (status: JobState['status']): Partial<JobState> => ({ status, completedAtMs: NOON_MS })

/** Jobs: created with their hold, moved by compare-and-set, ended with their money in one commit. */
export function jobsContract(open: () => Promise<Store>): void {
  const onBench = benchTests(open)
  const jobs = (name: string, body: (bench: Bench, customer: Customer) => Promise<void>): void =>
    onBench(name, async (bench) => body(bench, await bench.customer(1_000n)))

  jobs('a job and its hold are created in one commit; a refused hold creates no job', async (bench, customer) => {
    const row = await createJob(bench, customer)
    assert.deepEqual(
      { ...row, request: row.request.toString() },
      { ...newVideo(customer, row.id), request: 'encrypted', version: 1, leaseOwner: '', leaseUntilMs: 0 },
    )
    assert.deepEqual(await bench.money(customer.accountId), { available: 700n, held: 300n })
    const id = newId('gen-vid-')
    const refused = await bench.ledger.hold({
      generationId: id,
      accountId: customer.accountId,
      keyId: customer.keyId,
      amountMicro: 701n,
      priceVersion: 1,
      subject: { type: 'video', model: 'v/video', requestId: 'r', streamed: false },
      job: newVideo(customer, id, { holdMicro: 701n }),
    })
    assert.deepEqual(refused, { status: 'insufficient_balance', availableMicro: 700n })
    assert.equal(await bench.store.jobs.find(id), null)
  })

  jobs(
    'a job that completes is charged in the same commit, once; another move from the same version changes nothing',
    async (bench, customer) => {
      const row = await createJob(bench, customer)
      const done = move(row, ENDED('completed'))
      const settle = {
        generationId: row.id,
        costMicro: 300n,
        providerCostMicro: 200n,
        insuredMicro: 0n,
        record: bench.record(customer, row.id),
        job: done,
      }
      const outcomes = await Promise.all([
        bench.ledger.settle(settle),
        bench.ledger.settle(settle),
        bench.ledger.void({
          generationId: row.id,
          insuredMicro: 0n,
          record: { ...bench.record(customer, row.id), status: 'error' },
          job: move(row, ENDED('failed')),
        }),
      ])
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['settled', 'replayed', 'not_open'],
      )
      assert.equal((await bench.store.jobs.find(row.id))?.status, 'completed')
      assert.deepEqual(await bench.money(customer.accountId), { available: 700n, held: 0n })
    },
  )

  jobs('a move from an old version neither ends the job nor touches its money', async (bench, customer) => {
    const row = await createJob(bench, customer)
    const moved = await bench.store.jobs.move(move(row, { phase: 'sending' }))
    assert.equal(moved?.version, 2)
    assert.equal(await bench.store.jobs.move(move(row, { phase: 'ready' })), null)
    const late = await bench.ledger.void({
      generationId: row.id,
      insuredMicro: 0n,
      record: { ...bench.record(customer, row.id), status: 'error' },
      job: move(row, ENDED('cancelled')),
    })
    assert.deepEqual(late, { status: 'not_open', state: 'job_moved' })
    assert.deepEqual(await bench.money(customer.accountId), { available: 700n, held: 300n })
    const ended = await bench.ledger.void({
      generationId: row.id,
      insuredMicro: 0n,
      record: { ...bench.record(customer, row.id), status: 'error' },
      job: move(moved, ENDED('cancelled')),
    })
    assert.deepEqual(ended, { status: 'voided' })
    assert.deepEqual(await bench.money(customer.accountId), { available: 1_000n, held: 0n })
  })

  jobs(
    'one due job is claimed by one owner until the lease ends; what is not due or has ended is left alone',
    async (bench, customer) => {
      const rows = [
        await createJob(bench, customer),
        await createJob(bench, customer, { holdMicro: 1n, dueAtMs: NOON_MS - 5 }),
        await createJob(bench, customer, { holdMicro: 1n, dueAtMs: NOON_MS + 1 }),
      ]
      const claim = (owner: string, nowMs: number, limit = 10) =>
        bench.store.jobs.claim({ owner, nowMs, leaseUntilMs: nowMs + 60_000, limit })
      const claimed = (await Promise.all([claim('a', NOON_MS), claim('b', NOON_MS)])).flat()
      assert.equal(claimed.length, 2)
      assert.deepEqual(new Set(claimed.map(({ id }) => id)), new Set([rows[0]?.id, rows[1]?.id]))
      assert.deepEqual(await claim('c', NOON_MS + 1), [await bench.store.jobs.find(rows[2]?.id ?? '')])
      assert.deepEqual(await claim('c', NOON_MS + 59_000), [])
      await bench.store.jobs.renew(
        rows.map(({ id }) => id),
        claimed[0]?.leaseOwner ?? '',
        NOON_MS + 120_000,
      )
      const [first] = claimed
      assert.ok(first)
      assert.equal((await bench.store.jobs.find(first.id))?.leaseUntilMs, NOON_MS + 120_000)
      await bench.store.jobs.release('c')
      assert.equal((await bench.store.jobs.find(rows[2]?.id ?? ''))?.leaseOwner, '')
      await bench.store.jobs.release(null)
      assert.deepEqual(
        (await claim('d', NOON_MS, 1)).map(({ id }) => id),
        [rows[1]?.id],
      )
      assert.equal(await bench.store.jobs.nextDueMs(), NOON_MS - 5)
      for (const { id } of rows) {
        const row = await bench.store.jobs.find(id)
        assert.ok(row)
        await bench.ledger.void({
          generationId: id,
          insuredMicro: 0n,
          record: { ...bench.record(customer, id), status: 'error' },
          job: move(row, ENDED('failed')),
        })
      }
      assert.equal(await bench.store.jobs.nextDueMs(), null)
    },
  )

  jobs('a lease is kept through a move that says so, else given back', async (bench, customer) => {
    await createJob(bench, customer)
    const [row] = await bench.store.jobs.claim({ owner: 'a', nowMs: NOON_MS, leaseUntilMs: NOON_MS + 60_000, limit: 1 })
    assert.ok(row)
    const kept = await bench.store.jobs.move(move(row, { phase: 'sending' }, true))
    assert.deepEqual([kept?.leaseOwner, kept?.leaseUntilMs, kept?.phase], ['a', NOON_MS + 60_000, 'sending'])
    assert.ok(kept)
    const given = await bench.store.jobs.move(move(kept, { phase: 'parked', dueAtMs: NOON_MS + HOUR_MS }))
    assert.deepEqual([given?.leaseOwner, given?.leaseUntilMs], ['', 0])
    assert.deepEqual(
      (await bench.store.jobs.parked()).map(({ id }) => id),
      [row.id],
    )
  })

  jobs(
    'the hold of a live job is neither swept nor recovered, however long nobody has looked at it',
    async (bench, customer) => {
      const row = await createJob(bench, customer)
      await bench.hold(customer, 10n, newId('gen-'))
      const other = new Bench(bench.store, bench.clock, 'node-2')
      bench.clock.advance(30 * HOUR_MS)
      await other.ledger.sweep()
      assert.deepEqual((await bench.money(customer.accountId)).held >= 300n, true)
      assert.ok(!(await bench.store.ledger.openHolds(null)).some(({ id }) => id === row.id))
      await bench.auditClean()
    },
  )

  jobs('list: the jobs of the account in the order of their making, from any of them on', async (bench, customer) => {
    const other = await bench.customer(1_000n)
    const picture = Buffer.alloc(70_000, 1)
    const [first, second, twin] = [
      await createJob(bench, customer, { createdAtMs: NOON_MS, holdMicro: 1n }),
      await createJob(bench, customer, { createdAtMs: NOON_MS + 1, holdMicro: 1n, request: picture }),
      await createJob(bench, customer, { createdAtMs: NOON_MS + 1, holdMicro: 1n }),
    ]
    const foreign = await createJob(bench, other)
    const made = [first, ...[second, twin].toSorted((one, two) => (one.id < two.id ? -1 : 1))].map(({ id }) => id)
    const listed = async (after: string | null, ascending: boolean, limit = 5): Promise<readonly string[] | null> =>
      (await bench.store.jobs.list({ accountId: customer.accountId }, { limit, after, ascending }))?.map(
        ({ id }) => id,
      ) ?? null
    assert.deepEqual(await listed(null, true), made)
    assert.deepEqual(await listed(null, false), made.toReversed())
    assert.deepEqual(await listed(null, true, 1), [first.id])
    assert.deepEqual(await listed(made[1] ?? '', true), [made[2]])
    assert.deepEqual(await listed(made[1] ?? '', false), [first.id])
    assert.equal(await listed(foreign.id, true), null)
    assert.equal(await listed('gen-vid-none', true), null)
    const rows = await bench.store.jobs.list(
      { accountId: customer.accountId },
      { limit: 5, after: null, ascending: true },
    )
    assert.deepEqual(rows?.find(({ id }) => id === second.id)?.request.length, 0, 'pictures are not read for a list')
    assert.deepEqual((await bench.store.jobs.find(second.id))?.request, picture)
  })

  jobs('history: only completed jobs of the account, newest first, in pages', async (bench, customer) => {
    const stranger = await bench.customer(1_000n)
    const ids: string[] = []
    for (const [owner, index] of [
      [customer, 0],
      [customer, 1],
      [customer, 2],
      [stranger, 3],
    ] as const) {
      const row = await createJob(bench, owner, { holdMicro: 1n })
      await bench.ledger.settle({
        generationId: row.id,
        costMicro: 1n,
        providerCostMicro: 0n,
        insuredMicro: 0n,
        record: bench.record(owner, row.id),
        job: move(row, { status: 'completed', completedAtMs: NOON_MS + index }),
      })
      ids.push(row.id)
    }
    await createJob(bench, customer, { holdMicro: 1n })
    const page = await bench.store.jobs.completed({ accountId: customer.accountId }, { limit: 2, offset: 1 })
    assert.deepEqual([page.total, page.data.map(({ id }) => id)], [3, [ids[1], ids[0]]])
  })

  jobs('requests are encrypted again in place', async (bench, customer) => {
    const row = await createJob(bench, customer)
    await bench.store.jobs.encryptAgain((purpose, request) => Buffer.concat([Buffer.from(purpose), request]))
    assert.equal((await bench.store.jobs.find(row.id))?.request.toString(), `job:${row.id}encrypted`)
  })

  test('I21 tells a job whose money is not as its state says', async () => {
    const bench = new Bench(await open(), new TestClock(NOON_MS))
    const customer = await bench.customer(1_000n)
    const row = await createJob(bench, customer)
    await bench.ledger.void({ generationId: row.id, insuredMicro: 0n, record: null })
    const checks = await bench.store.audit.run({ sinceMs: 0, nowMs: bench.clock.now(), replay: async () => null })
    assert.deepEqual(
      checks.filter(({ violations }) => violations.length > 0).map(({ id }) => id),
      ['I21'],
    )
    await bench.ledger.stop()
    await bench.store.close()
  })
}
