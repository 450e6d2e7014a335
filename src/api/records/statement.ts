import { ApiError } from '../../base/errors.ts'
import { rubles, type Micro } from '../../base/money.ts'
import { day, flag, list, nullable, object, oneOf, rub, text, time, whole, type Static } from '../../base/schema.ts'
import type { StatementLine, StatementStore } from '../../store/ledger/statement-store.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import { isoTime } from '../../base/time.ts'

/** A statement of whole days: opening + lines = closing. There is one line of charges for each day and model. */
export const Statement = object(
  {
    account: object({ id: text(), name: text(), email: nullable(text()) }),
    from: day(),
    to: day(),
    issued_at: time(),
    closed: flag('Its months are closed: nothing of it changes any more.'),
    opening: rub(),
    closing: rub(),
    totals: object({ topup: rub(), refund: rub(), adjustment: rub(), charge: rub() }),
    lines: list(
      object({
        day: day(),
        of_day: nullable(day('The day that it belongs to, where it was booked later; null = the same.')),
        kind: oneOf(['topup', 'refund', 'adjustment', 'charge']),
        text: text(),
        requests: nullable(whole()),
        amount: rub(),
      }),
    ),
  },
  'A statement by whole days: opening + lines = closing. Charges are one line a day and model.',
)
export type Statement = Static<typeof Statement>

export interface StatementRange {
  readonly from: string
  readonly to: string
  readonly timezone: string
  readonly nowMs: number
}

/** The statement of an account, for its owner and the operator. */
export async function statementOf(
  statements: StatementStore,
  { id, name, email }: AccountRecord,
  range: StatementRange,
): Promise<Statement> {
  const { from, to, nowMs } = range
  const sheet = await statements.read({ accountId: id, ...range })
  if (sheet === 'too_long')
    throw new ApiError(
      'invalid_input',
      `from: the statement of ${from} to ${to} has too many lines for one page: ask for fewer days`,
    )
  const totals = (kind: StatementLine['kind']): number => rubles(sum(sheet.lines.filter((line) => line.kind === kind)))
  return {
    account: { id, name, email },
    from,
    to,
    issued_at: isoTime(nowMs),
    closed: sheet.closed,
    opening: rubles(sheet.openingMicro),
    closing: rubles(sheet.closingMicro),
    totals: {
      topup: totals('topup'),
      refund: totals('refund'),
      adjustment: totals('adjustment'),
      charge: totals('charge'),
    },
    lines: sheet.lines.map(({ day, ofDay, kind, text, requests, amountMicro }) => ({
      day,
      of_day: ofDay,
      kind,
      text,
      requests,
      amount: rubles(amountMicro),
    })),
  }
}

function sum(lines: readonly StatementLine[]): Micro {
  return lines.reduce((total, { amountMicro }) => total + amountMicro, 0n)
}
