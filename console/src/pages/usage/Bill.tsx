import { Text } from '@mantine/core'
import clsx from 'clsx'
import type { CSSProperties } from 'react'
import type { RequestStory } from '../../../../src/api/cabinet/log-contract.ts'
import type { BillAdjustment, BillLine, StoryParts } from '../../../../src/api/records/request-story-contract.ts'
import { decimalText, microOf, parseDecimal, shift, ZERO } from '../../../../src/base/money.ts'
import { METER_TABLE, PRICE_SCALES, type PriceScale } from '../../../../src/tables/meter-table.ts'
import { currentLanguage } from '../../i18n.ts'
import { Facts } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import css from './bill.module.css'
import { Note, StatusBadge } from '../../parts/cells.tsx'
import { attemptText } from '../../parts/failure-text.ts'

/** µRUB in a ruble, as a power of ten. */
const MICRO_PLACES = 6
/** The meter counts tenths of a second; the bill shows seconds. */
const UNITS_SHOWN: Readonly<Partial<Record<PriceScale, number>>> = { ten_units: 10 }

interface BillProps {
  readonly label: string
  readonly lines: readonly BillLine[]
  /** The exact sum of the lines; null = the prices no longer exist. */
  readonly total: string | null
  /** The lines that lead from the sum to the charge. */
  readonly adjustments: readonly BillAdjustment[]
  /** RUB. */
  readonly charged: number
  /** The label of its line. */
  readonly chargedLabel: string
  /** What was given back of it afterwards, RUB. */
  readonly credit?: StoryParts['credit']
}

/**
 * An invoice: units × price = amount, line by line, then the sum and the adjustments that lead to the amount that was
 * booked. Exact decimals are shown as they are, so that the lines add up.
 */
export function Bill({ label, lines, total, adjustments, charged, chargedLabel, credit = null }: BillProps) {
  // Every answer has a unit of `request`, which is free for most models.
  const shown = lines.filter(({ meter, cost }) => meter !== 'request' || cost !== '0')
  const booked = decimalText({ digits: microOf(charged), scale: 6 })
  const places = [...lines.map(({ cost }) => cost), ...adjustments.map(({ amount }) => amount), total ?? '', booked]
    .map((amount) => amount.split('.')[1]?.length ?? 0)
    .reduce((most, count) => Math.max(most, count), 2)
  const amountOf = (decimal: string): string => format.exactMoney(withPlaces(decimal, places))
  return (
    <table className={css.bill} aria-label={label}>
      {shown.length > 0 && (
        <thead>
          <tr>
            <th scope="col">{t('request.item')}</th>
            <th scope="col">{t('request.units')}</th>
            <th scope="col">{t('request.price')}</th>
            <th scope="col">{t('request.amount')}</th>
          </tr>
        </thead>
      )}
      <tbody>
        {shown.map((line) => (
          <Line key={line.meter} line={line} amount={amountOf(line.cost)} />
        ))}
        {shown.length === 0 && (
          <tr>
            <th scope="row" colSpan={4}>
              {t(total === null ? 'request.no_prices' : 'request.no_bill')}
            </th>
          </tr>
        )}
      </tbody>
      <tfoot>
        {total !== null && lines.length > 0 && (
          <Foot name={t('request.sum')} amount={amountOf(total)} className={css.sum} />
        )}
        {lines.length > 0 &&
          adjustments.map(({ reason, amount }) => (
            <Foot key={reason} name={t(`request.bill_${reason}`)} amount={amountOf(amount)} />
          ))}
        <Foot name={chargedLabel} amount={amountOf(booked)} className={css.charged} />
        {credit !== null && (
          <>
            <Foot
              name={t('request.given_back', { when: format.dateTime(credit.at) })}
              amount={amountOf(decimalText({ digits: -microOf(credit.amount), scale: 6 }))}
            />
            <Foot
              name={t('request.remains')}
              amount={amountOf(decimalText({ digits: microOf(charged) - microOf(credit.amount), scale: 6 }))}
              className={css.charged}
            />
          </>
        )}
      </tfoot>
    </table>
  )
}

/** With as many digits as the longest amount of the bill, so that decimal marks stand below each other. */
function withPlaces(decimal: string, places: number): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  return `${whole}.${fraction.padEnd(places, '0')}`
}

function Line({ line: { meter, units, price }, amount }: { readonly line: BillLine; readonly amount: string }) {
  const { priceKey, scale } = METER_TABLE[meter]
  const { label, places } = PRICE_SCALES[scale]
  return (
    <tr>
      <th scope="row">{t(`meter.${meter}`)}</th>
      <td>{format.number(units / (UNITS_SHOWN[scale] ?? 1), 1)}</td>
      <td>
        {format.exactMoney(decimalText(shift(parseDecimal(price) ?? ZERO, MICRO_PLACES - places)))}{' '}
        <span className={css.per}>{label?.[currentLanguage()] ?? t(`price.${priceKey}`)}</span>
      </td>
      <td>{amount}</td>
    </tr>
  )
}

interface FootProps {
  readonly name: string
  readonly amount: string
  readonly className?: string | undefined
}

function Foot({ name, amount, className }: FootProps) {
  return (
    <tr className={className}>
      <th scope="row" colSpan={3}>
        {name}
      </th>
      <td>{amount}</td>
    </tr>
  )
}

/** The hold of a request, and how it ended. */
export function Hold({ hold }: { readonly hold: StoryParts['hold'] }) {
  if (hold === null) return <Text c="dimmed">{t('request.no_hold')}</Text>
  return (
    <Facts
      items={[
        [t('request.held'), `${format.exactRubles(hold.amount)} · ${format.time(hold.placed_at)}`],
        [t('request.hold_state'), t(`request.hold_${hold.state}`)],
        [t('request.charged'), format.exactRubles(hold.charged)],
        [t('request.returned'), format.exactRubles(hold.returned)],
        [t('request.shortfall'), hold.shortfall === 0 ? null : format.exactRubles(hold.shortfall)],
        [t('request.ended'), hold.ended_at === null ? null : format.dateTime(hold.ended_at)],
      ]}
    />
  )
}

/** The time of a request, drawn to scale: from its arrival to the first token, then to the end. */
export function Timeline({ story }: { readonly story: Pick<RequestStory, 'timings' | 'latency_ms' | 'duration_ms'> }) {
  const { timings, latency_ms: latency, duration_ms: duration } = story
  const waited = latency === null ? 1 : Math.min(1, latency / Math.max(1, duration))
  // The type CSSProperties does not have custom properties.
  const style = { '--waited': waited } as CSSProperties
  return (
    <>
      <div className={css.track} style={style} aria-hidden="true">
        <span className={css.wait} />
        <span className={css.flow} />
      </div>
      <div className={css.legend}>
        <Note size="xs">{t('request.waiting', { time: format.duration(latency ?? duration) })}</Note>
        {latency !== null && (
          <Note size="xs">{t('request.answering', { time: format.duration(duration - latency) })}</Note>
        )}
      </div>
      <Facts
        items={[
          [t('request.arrived'), format.dateTime(timings.arrived_at)],
          [t('request.first_token'), timings.first_token_at === null ? null : format.dateTime(timings.first_token_at)],
          [t('request.ended'), format.dateTime(timings.ended_at)],
        ]}
      />
    </>
  )
}

/** The providers that were called, in order, with the result of each. */
export function Route({ tries }: { readonly tries: RequestStory['attempts'] }) {
  if (tries.length === 0) return <Text c="dimmed">{t('request.no_attempts')}</Text>
  const numbered = tries.map((attempt, index) => ({ ...attempt, number: index + 1 }))
  return (
    <ol className={css.route}>
      {numbered.map((attempt) => (
        <li key={attempt.number}>
          <span className={clsx('circle', attempt.outcome === 'answered' ? 'badge-good' : 'badge-bad')}>
            {attempt.number}
          </span>
          <div>
            <span className={css.provider}>{attempt.provider ?? '–'}</span>{' '}
            <StatusBadge tone={attempt.outcome === 'answered' ? 'good' : 'bad'}>
              {t(`request.${attempt.outcome}`)}
            </StatusBadge>{' '}
            <span className={css.why}>{attemptText(attempt)}</span>
            {attempt.said !== null && (
              <blockquote className={css.said} lang="en" aria-label={t('failure.said')}>
                {attempt.said}
              </blockquote>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

/** Why the answer ended, and what the provider called it. */
export function finishText(story: Pick<RequestStory, 'finish_reason' | 'native_finish_reason'>): string | null {
  const { finish_reason: reason, native_finish_reason: native } = story
  if (reason === null) return native
  const name = t(`finish.${reason}`)
  return native === null || native === reason ? name : `${name} (${native})`
}
