import type { HoldRow } from '../../src/ledger/ledger-store.ts'
import type { Replay } from '../../src/store/audit/replay.ts'
import { AuditStore } from '../../src/store/audit/audit-store.ts'
import { HOLD_SELECT, readHoldRow } from '../../src/store/ledger/ledger-rows.ts'
import { big } from '../../src/store/database.ts'
import { checkHours, checkMoney, checkNodes } from './books.ts'
import { sheetMet } from './conditions.ts'
import type { RequestFacts } from './facts.ts'
import type { Intent } from './node.ts'
import { dueOf, insuredOf, costOf, type Due } from './oracle.ts'
import { SIM_SEAL } from './sim-stores.ts'
import type { World } from './world.ts'

/** Refusals that are allowed although everything works. */
const FAIR_REFUSALS: ReadonlySet<string> = new Set([
  'insufficient_balance',
  'limit_exceeded',
  'key_deactivated',
  'invalid_api_key',
])
/** A batch that waits for a store may fail with another's try within this time. */
const FAULT_NEAR_MS = 3_500
/** A running batch may be the one that found the store down. */
const FAULT_SOON_MS = 1_000
const OUTLAST_MS = 1_900
const LEASE_MS = 60_000
/** The longest that a node stands still. */
const STANDSTILL_MS = 140_000
const CANCEL_MS = 1_000
const DRAIN_MS = 120_010
/** The loss by an account in an hour after which its free answers are charged (guarantees.md rule 20). */
const FREE_HOUR_MICRO = 20_000_000n

/** The product's own audit, I1 to I22, on the universe's books. */
export async function auditWorld(world: World, except: readonly string[] = []): Promise<void> {
  const replay: Replay = async (row) => {
    const models = world.catalog.versions.get(row.priceVersion)?.models.values() ?? []
    for (const { endpoints } of models)
      for (const endpoint of endpoints)
        if (endpoint.id === row.endpointId) {
          const cost = (side: 'sell' | 'buy', usage: typeof row.usage): bigint =>
            costOf(usage, sheetMet(endpoint, side, usage, row.createdAtMs, row.serviceTier ?? null))
          return {
            costMicro: cost(row.billingBasis === 'provider_cost' ? 'buy' : 'sell', row.usage),
            providerCostMicro: cost('buy', row.reportedUsage ?? row.usage),
          }
        }
    return null
  }
  const checks = await new AuditStore(world.database(), SIM_SEAL)
    .run({ sinceMs: 0, nowMs: Math.floor(world.beginMs + world.nowMs + world.skewMs), replay })
    .catch((thrown: unknown) => {
      world.trace(`the audit could not run: ${String(thrown)}`)
      return []
    })
  for (const { id, violations } of checks)
    if (!except.includes(id)) for (const violation of violations) world.violation(`${id} ${violation}`)
}

/** Compares the books with the observations of clients and providers; returns the number of charged answers. */
export async function checkEnd(world: World): Promise<number> {
  await world.statements.checkEnd()
  await auditWorld(world)
  const holds = new Map(
    world.disk
      .all(HOLD_SELECT)
      .map((row) => readHoldRow(row, SIM_SEAL))
      .map((hold) => [hold.id, hold]),
  )
  for (const facts of world.requests)
    checkRequest(world, facts, facts.generationId === null ? null : (holds.get(facts.generationId) ?? null))
  for (const hold of holds.values()) checkHold(world, hold)
  checkMoney(world, [...holds.values()])
  checkHours(world)
  checkNodes(world)
  return [...holds.values()].filter(({ chargedMicro }) => (chargedMicro ?? 0n) > 0n).length
}

function isJournaled(intent: Intent | undefined): boolean {
  return (
    intent !== undefined &&
    intent.outcome !== null &&
    intent.outcome !== 'failed' &&
    intent.outcome.status === 'journaled'
  )
}

function isToldFree({ end, outcome }: Intent): boolean {
  return (
    outcome !== null &&
    outcome !== 'failed' &&
    (outcome.status === 'voided' || (end.op === 'void' && outcome.status === 'journaled'))
  )
}

/** Whether the account's losses reached the free amount of an hour before the universe, or may have since. */
function mayBeUsedUp(world: World, accountId: string): boolean {
  if (world.guarded.has(accountId)) return true
  const lost = world.disk
    .all("SELECT amount FROM entry WHERE account_id = ? AND kind IN ('insured', 'shortfall')", [accountId])
    .reduce((sum, row) => sum + big(row, 'amount'), 0n)
  return lost > FREE_HOUR_MICRO
}

function checkRequest(world: World, facts: RequestFacts, hold: HoldRow | null): void {
  const say = (text: string): void => world.violation(`r${facts.number}: ${text}`)
  const { sight } = facts
  if (facts.generationId === null) {
    if (facts.attempts.length > 0) say('a provider was asked before the request was admitted')
    if (sight.kind === 'end') say('an answer without a generation')
    if (sight.kind === 'error' && !FAIR_REFUSALS.has(sight.name)) checkExcuse(world, facts, sight.name)
    return
  }
  const intents = world.intents.filter(
    ({ generationId, node }) => generationId === facts.generationId && node === facts.node,
  )
  const [asked] = intents
  const journaled = isJournaled(asked)
  if (journaled && world.lost.has(facts.node)) return
  const due = dueOf(facts, world.tokens, mayBeUsedUp(world, facts.accountId))
  const chargedMicro = hold?.chargedMicro ?? 0n
  const settled = hold?.state === 'settled' || hold?.state === 'settled_late'
  if (sight.kind === 'end') {
    if (!settled) say(`I11 the client saw the end of its answer, and its hold is ${hold?.state ?? 'missing'}`)
    // The journal reports the cost; the later charge may be less.
    const toldMicro = journaled && (due.kind === 'exact' || due.kind === 'free-or') ? due.micro : chargedMicro
    if (sight.cost !== null && sight.cost !== Number(toldMicro) / 1e6)
      say(`the client was told ${sight.cost} and charged ${chargedMicro} of ${toldMicro} micro`)
    if (due.kind === 'free') say('an answer that is free looks complete')
  }
  if (settled) checkCharge(say, hold, due)
  if (hold !== null && hold.priceVersion !== facts.plan?.snapshot.priceVersion)
    say(`its hold names price version ${hold.priceVersion}`)
  checkRetries(say, facts)
  checkCancel(world, say, facts)
  for (const intent of intents) checkPatience(world, say, intent)
  const died = world.deaths.has(facts.node) && (asked === undefined || asked.answeredMs === null)
  if (died || facts.doneMs === null) return
  if (asked === undefined) say('it is done, and nobody ended its hold')
  else if (asked.outcome === 'failed') checkFailedEnd(world, say, facts, hold, due)
  else checkEnded(world, say, facts, hold, due)
  if (settled && asked !== undefined && isToldFree(asked)) say(`it was told to be free and is charged ${chargedMicro}`)
}

/** The store accepted the end at the first try. */
function checkEnded(
  world: World,
  say: (text: string) => void,
  facts: RequestFacts,
  hold: HoldRow | null,
  due: Due,
): void {
  const settled = hold?.state === 'settled' || hold?.state === 'settled_late'
  if (due.kind === 'exact' && !settled)
    say(`it is to be charged ${due.micro}, and its hold is ${hold?.state ?? 'missing'}`)
  if (
    due.kind === 'exact' &&
    facts.present &&
    facts.sight.kind !== 'end' &&
    !(facts.sight.kind === 'error' && facts.attempts.at(-1)?.outcome === 'failed') &&
    !(facts.left && facts.sight.kind === 'broken')
  )
    say(`a charged answer whose client saw ${facts.sight.kind}`)
  if (due.kind === 'free' && hold?.state !== 'voided' && hold?.state !== 'expired')
    say(`it is free, and its hold is ${hold?.state ?? 'missing'}`)
  if (
    due.kind === 'free' &&
    facts.present &&
    facts.sight.kind !== 'error' &&
    !(facts.left && facts.sight.kind === 'broken')
  )
    say(`a free answer whose client saw ${facts.sight.kind}`)
  const [row] = world.disk.all('SELECT status FROM generation WHERE generation_id = ?', [facts.generationId])
  if (due.kind === 'free' && row === undefined) say('it was free, and no log row tells of it')
  const booked = world.disk
    .all("SELECT amount FROM entry WHERE kind = 'insured' AND ref = ?", [facts.generationId])
    .reduce((sum, row) => sum + big(row, 'amount'), 0n)
  const [atCost] = world.disk.all(
    'SELECT provider_cost AS paid FROM generation WHERE generation_id = ? AND record LIKE \'%"billingBasis":"provider_cost"%\'',
    [facts.generationId],
  )
  const paid = atCost === undefined ? 0n : big(atCost, 'paid')
  // A request that may be free or charged, and was charged as usual, is no loss.
  const insured = insuredOf(
    facts,
    due.kind === 'free-or' && settled && paid === 0n ? { ...due, kind: 'exact' } : due,
    world.tokens,
  )
  if (due.kind === 'exact') checkProviderCost(world, say, facts, due.billedMicro)
  if (paid > 0n && !mayBeUsedUp(world, facts.accountId))
    say('a free answer is charged, and its account has used up nothing')
  if (booked + paid !== insured) say(`the operator's loss is ${insured}, ${booked} is booked and ${paid} charged`)
}

/** A provider bills the usage that it reports, whatever the customer pays. */
function checkProviderCost(
  world: World,
  say: (text: string) => void,
  { generationId }: RequestFacts,
  billedMicro: bigint,
): void {
  const [row] = world.disk.all('SELECT provider_cost FROM generation WHERE generation_id = ?', [generationId])
  if (row !== undefined && big(row, 'provider_cost') !== billedMicro)
    say(`its provider bills ${billedMicro}, ${big(row, 'provider_cost')} is booked`)
}

/** The store did not accept it in time: a lease gives the money back, or a journal settles later. */
function checkFailedEnd(
  world: World,
  say: (text: string) => void,
  facts: RequestFacts,
  hold: HoldRow | null,
  due: Due,
): void {
  const journal = world.intents.some(
    ({ generationId, outcome, node }) =>
      generationId === facts.generationId && outcome !== 'failed' && outcome !== null && node !== '',
  )
  const settled = hold?.state === 'settled' || hold?.state === 'settled_late'
  // At its start the only process of an embedded store voids open holds, or has lost them.
  if (world.embedded && world.deaths.has(facts.node)) return
  if (journal && due.kind === 'exact' && !settled)
    say(`the journal brought its settle, and its hold is ${hold?.state ?? 'missing'}`)
}

function checkCharge(say: (text: string) => void, hold: HoldRow, due: Due): void {
  const chargedMicro = hold.chargedMicro ?? 0n
  const costMicro = chargedMicro + (hold.shortfallMicro ?? 0n)
  switch (due.kind) {
    case 'free':
      return say(`a free answer is charged ${chargedMicro}`)
    case 'open':
      return say('an answer is charged that no provider has finished')
    case 'exact':
    case 'free-or':
      if (costMicro !== due.micro)
        say(`I12 the answer costs ${due.micro}, charged ${chargedMicro} with a shortfall of ${hold.shortfallMicro}`)
      if (due.isOrdinary && due.micro > hold.amountMicro)
        say(`its hold of ${hold.amountMicro} is not the worst case: the answer costs ${due.micro}`)
      if (hold.state === 'settled' && due.micro <= hold.amountMicro && chargedMicro !== due.micro)
        say(`its hold covers ${due.micro}, and it is charged ${chargedMicro}`)
  }
}

/**
 * After its client left, an answer is cancelled at once if that stops the bill, else read on for two minutes at most
 * (R9, rule 8).
 */
function checkCancel(world: World, say: (text: string) => void, facts: RequestFacts): void {
  const last = facts.attempts.at(-1)
  if (facts.goneMs === null || last === undefined || world.deaths.has(facts.node) || world.stopped.has(facts.node))
    return
  const overMs = last.outcome === 'running' ? Infinity : last.outcomeMs
  const limitMs = facts.request.stream && last.endpoint.provider.cancelStopsBilling ? CANCEL_MS : DRAIN_MS
  if (overMs > facts.goneMs + limitMs)
    say(`its client left at ${facts.goneMs}, and the provider was read until ${overMs}`)
}

/** Once the answer has begun to arrive, no other provider is asked. */
function checkRetries(say: (text: string) => void, facts: RequestFacts): void {
  for (const [index, attempt] of facts.attempts.entries()) {
    if (index === facts.attempts.length - 1) continue
    if (attempt.outcome === 'running' || attempt.outcome === 'cancelled') say('two providers were asked at once')
    if (facts.request.stream && attempt.text !== '') say('another provider was asked after the answer had begun')
    if (attempt.outcome === 'ended' && attempt.text !== '') say('another provider was asked after a complete answer')
  }
}

/** 503 is allowed for a store that is down or a node that stops, never for a bug. */
function checkExcuse(world: World, facts: RequestFacts, name: string): void {
  if (
    name === 'service_unavailable' &&
    facts.doneMs !== null &&
    (facts.excused || faultNear(world, facts.node, facts.doneMs))
  )
    return
  world.violation(`r${facts.number}: refused with ${name}, and nothing was the matter`)
}

/** An end is tried for two seconds before it is given up (rule 14). */
function checkPatience(world: World, say: (text: string) => void, intent: Intent): void {
  const { outcome, answeredMs, end } = intent
  if (outcome !== 'failed' || answeredMs === null) return
  const isStopping = (world.stopsMs.get(intent.node) ?? Infinity) <= answeredMs
  if (!faultNear(world, intent.node, answeredMs)) say(`its ${end.op} failed on a healthy store`)
  // A node that stops cannot wait for the answer whether a guarded void was charged: its journal has it.
  const isLeft = isStopping && end.op === 'void' && end.request.guarded !== undefined
  // A full disk does not pass by itself, unlike an outage.
  if (!world.embedded && !isLeft && answeredMs - intent.askedMs < OUTLAST_MS)
    say(`its ${end.op} was given up after ${answeredMs - intent.askedMs} ms`)
}

/** A lease may end only for a node that was gone, could not reach the store, or did not know the hold. */
function checkHold(world: World, hold: HoldRow): void {
  const endedMs = (hold.endedAtMs ?? 0) - world.beginMs
  if (hold.state !== 'expired' && hold.state !== 'settled_late') return
  const facts = world.requests.find(({ generationId }) => generationId === hold.id)
  const diedMs = world.deaths.get(hold.node)
  const faulty = (world.nodes.find(({ name }) => name === hold.node)?.link.faultsMs ?? []).length > 0
  if (
    world.intents.some(({ generationId, outcome }) => generationId === hold.id && outcome === 'failed') ||
    world.intents.some((intent) => intent.generationId === hold.id && isJournaled(intent))
  )
    return
  if (faulty && (facts === undefined || world.skewMs > 0)) return
  // A late settle may come at any time after its lease.
  const withinMs =
    hold.state === 'settled_late'
      ? hold.leaseUntilMs
      : LEASE_MS + 20_000 + (world.stopped.has(hold.node) ? STANDSTILL_MS : 0)
  if (diedMs !== undefined || faultNear(world, hold.node, endedMs, withinMs)) return
  world.violation(`I14 hold ${hold.id} expired while its request ran on a healthy node`)
}

function faultNear(world: World, nodeName: string, atMs: number, withinMs = FAULT_NEAR_MS): boolean {
  const faults = world.nodes.find(({ name }) => name === nodeName)?.link.faultsMs ?? []
  return faults.some((faultMs) => faultMs <= atMs + FAULT_SOON_MS && faultMs >= atMs - withinMs)
}
