import { isDeepStrictEqual } from 'node:util'
import type { TokenCounter } from '../../src/pay/plan/token-count.ts'
import type { LimitReset } from '../../src/ledger/ledger-store.ts'
import { checkPlaces } from './books.ts'
import { auditWorld, checkEnd } from './checks.ts'
import { changeAccountLimit } from './customers.ts'
import type { Disk } from './disk.ts'
import { Random } from './random.ts'
import { World } from './world.ts'

const STEPS_MAX = 60_000
/** The longest time after which everything has ended: drains, leases and the sweep. */
const REST_MS = 900_000
const SLICE_MS = 10_000
const FAULT_RATES = [
  { before: 0, after: 0, stall: 0, slowRead: 0 },
  { before: 0.03, after: 0.03, stall: 0.01, slowRead: 0.05 },
  { before: 0.02, after: 0.25, stall: 0.02, slowRead: 0.05 },
  { before: 0.25, after: 0.1, stall: 0.05, slowRead: 0.05 },
] as const
const SLOW = { before: 0, after: 0.02, stall: 0.05, slowRead: 0.8 } as const

export interface Verdict {
  readonly seed: number
  readonly violations: readonly string[]
  readonly schedule: readonly string[]
  readonly requests: number
  readonly charged: number
  readonly steps: number
}

/** Runs one universe, which follows only from its seed, and checks it. */
export async function playUniverse(
  seed: number,
  parts: { readonly disk: Disk; readonly tokens: TokenCounter; readonly traced: boolean },
): Promise<Verdict> {
  const world = new World({
    random: new Random(seed),
    guards: seed % 3 === 0,
    allowances: hasAllowances(seed),
    accountLimits: hasAccountLimits(seed),
    conditions: hasConditions(seed) ? new Random(seed ^ 0x5eed) : null,
    checkpointCharges: checkpointCharges(seed),
    ...parts,
  })
  const lost = (reason: unknown): void =>
    world.violation(
      `an error nobody caught: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`,
    )
  process.on('unhandledRejection', lost)
  parts.disk.begin()
  let charged = 0
  try {
    await live(world)
    charged = await checkEnd(world)
  } catch (thrown) {
    world.violation(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown))
  } finally {
    world.owner.dead = true
    process.off('unhandledRejection', lost)
    parts.disk.rollBack()
  }
  return {
    seed,
    violations: world.violations,
    schedule: world.schedule,
    requests: world.requests.length,
    charged,
    steps: world.scheduler.steps,
  }
}

/** A share of the universes that none of the regression seeds is in. */
function hasAllowances(seed: number): boolean {
  return seed % 7 === 2 || seed % 7 === 5
}

/** As above. */
function hasAccountLimits(seed: number): boolean {
  return [2, 4, 7, 11].includes(seed % 13)
}

/** As above: of prices. */
function hasConditions(seed: number): boolean {
  return [0, 2, 5, 10, 12, 15, 16].includes(seed % 17)
}

/** In a third of the universes so few that a checkpoint, with the sums, comes between any two writes. */
function checkpointCharges(seed: number): number | undefined {
  return [0, 2, 5, 7].includes(seed % 11) ? 1 + (seed % 6) : undefined
}

async function live(world: World): Promise<void> {
  const { random, scheduler } = world
  const activeMs =
    world.aboutLeases || random.chance(0.2) ? random.between(60_000, 260_000) : random.between(500, 20_000)
  await world.begin(world.embedded ? 1 : (world.aboutLeases ? 2 : 1) + random.below(2))
  const rates = world.aboutLeases ? random.pick([FAULT_RATES[0], FAULT_RATES[1], SLOW, SLOW]) : random.pick(FAULT_RATES)
  for (const payment of world.payments) await world.send(payment)
  planRequests(world, activeMs)
  if (world.aboutLeases) planLeases(world)
  if (world.journaled) planJournal(world, activeMs)
  planFaults(world, activeMs)
  if (world.allowances) {
    planTrains(world, activeMs)
    planStandstills(world, activeMs)
  }
  planBusiness(world, activeMs)
  // The first moments are calm, so that the nodes start.
  scheduler.after(5, world.owner, () => {
    world.rates = rates
  })
  await scheduler.run(activeMs, STEPS_MAX)
  await rest(world)
}

/** Runs `task` at some time of the universe's active life. */
function sometime(world: World, activeMs: number, task: () => void): void {
  world.scheduler.after(world.random.between(10, activeMs), world.owner, task)
}

function planRequests(world: World, activeMs: number): void {
  const { random } = world
  const count = 4 + random.below(24)
  const bursts = world.aboutLimits || random.chance(0.5)
  for (let index = 0; index < count;) {
    const size = bursts ? 1 + random.below(8) : 1
    const atMs = random.between(10, activeMs)
    // The requests of a burst share a commit, or nearly.
    for (let one = 0; one < size && index < count; one += 1, index += 1)
      world.scheduler.after(atMs + random.between(0, 3), world.owner, () => world.ask())
  }
}

/** A key at work asks again and again: what allowances are for. */
function planTrains(world: World, activeMs: number): void {
  const { random, scheduler, owner } = world
  for (let trains = 2 + random.below(4); trains > 0; trains -= 1) {
    const whose = random.pick(world.customers)
    let atMs = random.between(10, activeMs)
    if (random.chance(0.3))
      scheduler.after(
        atMs + random.between(500, 4_000),
        owner,
        () =>
          void world.changeKey(
            (keys, node, keyId) => keys.update(keyId, { disabled: true }, world.periodsNow(node)),
            'disabled: true',
            false,
            whose,
          ),
      )
    if (random.chance(0.2)) scheduler.after(atMs + random.between(0, 4_000), owner, () => world.decideExactly(whose))
    for (let left = 6 + random.below(20); left > 0; left -= 1) {
      atMs += random.chance(0.3) ? random.between(0, 3) : random.between(20, 900)
      scheduler.after(atMs, owner, () => world.ask(whose))
    }
  }
}

/** Requests that begin just before their node loses the store, and others that meet the money given back. */
function planLeases(world: World): void {
  const { random, scheduler, owner } = world
  const cutMs = random.between(3_000, 30_000)
  for (let left = 2 + random.below(6); left > 0; left -= 1)
    scheduler.after(cutMs - random.between(0, 2_500), owner, () => world.ask())
  scheduler.after(cutMs, owner, () => {
    const node = world.liveNode()
    if (node === null) return
    // The store returns just before its leases end, or long after.
    const lastsMs = random.chance(0.6) ? random.between(38_000, 60_000) : random.between(60_000, 125_000)
    world.trace(`${node.name}: no store for ${Math.round(lastsMs)} ms`)
    node.link.cut(world.nowMs + lastsMs)
  })
  // If two nodes lead, duties are done twice: leases are checked by many just when they end.
  for (let atMs = cutMs + 40_000; atMs < cutMs + 64_000; atMs += 900)
    scheduler.after(
      atMs,
      owner,
      () =>
        void world
          .liveNode()
          ?.ledger.sweep()
          .catch(() => undefined),
    )
  for (let left = 2 + random.below(4); left > 0; left -= 1)
    scheduler.after(cutMs + random.between(60_000, 130_000), owner, () => world.ask())
}

/** Answers that end while the store is away, on a node that dies before it returns. */
function planJournal(world: World, activeMs: number): void {
  const { random, scheduler, owner } = world
  if (!random.chance(0.6)) return
  const cutMs = random.between(600, Math.max(1_000, activeMs))
  for (let left = 2 + random.below(8); left > 0; left -= 1)
    scheduler.after(cutMs - random.between(0, 600), owner, () => world.ask())
  scheduler.after(cutMs, owner, () => {
    const node = world.liveNode()
    if (node === null) return
    const lastsMs = random.chance(0.2) ? random.between(60_000, 90_000) : random.between(2_500, 20_000)
    world.trace(`${node.name}: no store for ${Math.round(lastsMs)} ms, and a journal`)
    node.link.cut(world.nowMs + lastsMs)
    if (random.chance(0.7))
      scheduler.after(random.between(2_000, 9_000), owner, () => world.kill(node, random.between(50, 12_000)))
  })
}

function planFaults(world: World, activeMs: number): void {
  const { random } = world
  const some = (chance: number, most: number, task: () => void): void => {
    if (!random.chance(chance)) return
    for (let left = 1 + random.below(most); left > 0; left -= 1) sometime(world, activeMs, task)
  }
  some(0.5, 3, () => {
    const node = world.liveNode()
    const forGood = !world.embedded && world.nodes.filter(({ owner }) => !owner.dead).length > 1 && random.chance(0.3)
    // A restart may take longer than a lease lasts.
    if (node !== null)
      world.kill(
        node,
        forGood ? null : random.chance(0.25) ? random.between(60_000, 100_000) : random.between(50, 4_000),
      )
  })
  some(0.25, 2, () => {
    const node = world.liveNode()
    if (node === null) return
    const limitMs = random.between(10, 20_000)
    // Requests that are just arriving.
    for (let left = random.below(4); left > 0; left -= 1) world.ask()
    world.scheduler.after(random.between(0, 4), world.owner, () => world.stop(node, limitMs))
  })
  some(0.5, 3, () => {
    const node = world.liveNode()
    if (node === null) return
    const lastsMs = random.chance(0.25)
      ? random.between(65_000, 140_000)
      : random.chance(0.5)
        ? random.between(3_000, 15_000)
        : random.between(20, 1_500)
    const all = random.chance(0.4)
    world.trace(`${all ? 'all' : node.name}: no store for ${Math.round(lastsMs)} ms`)
    for (const one of all ? world.nodes : [node]) one.link.cut(world.nowMs + lastsMs)
  })
  if (world.embedded) {
    some(0.2, 1, () => {
      world.moveClock(random.pick([61_000, 3_600_000, 86_400_000, 40 * 86_400_000]))
    })
  }
}

/** Nodes that stop in the middle of everything, and go on before or after their leases are over. */
function planStandstills(world: World, activeMs: number): void {
  const { random } = world
  if (!random.chance(0.4)) return
  for (let left = 1 + random.below(2); left > 0; left -= 1)
    sometime(world, activeMs, () => {
      const node = world.liveNode()
      const lastsMs = random.pick([random.between(500, 6_000), random.between(62_000, 140_000)])
      if (node === null) return
      const whose = random.pick(world.customers)
      for (let asked = random.below(8); asked > 0; asked -= 1) world.ask(whose)
      world.scheduler.after(random.between(1, 40), world.owner, () => world.stand(node, lastsMs))
      // Others spend meanwhile what it had set aside.
      for (let more = random.below(12); more > 0; more -= 1)
        world.scheduler.after(random.between(lastsMs / 2, lastsMs + 20_000), world.owner, () => world.ask(whose))
    })
}

/** Actions of operators and clients besides requests; and reads of the books at any time. */
function planBusiness(world: World, activeMs: number): void {
  const { random } = world
  const several = (most: number, task: () => void): void => {
    for (let left = random.below(most + 1); left > 0; left -= 1) sometime(world, activeMs, task)
  }
  several(3, () => {
    const kind = random.pick(['topup', 'topup', 'refund', 'adjustment'] as const)
    const amount = BigInt(1 + random.below(9_000))
    void world.send(
      world.pay({
        accountId: random.pick(world.customers).accountId,
        kind,
        amountMicro: kind === 'adjustment' && random.chance(0.5) ? -amount : amount,
      }),
    )
  })
  several(3, () => void world.send(random.pick(world.payments)))
  several(2, () => {
    world.catalog.changePrices()
    world.trace(`prices change to version ${world.catalog.current().priceVersion}`)
  })
  several(2, () => {
    const patch = {
      limitMicro: random.chance(0.2) ? null : BigInt(random.below(6_000)),
      limitReset: random.pick<LimitReset | null>([null, 'daily', 'weekly', 'monthly']),
    }
    void world.changeKey(
      (keys, node, keyId) => keys.update(keyId, patch, world.periodsNow(node)),
      `limit becomes ${patch.limitMicro} ${patch.limitReset}`,
    )
  })
  if (world.accountLimits)
    several(3, () => {
      void changeAccountLimit(world)
    })
  several(1, () => {
    const disabled = random.chance(0.5)
    void world.changeKey(
      (keys, node, keyId) => keys.update(keyId, { disabled }, world.periodsNow(node)),
      `disabled: ${disabled}`,
      !disabled,
    )
  })
  if (random.chance(0.1))
    sometime(
      world,
      activeMs,
      () => void world.changeKey((keys, _node, keyId) => keys.delete(keyId), 'is revoked', false),
    )
  several(4, () => void replay(world))
  several(4, () => void lookAtStatement(world))
  if (random.chance(0.1)) {
    sometime(world, activeMs, () => {
      world.catalog.moveZone()
      world.trace(`the service moves to ${world.catalog.current().settings.timezone}`)
    })
  }
  several(20, () => checkPlaces(world))
  several(1, () => {
    if (world.liveNode() !== null) void auditWorld(world, ['I10', 'I13'])
  })
}

/** A failed store shows nothing, and closes nothing. */
async function lookAtStatement(world: World): Promise<void> {
  if (world.liveNode() === null) return
  const { accountId } = world.random.pick(world.customers)
  world.trace(`${accountId} looks at its statements`)
  const { embedded } = world
  await world.statements.look(accountId).catch((thrown: unknown) => {
    if (!embedded) world.violation(`the statements of ${accountId} cannot be read: ${String(thrown)}`)
  })
}

/** An earlier end is requested again, or its opposite: nothing may change. */
async function replay(world: World): Promise<void> {
  const node = world.liveNode()
  const ended = world.intents.filter(
    ({ outcome, generationId }) =>
      outcome !== null && outcome !== 'failed' && outcome.status !== 'journaled' && generationId !== '',
  )
  if (node === null || node.closed || ended.length === 0) return
  const { end, generationId, outcome: first } = world.random.pick(ended)
  const opposite = world.random.chance(0.4)
  const record = end.request.record
  if (record === null) return
  world.trace(`${node.name}: ${end.op} of ${generationId} is ${opposite ? 'asked the other way round' : 'repeated'}`)
  try {
    const settles = (end.op === 'settle') !== opposite
    const outcome = settles
      ? await node.ledger.settle(
          end.op === 'settle'
            ? end.request
            : { generationId, costMicro: 77n, providerCostMicro: 5n, insuredMicro: 3n, record },
        )
      : await node.ledger.void(end.op === 'void' ? end.request : { generationId, insuredMicro: 3n, record })
    // A guarded void that was charged reports it again.
    const same = outcome.status === 'charged' && isDeepStrictEqual(outcome, first)
    if (!same && outcome.status !== 'replayed' && outcome.status !== 'journaled' && outcome.status !== 'not_open')
      world.violation(`I8 the ${end.op} of ${generationId} was ${outcome.status} once more`)
  } catch {
    // The store failed: the repeat is lost, and nothing depends on it.
  }
}

/** All faults are over; time passes until everything has ended. */
async function rest(world: World): Promise<void> {
  const { scheduler, random } = world
  world.trace('all faults are over')
  world.rates = FAULT_RATES[0]
  for (const { link } of world.nodes) link.heal()
  if (world.nodes.every(({ owner }) => owner.dead)) world.start()
  // What a node has only in memory goes to the store with its own end.
  const journal = random.chance(0.5) && !world.allowances
  const endMs = world.nowMs + REST_MS
  while (world.nowMs < endMs) {
    await scheduler.run(world.nowMs + SLICE_MS, STEPS_MAX)
    for (const payment of world.payments) if (!payment.known) await world.send(payment)
    if (world.nodes.every(({ owner }) => owner.dead)) continue
    if (journal) await settleLate(world)
    if (random.chance(0.1)) await lookAtStatement(world)
    if ((await stillOpen(world)) === '') return
  }
  world.violation(`after ${REST_MS / 1_000} s of calm something is still open: ${await stillOpen(world)}`)
}

async function stillOpen(world: World): Promise<string> {
  const running = world.nodes
    .filter(({ owner, relay }) => !owner.dead && relay.running > 0)
    .map(({ name, relay }) => `${relay.running} answers on ${name}`)
  const unanswered = world.requests
    .filter(
      ({ doneMs, node }) => doneMs === null && world.nodes.some(({ name, owner }) => name === node && !owner.dead),
    )
    .map(({ number }) => `r${number}`)
  const holds = (await world.database().all("SELECT id FROM hold WHERE state = 'open'")).map(
    ({ id }) => `hold ${String(id)}`,
  )
  const journals = world.nodes.flatMap(({ owner, name, journal }) =>
    !owner.dead && (journal?.open ?? 0) > 0 ? [`${journal?.open} ends in the journal of ${name}`] : [],
  )
  const payments = world.payments.filter(({ known }) => !known).map(({ entry }) => entry.reference)
  return [...running, ...unanswered, ...holds, ...journals, ...world.orphans(), ...payments].join(', ')
}

/** The work of a journal: an end that the store did not accept is repeated until it does. */
async function settleLate(world: World): Promise<void> {
  const answered = new Set(
    world.intents.filter(({ outcome }) => outcome !== 'failed').map(({ generationId }) => generationId),
  )
  // These ends are recorded too, while the list is read.
  for (const { generationId, end } of world.intents.filter(({ outcome }) => outcome === 'failed')) {
    const node = world.liveNode()
    if (answered.has(generationId) || node === null || node.closed) continue
    answered.add(generationId)
    world.trace(`${node.name}: the journal brings the ${end.op} of ${generationId}`)
    const brought = end.op === 'settle' ? node.ledger.settle(end.request) : node.ledger.void(end.request)
    void brought.catch(() => undefined)
  }
}
