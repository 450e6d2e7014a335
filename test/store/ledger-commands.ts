import assert from 'node:assert/strict'
import fc from 'fast-check'
import { accountLimit } from '../../src/api/records/limits-body.ts'
import type { LimitReset } from '../../src/ledger/ledger-store.ts'
import { rubles } from '../../src/base/money.ts'
import type { LedgerModel, Operation, Payment } from './ledger-model.ts'
import type { Bench } from './ledger-fixture.ts'
import { booksOf, run, type Nodes } from './ledger-together.ts'

type Command = fc.AsyncCommand<LedgerModel, Nodes>
type Play = (model: LedgerModel, nodes: Nodes) => Promise<void>
/** An operation before its subject is known: `pick` is an index into the ids used so far. */
type Wish =
  | { readonly op: 'hold'; readonly customer: number; readonly amount: bigint }
  | { readonly op: 'settle'; readonly pick: number; readonly units: number }
  | { readonly op: 'void'; readonly pick: number; readonly insured: bigint }
  | { readonly op: 'pay'; readonly customer: number; readonly kind: Payment['kind']; readonly amount: bigint }
  | { readonly op: 'again'; readonly pick: number }

const CUSTOMERS = 3
const RESETS: readonly (LimitReset | null)[] = [null, 'daily', 'weekly', 'monthly']
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

class Step implements Command {
  readonly #name: string
  readonly #play: Play

  constructor(name: string, play: Play) {
    this.#name = name
    this.#play = play
  }

  check(): boolean {
    return true
  }

  run(model: LedgerModel, nodes: Nodes): Promise<void> {
    return this.#play(model, nodes)
  }

  toString(): string {
    return this.#name
  }
}

const customer = fc.nat(CUSTOMERS - 1)
const amount = fc.bigInt(0n, 60n)
const positive = fc.bigInt(1n, 80n)
const pick = fc.nat(40)
const node = fc.nat(7)
const holdWish = fc.record({ op: fc.constant('hold'), customer, amount })
const settleWish = fc.record({ op: fc.constant('settle'), pick, units: fc.nat(50) })
const voidWish = fc.record({ op: fc.constant('void'), pick, insured: fc.bigInt(0n, 3n) })
const payWish = fc.record({
  op: fc.constant('pay'),
  customer,
  kind: fc.constantFrom<Payment['kind'][]>('topup', 'refund'),
  amount: positive,
})
const adjustWish = fc.record({
  op: fc.constant('pay'),
  customer,
  kind: fc.constant<Payment['kind']>('adjustment'),
  amount: fc.bigInt(-40n, 40n).filter((value) => value !== 0n),
})
const againWish = fc.record({ op: fc.constant('again'), pick })

/** The commands of guarantees.md 3.4: actions of operators, clients, time and crashes on the books. */
export const COMMANDS: readonly fc.Arbitrary<Command>[] = [
  fc.tuple(holdWish, node).map(([wish, at]) => alone('reserve', wish, at)),
  fc.tuple(holdWish, node).map(([wish, at]) => alone('reserve', wish, at)),
  fc.tuple(settleWish, node).map(([wish, at]) => alone('settle', wish, at)),
  fc.tuple(voidWish, node).map(([wish, at]) => alone('void', wish, at)),
  node.map((at) => new Step(`expire on node ${at}`, (model, nodes) => sweep(model, nodes, at))),
  fc
    .tuple(pick, fc.nat(50), node)
    .map(
      ([chosen, units, at]) =>
        new Step(`late settle ${chosen} of ${units}`, (model, nodes) => lateSettle(model, nodes, chosen, units, at)),
    ),
  fc.tuple(payWish, node).map(([wish, at]) => alone('pay', wish, at)),
  fc.tuple(adjustWish, node).map(([wish, at]) => alone('adjust', wish, at)),
  fc
    .tuple(customer, fc.option(amount), fc.constantFrom(...RESETS), node)
    .map(
      ([whose, limit, reset, at]) =>
        new Step(`limit of ${whose} becomes ${limit} ${reset}`, (model, nodes) =>
          run(model, nodes, [{ operation: { op: 'limit', customer: whose, limit, reset }, at }]),
        ),
    ),
  fc
    .tuple(customer, fc.option(amount), fc.constantFrom(...RESETS), node)
    .map(
      ([whose, limit, reset, at]) =>
        new Step(`limit of account ${whose} becomes ${limit} ${reset}`, (model, nodes) =>
          run(model, nodes, [{ operation: { op: 'limit', ofAccount: true, customer: whose, limit, reset }, at }]),
        ),
    ),
  fc
    .tuple(customer, fc.constantFrom('disable', 'enable', 'delete'), fc.nat(9))
    .map(
      ([whose, what, rarely]) =>
        new Step(`${what} key ${whose}`, (model, nodes) =>
          revoke(model, nodes, whose, what === 'delete' && rarely > 0 ? 'disable' : what),
        ),
    ),
  fc
    .constantFrom(1_000, MINUTE_MS / 2, MINUTE_MS + 1, DAY_MS / 2, DAY_MS, 8 * DAY_MS, 31 * DAY_MS)
    .map((ms) => new Step(`${ms} ms pass`, (model, nodes) => pass(model, nodes, ms))),
  fc.bigInt(0n, 3n).map((price) => new Step(`a unit costs ${price}`, async (model) => void model.prices.push(price))),
  fc.tuple(againWish, node).map(([wish, at]) => alone('repeat', wish, at)),
  node.map((at) => new Step(`renew on node ${at}`, (model, nodes) => renew(model, nodes, at))),
  fc.constant(new Step('audit', auditAll)),
  fc
    .array(fc.tuple(fc.oneof(holdWish, holdWish, settleWish, settleWish, voidWish, payWish, againWish), node), {
      minLength: 2,
      maxLength: 6,
    })
    .map(
      (wishes) =>
        new Step(`together: ${fc.stringify(wishes)}`, (model, nodes) =>
          run(
            model,
            nodes,
            wishes.map(([wish, at]) => ({ operation: resolved(wish, model), at })),
          ),
        ),
    ),
]

function alone(name: string, wish: Wish, at: number): Command {
  return new Step(`${name} on node ${at}: ${fc.stringify(wish)}`, (model, nodes) =>
    run(model, nodes, [{ operation: resolved(wish, model), at }]),
  )
}

let made = 0

/** The operation of a wish at the moment; null if it has no subject. */
function resolved(wish: Wish, model: LedgerModel): Operation | null {
  switch (wish.op) {
    case 'hold':
      made += 1
      return { op: 'hold', id: `gen-${made}`, customer: wish.customer, amount: wish.amount }
    case 'pay':
      made += 1
      return {
        op: 'pay',
        payment: { customer: wish.customer, kind: wish.kind, amount: wish.amount, reference: `ref-${made}` },
      }
    case 'settle':
    case 'void': {
      const id = model.ids.length === 0 ? undefined : model.ids[wish.pick % model.ids.length]
      if (id === undefined) return null
      return wish.op === 'settle' ? { op: 'settle', id, units: wish.units } : { op: 'void', id, insured: wish.insured }
    }
    case 'again':
      return repeated(wish.pick, model)
  }
}

/** An earlier hold, end or payment, requested again. */
function repeated(chosen: number, model: LedgerModel): Operation | null {
  const holds: readonly Operation[] = [...model.holds].flatMap(
    ([id, { customer: whose, amount: held, state }]): Operation[] => [
      { op: 'hold', id, customer: whose, amount: held },
      ...(state === 'settled' || state === 'settled_late' ? [{ op: 'settle' as const, id, units: 1 }] : []),
      ...(state === 'voided' ? [{ op: 'void' as const, id, insured: 2n }] : []),
    ],
  )
  const payments = [...model.payments.values()].map((payment): Operation => ({
    op: 'pay',
    payment: chosen % 5 === 0 ? { ...payment, amount: payment.amount + 1n } : payment,
  }))
  const all = [...holds, ...payments]
  return all[chosen % Math.max(1, all.length)] ?? null
}

async function sweep(model: LedgerModel, nodes: Nodes, at: number): Promise<void> {
  const index = at % nodes.benches.length
  await nodes.benches[index]?.ledger.sweep()
  for (const id of model.holds.keys()) if (nodes.running[index]?.has(id) !== true) model.apply({ op: 'expire', id })
  await checkBooks(model, nodes)
}

/** The first hold whose lease is over, settled late. */
async function lateSettle(model: LedgerModel, nodes: Nodes, chosen: number, units: number, at: number): Promise<void> {
  const expired = [...model.holds].filter(([, { state }]) => state === 'expired')
  const [id] = expired[chosen % Math.max(1, expired.length)] ?? []
  if (id !== undefined) await run(model, nodes, [{ operation: { op: 'settle', id, units }, at }])
}

async function revoke(model: LedgerModel, { benches, customers }: Nodes, whose: number, what: string): Promise<void> {
  const [bench] = benches
  const key = model.keys[whose]
  const { keyId = '' } = customers[whose] ?? {}
  assert.ok(bench && key)
  if (what === 'delete') await bench.store.keys.delete(keyId)
  else await bench.store.keys.update(keyId, { disabled: what === 'disable' }, bench.ledger.periods(bench.clock.now()))
  if (what === 'delete') key.deleted = true
  else if (!key.deleted) key.disabled = what === 'disable'
}

async function pass(model: LedgerModel, { benches }: Nodes, ms: number): Promise<void> {
  // All nodes share the clock.
  benches[0]?.clock.advance(ms)
  model.nowMs += ms
}

async function renew(model: LedgerModel, nodes: Nodes, at: number): Promise<void> {
  const index = at % nodes.benches.length
  await nodes.benches[index]?.ledger.renew()
  for (const id of nodes.running[index] ?? []) {
    const hold = model.holds.get(id)
    if (hold !== undefined && hold.state === 'open') hold.leaseMs = model.nowMs + MINUTE_MS
  }
}

/** The books contain everything that the model knows, and pass their audit. */
export async function auditAll(model: LedgerModel, nodes: Nodes): Promise<void> {
  await checkBooks(model, nodes)
  const [bench] = nodes.benches
  assert.ok(bench)
  const checks = await bench.store.audit.run({
    sinceMs: 0,
    nowMs: bench.clock.now(),
    replay: async (row) => ({
      costMicro: BigInt(row.usage.output ?? 0) * (model.prices[row.priceVersion] ?? -1n),
      providerCostMicro: row.providerCostMicro,
    }),
  })
  // Here only this command sweeps.
  assert.deepEqual(
    checks.flatMap(({ id, violations }) => (id === 'I10' ? [] : violations.map((violation) => `${id} ${violation}`))),
    [],
  )
  for (const [index, owner] of nodes.customers.entries()) {
    await checkAccountLimit(model, bench, index, owner.accountId)
    if (model.keys[index]?.deleted === true) continue
    const spend = await bench.spend(owner)
    const at = (reset: LimitReset | null): bigint => model.spentIn(index, model.nowMs, reset)
    assert.deepEqual(spend, {
      total: at(null),
      day: at('daily'),
      week: at('weekly'),
      month: at('monthly'),
      held: model.held(index),
    })
  }
}

/** What an account's row has counted is what its key has spent in that period. */
async function checkAccountLimit(model: LedgerModel, bench: Bench, index: number, accountId: string): Promise<void> {
  const account = await bench.store.accounts.get(accountId)
  const limited = model.accounts[index]
  assert.ok(account && limited)
  const now = { periods: bench.ledger.periods(bench.clock.now()), atMs: bench.clock.now(), timezone: 'UTC' }
  const { limit, limit_reset: reset, limit_used: used } = accountLimit(account, now)
  assert.deepEqual(
    { limit, reset, used },
    limited.limit === null
      ? { limit: null, reset: null, used: null }
      : {
          limit: rubles(limited.limit),
          reset: limited.reset,
          used: rubles(model.spentIn(index, model.nowMs, limited.reset)),
        },
  )
}

async function checkBooks(model: LedgerModel, nodes: Nodes): Promise<void> {
  const all = nodes.customers.map((_, index) => index)
  assert.deepEqual(
    await booksOf(nodes, all),
    all.map((index) => ({ customer: index, available: model.available[index], held: model.held(index) })),
  )
}
