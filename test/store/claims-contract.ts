import { answerPurpose } from '../../src/store/idempotency/idempotency-store.ts'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { NewClaim } from '../../src/store/idempotency/idempotency-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, benchTests, type Customer, newId } from './ledger-fixture.ts'

const DAY_MS = 24 * 3_600_000

/** Guarantees of Idempotency-Keys, on every store. */
export function claimsContract(open: () => Promise<Store>): void {
  const onBench = benchTests(open)
  const claims = (name: string, body: (bench: Bench, customer: Customer) => Promise<void>): void =>
    onBench(name, async (bench) => body(bench, await bench.customer(1_000n)))

  const claimOf = (bench: Bench, { accountId }: Customer, fields: Partial<NewClaim> = {}): NewClaim => {
    const atMs = fields.atMs ?? bench.clock.now()
    return {
      id: 'key-1',
      accountId,
      requestDigest: 'body-1',
      generationId: newId('gen-'),
      atMs,
      expiresAtMs: atMs + DAY_MS,
      ...fields,
    }
  }
  const settle = (
    bench: Bench,
    customer: Customer,
    { id, generationId }: NewClaim,
    answer: Buffer | null = Buffer.from('kept'),
  ): ReturnType<Bench['settle']> =>
    bench.ledger.settle({
      generationId,
      costMicro: 7n,
      providerCostMicro: 0n,
      insuredMicro: 0n,
      record: bench.record(customer, generationId),
      claim: { id, answer: () => answer },
    })

  claims(
    'of a hundred that claim a key at once one has it, and the others learn whose it is',
    async (bench, customer) => {
      const wanted = Array.from({ length: 100 }, () => claimOf(bench, customer))
      const outcomes = await Promise.all(wanted.map((claim) => bench.store.idempotency.claim(claim)))
      const winner = wanted[outcomes.findIndex(({ status }) => status === 'claimed')]
      assert.equal(outcomes.filter(({ status }) => status === 'claimed').length, 1)
      assert.equal(
        outcomes.filter((outcome) => outcome.status === 'running' && outcome.generationId === winner?.generationId)
          .length,
        99,
      )
      assert.deepEqual(await bench.store.idempotency.claim(claimOf(bench, customer, { requestDigest: 'body-2' })), {
        status: 'other_request',
      })
      assert.deepEqual(
        await bench.store.idempotency.claim(claimOf(bench, customer, { id: 'key-2', requestDigest: 'body-2' })),
        { status: 'claimed' },
      )
    },
  )

  claims(
    'the charge ends the claim with its answer, made from what was charged, in one commit',
    async (bench, customer) => {
      const claim = claimOf(bench, customer)
      await bench.store.idempotency.claim(claim)
      await bench.hold(customer, 1_000n, claim.generationId)
      const outcome = await bench.ledger.settle({
        generationId: claim.generationId,
        costMicro: 1_200n,
        providerCostMicro: 0n,
        insuredMicro: 0n,
        record: bench.record(customer, claim.generationId),
        claim: { id: claim.id, answer: (chargedMicro) => Buffer.from(`cost ${chargedMicro}`) },
      })
      assert.deepEqual(outcome, { status: 'settled', chargedMicro: 1_000n, shortfallMicro: 200n })
      assert.deepEqual(await bench.store.idempotency.claim(claimOf(bench, customer)), {
        status: 'ended',
        generationId: claim.generationId,
        model: 'openai/gpt-4o',
        answer: Buffer.from('cost 1000'),
      })
      assert.equal((await settle(bench, customer, claim)).status, 'replayed')
      await bench.store.idempotency.release(claim.id, claim.generationId)
      assert.equal((await bench.store.idempotency.claim(claimOf(bench, customer))).status, 'ended')
    },
  )

  claims('a day later the key is free', async (bench, customer) => {
    const claim = claimOf(bench, customer)
    await bench.store.idempotency.claim(claim)
    await bench.hold(customer, 10n, claim.generationId)
    await settle(bench, customer, claim, null)
    bench.clock.advance(DAY_MS - 1)
    assert.deepEqual(await bench.store.idempotency.claim(claimOf(bench, customer)), {
      status: 'ended',
      generationId: claim.generationId,
      model: 'openai/gpt-4o',
      answer: null,
    })
    bench.clock.advance(1)
    const next = claimOf(bench, customer, { requestDigest: 'body-2' })
    assert.equal((await bench.store.idempotency.claim(next)).status, 'claimed')
    await bench.store.idempotency.removeExpired(bench.clock.now())
    assert.deepEqual(await bench.store.idempotency.claim(claimOf(bench, customer, { requestDigest: 'body-2' })), {
      status: 'running',
      generationId: next.generationId,
    })
  })

  claims(
    'a request that ends free gives the key up; a hold that may still be charged keeps it',
    async (bench, customer) => {
      const claim = claimOf(bench, customer)
      await bench.store.idempotency.claim(claim)
      await bench.hold(customer, 10n, claim.generationId)
      await bench.store.idempotency.release(claim.id, claim.generationId)
      assert.equal((await bench.store.idempotency.claim(claimOf(bench, customer))).status, 'running')
      await bench.void(customer, claim.generationId)
      await bench.store.idempotency.release(claim.id, newId('gen-'))
      await bench.store.idempotency.release(claim.id, claim.generationId)
      assert.equal(
        (await bench.store.idempotency.claim(claimOf(bench, customer, { requestDigest: 'body-2' }))).status,
        'claimed',
      )
    },
  )

  claims(
    'a void that the process did not live to follow with a release frees the key all the same',
    async (bench, customer) => {
      const claim = claimOf(bench, customer)
      await bench.store.idempotency.claim(claim)
      await bench.hold(customer, 10n, claim.generationId)
      await bench.void(customer, claim.generationId)
      const again = claimOf(bench, customer)
      assert.equal((await bench.store.idempotency.claim(again)).status, 'claimed')
      await bench.store.idempotency.release(claim.id, claim.generationId)
      assert.deepEqual(await bench.store.idempotency.claim(claimOf(bench, customer)), {
        status: 'running',
        generationId: again.generationId,
      })
    },
  )

  claims('a process that died between claim and hold is given a minute', async (bench, customer) => {
    const claim = claimOf(bench, customer)
    await bench.store.idempotency.claim(claim)
    bench.clock.advance(59_999)
    assert.equal((await bench.store.idempotency.claim(claimOf(bench, customer))).status, 'running')
    bench.clock.advance(1)
    const next = claimOf(bench, customer)
    assert.equal((await bench.store.idempotency.claim(next)).status, 'claimed')
    // It was only slow: its hold is not charged.
    await bench.hold(customer, 10n, claim.generationId)
    assert.deepEqual(await settle(bench, customer, claim), { status: 'not_open', state: 'claim_lost' })
    await bench.void(customer, claim.generationId)
    assert.deepEqual(await bench.money(customer.accountId), { available: 1_000n, held: 0n })
  })

  claims(
    'the lease of a hold is the lease of its key: whoever takes it over leaves the dead one nothing to charge',
    async (bench, customer) => {
      const claim = claimOf(bench, customer)
      await bench.store.idempotency.claim(claim)
      await bench.hold(customer, 10n, claim.generationId)
      const other = new Bench(bench.store, bench.clock, 'node-2')
      bench.clock.advance(60_001)
      assert.equal((await bench.store.idempotency.claim(claimOf(bench, customer))).status, 'running')
      await other.ledger.sweep()
      const next = claimOf(bench, customer)
      assert.equal((await bench.store.idempotency.claim(next)).status, 'claimed')
      await bench.hold(customer, 10n, next.generationId)
      const outcomes = await Promise.all([settle(bench, customer, claim), settle(bench, customer, next)])
      assert.deepEqual(
        outcomes.map((outcome) => ('state' in outcome ? outcome.state : outcome.status)),
        ['claim_lost', 'settled'],
      )
      assert.deepEqual(await bench.money(customer.accountId), { available: 993n, held: 0n })
    },
  )

  claims('without another request a hold that expired is still settled late, with its key', async (bench, customer) => {
    const claim = claimOf(bench, customer)
    await bench.store.idempotency.claim(claim)
    await bench.hold(customer, 10n, claim.generationId)
    bench.clock.advance(60_001)
    await new Bench(bench.store, bench.clock, 'node-2').ledger.sweep()
    assert.equal((await settle(bench, customer, claim)).status, 'settled_late')
    assert.equal((await bench.store.idempotency.claim(claimOf(bench, customer))).status, 'ended')
  })

  claims(
    'what a dead process left running is given up at the start, but for what was charged or may be',
    async (bench, customer) => {
      const [lost, held, charged] = [
        claimOf(bench, customer, { id: 'a' }),
        claimOf(bench, customer, { id: 'b' }),
        claimOf(bench, customer, { id: 'c' }),
      ]
      for (const claim of [lost, held, charged]) await bench.store.idempotency.claim(claim)
      for (const claim of [held, charged]) await bench.hold(customer, 10n, claim.generationId)
      await settle(bench, customer, charged)
      await bench.store.idempotency.releaseLost()
      const again = await Promise.all(
        ['a', 'b', 'c'].map((id) => bench.store.idempotency.claim(claimOf(bench, customer, { id }))),
      )
      assert.deepEqual(
        again.map(({ status }) => status),
        ['claimed', 'running', 'ended'],
      )
      await bench.store.idempotency.removeExpired(bench.clock.now() + 2 * DAY_MS)
      assert.equal((await bench.store.idempotency.claim(claimOf(bench, customer, { id: 'b' }))).status, 'running')
      await bench.void(customer, held.generationId)
    },
  )

  claims('stored answers are encrypted again one by one', async (bench, customer) => {
    const wanted = Array.from({ length: 130 }, () => claimOf(bench, customer, { id: randomBytes(16).toString('hex') }))
    await Promise.all(wanted.map((claim) => bench.store.idempotency.claim(claim)))
    for (const [index, { id, generationId }] of wanted.entries())
      await bench.store.idempotency.end(id, generationId, index === 0 ? null : Buffer.from(`old ${id}`))
    await bench.store.idempotency.encryptAgain((purpose, answer) => Buffer.from(`${answer.toString()} ${purpose}`))
    for (const [index, claim] of wanted.entries()) {
      const answer = index === 0 ? null : Buffer.from(`old ${claim.id} ${answerPurpose(claim.id, claim.generationId)}`)
      assert.deepEqual(await bench.store.idempotency.claim(claimOf(bench, customer, { id: claim.id })), {
        status: 'ended',
        generationId: claim.generationId,
        model: null,
        answer,
      })
    }
  })

  claims(
    'the bytes that are kept for an account are known, until the hour in which they expire is over',
    async (bench, customer) => {
      const { idempotency } = bench.store
      const other = await bench.customer(1_000n)
      const nowMs = bench.clock.now()
      const wanted = [customer, customer, customer, other].map((owner, index) =>
        claimOf(bench, owner, { id: `sized-${index}`, expiresAtMs: nowMs + (index === 1 ? 2 : 1) * DAY_MS }),
      )
      for (const claim of wanted) await idempotency.claim(claim)
      const [charged, job, none, foreign] = wanted
      if (charged === undefined || job === undefined || none === undefined || foreign === undefined) return
      await bench.hold(customer, 10n, charged.generationId)
      assert.equal((await settle(bench, customer, charged, randomBytes(1_000))).status, 'settled')
      await idempotency.end(job.id, job.generationId, randomBytes(500))
      await idempotency.end(none.id, none.generationId, null)
      await idempotency.end(job.id, job.generationId, randomBytes(500))
      await idempotency.end(foreign.id, foreign.generationId, randomBytes(70))
      const kept = (atMs: number): Promise<number> => idempotency.keptBytes(customer.accountId, atMs)
      assert.deepEqual([await kept(nowMs), await kept(nowMs + DAY_MS + 3_600_000)], [1_500, 500])
      assert.equal(await idempotency.keptBytes(other.accountId, nowMs), 70)
      await idempotency.removeExpired(nowMs + DAY_MS + 3_600_000)
      assert.equal(await kept(nowMs), 500)
    },
  )
}
