import { parseBill } from '../api/admin/reconciliation/bill-csv.ts'
import { reconcile } from '../api/admin/reconciliation/reconcile.ts'
import { basisPoints, PERCENT, resultOf } from '../api/admin/reconciliation/routes.ts'
import type { JsonObject } from '../base/json-text.ts'
import { parseDecimal, shift } from '../base/money.ts'
import { isObject } from '../kinds/fields/body-fields.ts'
import { type CliContext, type Command, type CommandInput, UsageError, columns, listed } from './command.ts'
import { recordEvent, withStore } from './store-access.ts'
import { fileText } from './store-commands.ts'

export const RECONCILE_COMMAND: Command = {
  words: 'reconcile',
  operands: ['FILE'],
  summary: "Compares a provider's bill (CSV) with what its answers cost by the log; exit 1 where they differ.",
  options: {
    provider: { value: 'ID', help: 'whose bill it is, as in the catalogue' },
    tolerance: { value: 'PERCENT', help: 'by which a line may differ, default 1' },
    currency: { value: 'CODE', help: 'of a file that names none' },
    json: { help: 'print the whole report as JSON' },
  },
  run: reconcileBill,
}

async function reconcileBill(input: CommandInput, context: CliContext): Promise<number> {
  const provider = input.text('provider')
  if (provider === undefined) throw new UsageError('--provider ID is missing: whose bill is it?')
  const percent = input.text('tolerance') ?? '1'
  const decimal = parseDecimal(percent)
  const exact = decimal === null ? null : shift(decimal, 6)
  if (exact === null || exact.scale !== 0)
    throw new UsageError(`--tolerance must be a percentage such as 0.5, got '${percent}'`)
  const toleranceBasisPoints = basisPoints(exact.digits)
  const currency = input.text('currency') ?? null
  const csv = await fileText(input.operands[0] ?? '')
  const report = await withStore<JsonObject>(
    context,
    async (own) => {
      const body = await reconcile(own, await parseBill(csv, currency), { provider, toleranceBasisPoints })
      await recordEvent(context, own, 'provider.reconcile', provider, resultOf(body))
      return { ...body }
    },
    (client) =>
      client.call('POST', '/admin/v1/reconciliations', {
        provider,
        csv,
        tolerance: Number(exact.digits) / Number(PERCENT),
        ...(currency === null ? {} : { currency }),
      }),
  )
  context.stdout(input.flag('json') ? JSON.stringify(report) : billText(report))
  return report['ok'] === true ? 0 : 1
}

function billText(report: JsonObject): string {
  const rows = listed(report).map(({ from, to, model, ours, theirs, difference, verdict }) => {
    const period = from === to ? String(from) : `${String(from)} to ${String(to)}`
    return [
      `${verdict === 'match' ? 'ok  ' : 'FAIL'}  ${period}  ${String(model)}`,
      `ours ${String(ours)}, theirs ${String(theirs)} RUB, difference ${String(difference)}: ${String(verdict).replace('_', ' ')}`,
    ] as const
  })
  const totals = isObject(report['totals']) ? report['totals'] : {}
  return [
    ...columns(rows),
    `In all: ours ${String(totals['ours'])}, theirs ${String(totals['theirs'])} RUB, difference ${String(totals['difference'])}`,
  ].join('\n')
}
