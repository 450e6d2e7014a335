import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { randomIds } from '../../src/base/ids.ts'
import type { Clock } from '../../src/base/clock.ts'
import type { Micro } from '../../src/base/money.ts'
import { LOST_FIELDS, type GenerationRecord } from '../../src/ledger/generation-record.ts'
import type { LimitReset } from '../../src/ledger/ledger-store.ts'
import { Ledger, type LedgerPorts } from '../../src/ledger/ledger.ts'
import { periodStarts } from '../../src/ledger/period.ts'
import type { Store } from '../../src/store/store.ts'

const ids = randomIds()

/** A clock that stands still until a test moves it; `after` runs due tasks. */
export class TestClock implements Clock {
  #nowMs: number
  #timers: { readonly dueMs: number; readonly task: () => void }[] = []

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#nowMs
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, task }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  advance(ms: number): void {
    this.#nowMs += ms
    const due = this.#timers.filter((timer) => timer.dueMs <= this.#nowMs)
    this.#timers = this.#timers.filter((timer) => timer.dueMs > this.#nowMs)
    for (const timer of due) timer.task()
  }
}

export const NOON_MS = Date.UTC(2026, 10, 18, 12)

export function newId(prefix: string): string {
  return `${prefix}${ids.letters(20)}`
}

export interface Customer {
  readonly accountId: string
  readonly keyId: string
  readonly digest: Buffer
}

interface AccountTerms {
  readonly limitMicro?: Micro
  readonly limitReset?: LimitReset
}

interface KeyTerms {
  readonly limitMicro?: Micro
  readonly limitReset?: LimitReset
  readonly expiresAtMs?: number
  readonly madeBy?: { readonly userId: string; readonly month: string }
}

/** An open store with a ledger, and the calls that tests use most. */
export class Bench<C extends Clock = TestClock> {
  readonly store: Store
  readonly clock: C
  readonly ledger: Ledger

  constructor(
    store: Store,
    clock: C,
    node = 'node-1',
    more: Pick<LedgerPorts, 'journal' | 'notice' | 'commitSpacingMs' | 'nodes' | 'lowBalanceMicro'> = {},
  ) {
    this.store = store
    this.clock = clock
    this.ledger = new Ledger({
      store: store.ledger,
      clock,
      node,
      timezone: () => 'UTC',
      singleProcess: store.kind === 'embedded',
      ...more,
    })
  }

  async customer(balanceMicro: Micro, key: KeyTerms = {}, account: AccountTerms = {}): Promise<Customer> {
    const accountId = newId('acc_')
    await this.store.accounts.create({
      id: accountId,
      name: 'test',
      email: null,
      defaultModel: null,
      rateLimit: null,
      createdAtMs: this.clock.now(),
      ...account,
    })
    const customer = await this.key(accountId, key)
    if (balanceMicro > 0n) await this.topUp(accountId, balanceMicro)
    return customer
  }

  /** One more key of an account. */
  async key(accountId: string, key: KeyTerms = {}): Promise<Customer> {
    const keyId = newId('key_')
    const digest = createHash('sha256').update(keyId).digest()
    await this.store.keys.create({
      id: keyId,
      accountId,
      name: 'backend',
      digest,
      label: 'sk-tg-…abcd',
      limitMicro: key.limitMicro ?? null,
      limitReset: key.limitReset ?? null,
      expiresAtMs: key.expiresAtMs ?? null,
      allowedModels: null,
      createdAtMs: this.clock.now(),
      ...(key.madeBy === undefined ? {} : { madeBy: key.madeBy }),
    })
    return { accountId, keyId, digest }
  }

  async topUp(accountId: string, amountMicro: Micro): Promise<void> {
    const outcome = await this.store.entries.post({
      accountId,
      kind: 'topup',
      amountMicro,
      reason: 'test',
      reference: newId('pay_'),
      actor: 'test',
      atMs: this.clock.now(),
    })
    assert.equal(outcome.status, 'created')
  }

  hold(customer: Customer, amountMicro: Micro, generationId = newId('gen-')): ReturnType<Ledger['hold']> {
    return this.ledger.hold({
      generationId,
      accountId: customer.accountId,
      keyId: customer.keyId,
      amountMicro,
      priceVersion: 1,
      subject: { type: 'chat', model: 'openai/gpt-4o', requestId: `req-${generationId}`, streamed: false },
    })
  }

  settle(customer: Customer, generationId: string, costMicro: Micro): ReturnType<Ledger['settle']> {
    return this.ledger.settle({
      generationId,
      costMicro,
      providerCostMicro: costMicro / 2n,
      insuredMicro: 0n,
      record: this.record(customer, generationId),
    })
  }

  void(customer: Customer, generationId: string, insuredMicro = 0n): ReturnType<Ledger['void']> {
    return this.ledger.void({
      generationId,
      insuredMicro,
      record: { ...this.record(customer, generationId), status: 'error', billingBasis: 'free' },
    })
  }

  async money(accountId: string): Promise<{ available: Micro; held: Micro }> {
    const account = await this.store.accounts.get(accountId)
    assert.ok(account)
    return { available: account.availableMicro, held: account.heldMicro }
  }

  async spend(customer: Customer): ReturnType<Bench['spendAt']> {
    return this.spendAt(customer, this.clock.now())
  }

  async spendAt(
    customer: Customer,
    atMs: number,
  ): Promise<{ total: Micro; day: Micro; week: Micro; month: Micro; held: Micro }> {
    const found = await this.store.keys.get(customer.keyId, periodStarts(atMs, 'UTC'))
    assert.ok(found)
    const { totalMicro, dayMicro, weekMicro, monthMicro, heldMicro } = found.spend
    return { total: totalMicro, day: dayMicro, week: weekMicro, month: monthMicro, held: heldMicro }
  }

  /** Fails the test with the names of all violated invariants. A replayed charge is the cost in the record. */
  async auditClean(): Promise<void> {
    const checks = await this.store.audit.run({
      sinceMs: 0,
      nowMs: this.clock.now(),
      replay: async (row) => ({
        costMicro: row.costMicro + row.shortfallMicro,
        providerCostMicro: row.providerCostMicro,
      }),
    })
    assert.ok(checks.length >= 16)
    assert.deepEqual(
      checks.flatMap((check) => check.violations.map((violation) => `${check.id} ${violation}`)),
      [],
    )
  }

  record(customer: Customer, generationId: string): GenerationRecord {
    const createdAtMs = this.clock.now()
    return {
      ...LOST_FIELDS,
      generationId,
      accountId: customer.accountId,
      keyId: customer.keyId,
      requestId: `req-${generationId}`,
      type: 'chat',
      model: 'openai/gpt-4o',
      providerSlug: 'openai',
      providerName: 'OpenAI',
      endpointId: 'openai/gpt-4o',
      status: 'completed',
      errorType: null,
      finishReason: 'stop',
      nativeFinishReason: 'stop',
      usage: { input: 10, output: 5 },
      inputTokens: 10,
      outputTokens: 5,
      billingBasis: 'provider_usage',
      priceVersion: 1,
      streamed: false,
      attempts: 1,
      latencyMs: 10,
      durationMs: 20,
      createdAtMs,
    }
  }
}

export type BenchTest = (name: string, body: (bench: Bench) => Promise<void>) => void

/** Makes tests with a fresh store each, whose books are audited afterwards. */
export function benchTests(open: () => Promise<Store>, more: Pick<LedgerPorts, 'lowBalanceMicro'> = {}): BenchTest {
  return (name, body) =>
    test(name, async () => {
      const bench = new Bench(await open(), new TestClock(NOON_MS), 'node-1', more)
      try {
        await body(bench)
        await bench.auditClean()
      } finally {
        await bench.ledger.stop()
        await bench.store.close()
      }
    })
}
