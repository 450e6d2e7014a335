import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { BillLine } from '../../../../src/ledger/request-story-contract.ts'
import { add, decimalText, microOf, parseDecimal, ZERO, type Decimal } from '../../../../src/money.ts'
import { useFormat } from '../../parts/use-format.ts'
import css from './bill.module.css'

export interface BillProps {
  readonly label: string
  readonly lines: readonly BillLine[]
  /** The exact sum of the lines; null where the prices are gone. */
  readonly total: string | null
  /** RUB. */
  readonly charged: number
  /** RUB of the cost that was not covered. */
  readonly shortfall?: number
  /** The name of the last line. */
  readonly chargedLabel: string
}

/**
 * An invoice: units × price = cost, line by line, then the sum and what leads from it to the amount that was booked.
 * Exact decimals are shown as they are, so that the lines add up.
 */
export function Bill({ label, lines, total, charged, shortfall = 0, chargedLabel }: BillProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const exact = (decimal: string): string => format.exactMoney(decimal)
  const sum = total === null ? null : parseDecimal(total)
  const rest = sum === null ? ZERO : minus(add(decimalOf(charged), decimalOf(shortfall)), sum)
  const isFree = charged === 0 && shortfall === 0
  return (
    <table className={css.bill} aria-label={label}>
      <tbody>
        {lines.map(({ meter, units, price, cost }) => (
          <tr key={meter}>
            <th scope="row">
              {t(`meter.${meter}`)}
              <span className={css.how}>
                {format.number(units, 3)} × {exact(price)}
              </span>
            </th>
            <td>{exact(cost)}</td>
          </tr>
        ))}
        {lines.length === 0 && (
          <tr>
            <th scope="row">{t('request.no_bill')}</th>
            <td />
          </tr>
        )}
      </tbody>
      <tfoot>
        {total !== null && lines.length > 0 && (
          <tr>
            <th scope="row">{t('request.sum')}</th>
            <td>{exact(total)}</td>
          </tr>
        )}
        {lines.length > 0 && rest.digits !== 0n && (
          <tr>
            <th scope="row">{t(isFree ? 'request.not_charged' : 'request.rounding')}</th>
            <td>{exact(decimalText(rest))}</td>
          </tr>
        )}
        {shortfall > 0 && (
          <tr>
            <th scope="row">{t('request.shortfall')}</th>
            <td>{format.money(-shortfall)}</td>
          </tr>
        )}
        <tr className={css.charged}>
          <th scope="row">{chargedLabel}</th>
          <td>{format.money(charged)}</td>
        </tr>
      </tfoot>
    </table>
  )
}

function decimalOf(rub: number): Decimal {
  return { digits: microOf(rub), scale: 6 }
}

function minus(left: Decimal, right: Decimal): Decimal {
  return add(left, { ...right, digits: -right.digits })
}
