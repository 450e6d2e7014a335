import { add, decimalText, microOf, parseDecimal, ZERO } from '../../src/base/money.ts'

export interface ReadInvoice {
  readonly lines: readonly { readonly cost: string }[]
  readonly total: string | null
  readonly adjustments: readonly { readonly amount: string }[]
  /** RUB. */
  readonly charged: number
}

/** The sums of an invoice that are wrong, compared to the last digit. */
export function wrongSums({ lines, total, adjustments, charged }: ReadInvoice): readonly string[] {
  const sum = sumOf(lines.map(({ cost }) => cost))
  const booked = sumOf([total ?? '0', ...adjustments.map(({ amount }) => amount)])
  const rub = decimalText({ digits: microOf(charged), scale: 6 })
  return [
    ...(sum === total ? [] : [`lines ${sum}, sum ${total}`]),
    ...(booked === rub ? [] : [`sum and adjustments ${booked}, charged ${rub}`]),
  ]
}

function sumOf(decimals: readonly string[]): string {
  return decimalText(decimals.map((text) => parseDecimal(text) ?? ZERO).reduce(add, ZERO))
}
