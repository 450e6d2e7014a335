import { ApiError } from '../errors.ts'
import { rubles, type Micro } from '../money.ts'
import type { StatementLine, StatementStore } from '../store/statement-store.ts'
import type { AccountRecord } from '../store/store.ts'

/** A statement by whole days: opening + lines = closing. Charges are one line a day and model. */
export interface Statement {
  readonly account: { readonly id: string; readonly name: string; readonly email: string | null }
  readonly from: string
  readonly to: string
  readonly issued_at: string
  /** Its months are closed: nothing of it changes any more. */
  readonly closed: boolean
  readonly opening: number
  readonly closing: number
  readonly totals: {
    readonly topup: number
    readonly refund: number
    readonly adjustment: number
    readonly charge: number
  }
  readonly lines: readonly {
    readonly day: string
    /** The day that it belongs to, where it was booked later; null = the same. */
    readonly of_day: string | null
    readonly kind: StatementLine['kind']
    readonly text: string
    readonly requests: number | null
    readonly amount: number
  }[]
}

export interface StatementRange {
  readonly from: string
  readonly to: string
  readonly timezone: string
  readonly nowMs: number
}

/** The statement of an account as its owner and the operator see it. */
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
    issued_at: new Date(nowMs).toISOString(),
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
