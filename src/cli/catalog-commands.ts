import type { Command, CommandInput } from './command.ts'
import type { CliContext } from './ports.ts'
import { changesOf, printDifference, printApplied, recordEvent, withStore } from './store-access.ts'

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
  const lines = await withStore(
    context,
    async (own) => {
      const changes = await own.catalog.updateBundle(!confirmed)
      if (confirmed && changes.length > 0) await recordEvent(context, own, 'catalog.update', 'catalog', changes)
      return changes
    },
    async (client) =>
      changesOf(await client.call('POST', `/admin/v1/catalog/update${confirmed ? '' : '?dry_run=1'}`, {})),
  )
  printDifference(context, lines)
  if (confirmed) return printApplied(context, lines)
  if (lines.length > 0) context.stdout('Nothing is changed yet: tollgate catalog update --yes applies it')
  return 0
}
