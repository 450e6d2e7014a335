import type { HoldRow } from '../../src/ledger/ledger-store.ts'
import { big, integer, text } from '../../src/store/database.ts'
import { USED_UP_MICRO, usedUpHourMs } from './customers.ts'
import type { RequestFacts } from './facts.ts'
import { isBlameless, isCaused } from './oracle.ts'
import type { World } from './world.ts'

const HOUR_MS = 3_600_000

/** Money in, less the charges, is the money left; computed only from payments and holds. */
export function checkMoney(world: World, holds: readonly HoldRow[]): void {
  for (const row of world.disk.all('SELECT id, available, held FROM account')) {
    const id = text(row, 'id')
    let expected = 0n
    for (const { entry, counted } of world.payments)
      if (counted && entry.accountId === id)
        expected += entry.kind === 'refund' ? -entry.amountMicro : entry.amountMicro
    for (const { accountId, chargedMicro } of holds) if (accountId === id) expected -= chargedMicro ?? 0n
    if (big(row, 'available') + big(row, 'held') !== expected)
      world.violation(
        `account ${id} has ${big(row, 'available') + big(row, 'held')}, paid in less charged is ${expected}`,
      )
    if (big(row, 'held') !== 0n) world.violation(`account ${id} still holds ${big(row, 'held')} when all is at rest`)
  }
}

/** A node at rest has released everything. */
export function checkNodes(world: World): void {
  for (const { name, owner, drains, relay } of world.nodes) {
    if (owner.dead) continue
    if (relay.running !== 0) world.violation(`${name} has ${relay.running} answers that never end`)
    if (drains.running !== 0) world.violation(`${name} counts ${drains.running} answers that are read on, and none is`)
  }
}

/**
 * Every running request has its place, at its provider and in its node, until its answer is over, also when it is read
 * on.
 */
export function checkPlaces(world: World): void {
  for (const { name, owner, slots, relay } of world.nodes) {
    if (owner.dead) continue
    const own = world.requests.filter(({ node }) => node === name)
    const asking = own.filter(({ attempts }) => attempts.at(-1)?.outcome === 'running').length
    const places = slots.report().reduce((sum, { running }) => sum + running, 0)
    if (places !== asking)
      world.violation(`${name} counts ${places} places at providers, and ${asking} answers are under way`)
    const running = own.filter(({ doneMs }) => doneMs === null).length
    if (relay.inFlight.count !== running)
      world.violation(`${name} counts ${relay.inFlight.count} running requests, and ${running} are`)
  }
}

/**
 * Each account's losses to us in its newest hour (free or beyond its balance), and its spending; computed only from the
 * entries.
 */
export function checkHours(world: World): void {
  for (const row of world.disk.all('SELECT id, free_hour, free_insured, free_spent FROM account')) {
    const id = text(row, 'id')
    const hourMs = integer(row, 'free_hour')
    const own = world.disk.all(
      "SELECT kind, ref, amount, created_at FROM entry WHERE account_id = ? AND kind IN ('charge', 'insured', 'shortfall')",
      [id],
    )
    const inHour = own.filter((entry) => Math.floor(integer(entry, 'created_at') / HOUR_MS) * HOUR_MS === hourMs)
    const sum = (...kinds: readonly string[]): bigint =>
      inHour.reduce((total, entry) => (kinds.includes(text(entry, 'kind')) ? total + big(entry, 'amount') : total), 0n)
    const before = world.guarded.has(id) && hourMs === usedUpHourMs(world.beginMs) ? USED_UP_MICRO : 0n
    const insured = (counts: (facts: RequestFacts) => boolean): bigint =>
      inHour
        .filter((entry) => text(entry, 'kind') === 'insured')
        .filter((entry) => counts(requestOf(world, text(entry, 'ref'))))
        .reduce((total, entry) => total + big(entry, 'amount'), 0n)
    const [least, most] = [insured(isCaused), insured((facts) => !isBlameless(facts))]
    const counted = big(row, 'free_insured') - sum('shortfall') - before
    if (counted < least || counted > most)
      world.violation(`account ${id} made us lose ${least} to ${most} in its hour, ${counted} is counted`)
    if (big(row, 'free_spent') !== sum('charge'))
      world.violation(`account ${id} spent ${sum('charge')} in its hour, ${big(row, 'free_spent')} is counted`)
    if (own.some((entry) => integer(entry, 'created_at') >= hourMs + HOUR_MS))
      world.violation(`account ${id} has a later hour than the one that is counted`)
  }
}

function requestOf({ requests }: World, generation: string): RequestFacts {
  const facts = requests.find(({ generationId }) => generationId === generation)
  if (facts === undefined) throw new Error(`Nobody asked for ${generation}.`)
  return facts
}
