import { HeldPrices } from '../catalog/held-prices.ts'
import { wirePrice } from '../catalog/wire-document.ts'
import type { Command, CommandInput } from './command.ts'
import type { CliContext } from './ports.ts'
import { listOf } from './proof-commands.ts'
import { ACTOR, changesOf, printDifference, printApplied, recordEvent, withStore } from './store-access.ts'

/** Commands for the bundled part of the catalogue. */
export const CATALOG_COMMANDS: readonly Command[] = [
  {
    words: 'catalog update',
    operands: [],
    summary: 'Shows what the bundled models and prices of this release change; with --yes applies it.',
    options: { yes: { help: 'apply the difference' } },
    run: update,
  },
]

async function update(input: CommandInput, context: CliContext): Promise<number> {
  const confirmed = input.flag('yes')
  const { lines, held } = await withStore(
    context,
    async (own) => {
      const { catalog, store } = own
      const prices = new HeldPrices({ catalog, clock: context.clock, events: store.events, usage: store.generations })
      const made = await prices.updateBundle(!confirmed, { actor: ACTOR, ip: null })
      if (confirmed && made.lines.length > 0) await recordEvent(context, own, 'catalog.update', 'catalog', made.lines)
      return {
        lines: made.lines,
        held: made.held.map((change) => ({
          ...change,
          before: wirePrice(change.before),
          after: wirePrice(change.after),
        })),
      }
    },
    async (client) => {
      const answer = await client.call('POST', `/admin/v1/catalog/update${confirmed ? '' : '?dry_run=1'}`, {})
      return { lines: changesOf(answer), held: listOf(answer, 'held') }
    },
  )
  printDifference(context, lines)
  for (const { model, provider, reason, before, after } of held)
    context.stdout(
      `? model ${String(model)} at ${String(provider)}: ${JSON.stringify(before)} → ${JSON.stringify(after)} (${String(reason)})`,
    )
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
