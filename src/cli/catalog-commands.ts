import type { CatalogService } from '../catalog/catalog-service.ts'
import type { ModelEntry } from '../catalog/document.ts'
import { HeldPrices } from '../catalog/held-prices.ts'
import type { PriceChange } from '../catalog/price-list.ts'
import { wirePrice } from '../catalog/wire-document.ts'
import { thrownMessage } from '../base/text.ts'
import { type CliContext, type Command, type CommandInput, listed } from './command.ts'
import { ACTOR, changesOf, printDifference, printApplied, recordEvent, withStore } from './store-access.ts'

/** The longest time that a command waits for the published lists. */
const LISTS_MS = 60_000

export const CATALOG_UPDATE_COMMAND: Command = {
  words: 'catalog update',
  operands: [],
  summary: 'Shows what the published lists and this release change of the bundled models; with --yes applies it.',
  options: { yes: { help: 'apply the difference' } },
  run: update,
}

async function update(input: CommandInput, context: CliContext): Promise<number> {
  const confirmed = input.flag('yes')
  const { lines, held, failure } = await withStore(
    context,
    async (own) => {
      const { catalog, store } = own
      const prices = new HeldPrices({ catalog, clock: context.clock, events: store.events, usage: store.generations })
      const { set, failure: unread } = await publishedLists(context, own.catalog)
      const made = await prices.updateBundle(!confirmed, { actor: ACTOR, ip: null }, set)
      if (confirmed && made.lines.length > 0) await recordEvent(context, own, 'catalog.update', 'catalog', made.lines)
      return {
        lines: made.lines,
        held: made.held.map((one) =>
          heldLine({ ...one, before: shownPrice(one.before), after: shownPrice(one.after) }),
        ),
        failure: unread,
      }
    },
    async (client) => {
      const answer = await client.call('POST', `/admin/v1/catalog/update${confirmed ? '' : '?dry_run=1'}`, {})
      return {
        lines: changesOf(answer),
        held: listed(answer, 'held').map(heldLine),
        failure: typeof answer['failure'] === 'string' ? answer['failure'] : null,
      }
    },
  )
  printDifference(context, lines)
  for (const line of held) context.stdout(line)
  if (failure !== null)
    context.stderr(`The published lists could not be read (${failure}): only the models of this release are compared`)
  if (confirmed) printApplied(context, lines)
  else if (lines.length > 0) context.stdout('Nothing is changed yet: tollgate catalog update --yes applies it')
  if (held.length > 0)
    context.stdout(
      confirmed
        ? `Prices that wait for you: ${held.length}. See tollgate price held`
        : `Prices marked with ? would wait for you: ${held.length}`,
    )
  return 0
}

/** The published lists for a command that opens the store itself; a server has read the lists already. */
async function publishedLists(
  { config, clock, fetchLists }: CliContext,
  catalog: CatalogService,
): Promise<{ readonly set: readonly ModelEntry[] | null; readonly failure: string | null }> {
  if (fetchLists === undefined || !catalog.asksLists()) return { set: null, failure: null }
  const stop = AbortSignal.timeout(LISTS_MS)
  try {
    return {
      set: await fetchLists(config.dataSet, { ids: catalog.bundledIds(), nowMs: clock.now(), stop }),
      failure: null,
    }
  } catch (thrown) {
    return { set: null, failure: thrownMessage(thrown) }
  }
}

function shownPrice(price: PriceChange['before']): unknown {
  return price === null ? null : wirePrice(price)
}

function heldLine({ model, provider, reason, before, after }: Readonly<Record<string, unknown>>): string {
  const price = (given: unknown): string => JSON.stringify(given)
  return `? model ${String(model)} at ${String(provider)}: ${price(before)} → ${price(after)} (${String(reason)})`
}
