import { readValue } from './admin-values.ts'
import { adminClient } from './admin-client.ts'
import { UsageError, type Command } from './command.ts'
import { JSON_OPTION, recordText } from './print.ts'
import { rub } from '../base/schema.ts'

/** The commonest entry of a ledger has a command of its own. */
export const TOP_UP_COMMAND: Command = {
  words: 'topup',
  operands: ['ACCOUNT', 'AMOUNT'],
  summary: 'Adds RUB to an account. A reference that was used before adds nothing.',
  options: {
    reference: { value: 'R', help: "the payment's own number, which makes a repeat harmless" },
    reason: { value: 'TEXT', help: 'why, for the ledger' },
    json: JSON_OPTION,
  },
  run: async (input, context) => {
    const reference = input.text('reference')
    if (reference === undefined || reference === '')
      throw new UsageError("--reference is missing: the payment's own number, by which a repeated top-up is known")
    const amount = readValue('AMOUNT', input.operands[1] ?? '', rub())
    if (amount === 0) throw new UsageError('AMOUNT must be above 0')
    const path = `/admin/v1/accounts/${encodeURIComponent(input.operands[0] ?? '')}/ledger`
    const body = { kind: 'topup', amount, reason: input.text('reason') ?? 'top-up', reference }
    const answer = await adminClient(context).call('POST', path, body)
    context.stdout(input.flag('json') ? JSON.stringify(answer) : recordText(answer))
    return 0
  },
}
