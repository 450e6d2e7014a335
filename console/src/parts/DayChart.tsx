import { ColorSwatch, Group } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useSearch } from '@tanstack/react-router'
import { type ReactNode, type Ref, useState } from 'react'
import { ownValue } from '../../../src/base/own-value.ts'
import css from './day-chart.module.css'
import { Failed, Outline } from './Loaded.tsx'
import { onDemand } from './OnDemand.tsx'
import { type Search, useChange } from './list-place.ts'
import { colourOf } from './thing-colours.ts'
import { format, t } from './words.ts'

interface DayChartProps {
  /** `stack`: parts of a sum, one above another; `group`: amounts side by side. */
  readonly kind: 'stack' | 'group'
  readonly days: readonly ChartDay[]
  readonly series: readonly ChartSeries[]
  readonly unit: 'money' | 'count'
  /** What the chart shows, for screen readers. */
  readonly label: string
  readonly height?: number
  /** The text of a `day`, for charts whose days are hours. */
  readonly nameOf?: (day: string) => string
  /** A shorter text, for the axis. */
  readonly tickOf?: (day: string) => string
  /** Opens the records behind a day and the series under the pointer. */
  readonly open?: (day: string, series: string | null) => void
}

/** A day with a value for each series. */
export interface ChartDay {
  readonly day: string
  readonly values: readonly number[]
}

/** The drawing is not part of what a page loads first. */
const DayDrawing = onDemand('DayDrawing', () => import('./DayDrawing.tsx'))

/** The parameter of the address with the series that are hidden. */
const HIDDEN = 'off'

/**
 * A chart by day. Arrow keys move between its days; its legend hides series and shows them again. A table below it has
 * the same figures, and opens by itself if the drawing cannot be loaded.
 */
export function DayChart(props: DayChartProps) {
  const { kind, series, label, height = 240, open } = props
  const search: Search = useSearch({ strict: false })
  const hidden = new Set(ownValue(search, HIDDEN)?.split(',').map(decoded))
  const figures = useFigures(props, hidden)
  const { ref, width } = useElementSize()
  const [pointed, setPointed] = useState<number | null>(null)
  const drawing = DayDrawing.useFile()
  const openAt = (index: number, name: string | null): void => {
    const day = figures.days[index]
    if (day !== undefined) open?.(day, name)
  }
  const { data: Drawing } = drawing
  return (
    <>
      {series.length > 1 && <Legend series={series} hidden={hidden} />}
      {drawing.isError ? (
        <Failed failure={drawing.error} retry={() => void drawing.refetch()} />
      ) : (
        <Slider
          frame={ref}
          figures={figures}
          label={label}
          pointed={pointed}
          point={setPointed}
          open={open === undefined ? undefined : openAt}
        >
          <div style={{ height }}>
            {Drawing === undefined ? (
              <Outline height={height} exact />
            ) : (
              <Drawing
                kind={kind}
                figures={figures}
                width={width}
                height={height}
                pointed={pointed}
                point={setPointed}
                openAt={openAt}
              />
            )}
          </div>
        </Slider>
      )}
      <ChartTable key={String(drawing.isError)} label={label} figures={figures} startsOpen={drawing.isError} />
    </>
  )
}

function useFigures({ kind, days, series, unit, nameOf, tickOf }: DayChartProps, hidden: ReadonlySet<string>): Figures {
  const name = nameOf ?? ((day) => format.day(day))
  const seen = series.map((one) => !hidden.has(one.name))
  const isSeen = (_value: unknown, number: number): boolean => !seen.includes(true) || seen[number] === true
  const shown = series.filter(isSeen)
  return {
    days: days.map(({ day }) => day),
    rows: days.map(({ values }) => values.filter(isSeen)),
    series: shown,
    total: kind === 'stack' && shown.length > 1 ? t('chart.total') : null,
    isWhole: unit === 'count',
    nameOf: name,
    tickOf: tickOf ?? name,
    valueText: (value) => (unit === 'money' ? format.money(value) : format.number(value)),
    tickText: (value) => (unit === 'money' ? format.compactMoney(value) : format.compact(value)),
  }
}

/** The name of the series without one, such as requests of no app. */
const UNNAMED = '-'

function encoded(name: string): string {
  return name === '' ? UNNAMED : encodeURIComponent(name)
}

/** A name in the address; it may be damaged there. */
function decoded(name: string): string {
  try {
    return name === UNNAMED ? '' : decodeURIComponent(name)
  } catch {
    return ''
  }
}

/** The figures of a day; those of a sum are its parts that are not 0, and the sum. */
export function dayParts({ rows, series, total, valueText }: Figures, at: number): readonly DayPart[] {
  const values = rows[at] ?? []
  const parts = series.flatMap(({ name, label, colour }, number) => {
    const value = values[number] ?? 0
    return value === 0 && total !== null ? [] : [{ name, label, colour, text: valueText(value) }]
  })
  const sum = { name: '', label: total ?? '', colour: null, text: valueText(sumOf(values)) }
  return total === null ? parts : [...parts, sum]
}

interface DayPart {
  readonly name: string
  readonly label: string
  /** null = the sum. */
  readonly colour: number | null
  readonly text: string
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

interface SliderProps {
  readonly frame: Ref<HTMLDivElement>
  readonly figures: Figures
  readonly label: string
  readonly open: ((day: number, series: string | null) => void) | undefined
  readonly pointed: number | null
  readonly point: (day: number | null) => void
  readonly children: ReactNode
}

/** The chart's days as a slider, for keyboards and screen readers. */
function Slider({ frame, figures, label, open, pointed, point, children }: SliderProps) {
  const last = figures.days.length - 1
  const shown = Math.min(pointed ?? last, last)
  return (
    <div
      ref={frame}
      className={css.frame}
      data-opens={open !== undefined}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={Math.max(0, shown)}
      aria-valuetext={spoken(figures, shown)}
      onPointerLeave={() => point(null)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') return open?.(shown, null)
        const next = nextDay(event.key, pointed, last)
        if (next === null) return
        event.preventDefault()
        point(next)
      }}
      onBlur={() => point(null)}
    >
      {children}
    </div>
  )
}

/**
 * The day that a key moves to from the pointed day, or from the last one if none is pointed; null = not a key of the
 * slider.
 */
function nextDay(key: string, pointed: number | null, last: number): number | null {
  if (key === 'Home') return 0
  if (key === 'End') return last
  const step = ['ArrowLeft', 'ArrowDown'].includes(key) ? -1 : ['ArrowRight', 'ArrowUp'].includes(key) ? 1 : null
  if (step === null) return null
  return pointed === null ? last : Math.max(0, Math.min(last, pointed + step))
}

/** The text of a day and its figures for screen readers. */
function spoken(figures: Figures, at: number): string {
  const day = figures.days[at]
  if (day === undefined) return '–'
  const said = dayParts(figures, at).map(({ label, text }) => `${label} ${text}`)
  return `${figures.nameOf(day)}: ${said.length === 0 ? '–' : said.join(', ')}`
}

function Legend({ series, hidden }: { readonly series: readonly ChartSeries[]; readonly hidden: ReadonlySet<string> }) {
  const change = useChange()
  const turn = (name: string): void => {
    const off = series.map((one) => one.name).filter((one) => (one === name) !== hidden.has(one))
    change({ [HIDDEN]: off.length === series.length ? null : off.map(encoded).join(',') })
  }
  return (
    <Group gap="xs" justify="flex-end" mb="sm" role="group" aria-label={t('chart.series')}>
      {series.map(({ name, label, colour }) => (
        <button
          key={name}
          type="button"
          className={css.key}
          aria-pressed={!hidden.has(name)}
          onClick={() => turn(name)}
        >
          <ColorSwatch size={11} withShadow={false} color={colourOf(colour)} />
          {label}
        </button>
      ))}
    </Group>
  )
}

/** The figures of a chart as a table, the newest first. Its rows are rendered when it is opened. */
function ChartTable({
  label,
  figures: { days, rows, series, total, nameOf, valueText },
  startsOpen,
}: {
  readonly label: string
  readonly figures: Figures
  readonly startsOpen: boolean
}) {
  const [isOpen, setIsOpen] = useState(startsOpen)
  const order = days.map((day, index) => ({ day, values: rows[index] ?? [] })).toReversed()
  return (
    <details className={css.data} open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{t('chart.table')}</summary>
      {isOpen && (
        <div className={css.scroll} tabIndex={0} role="region" aria-label={label}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('chart.when')}</th>
                {series.map(({ name, label: title }) => (
                  <th key={name} scope="col">
                    {title}
                  </th>
                ))}
                {total !== null && <th scope="col">{total}</th>}
              </tr>
            </thead>
            <tbody>
              {order.map(({ day, values }) => (
                <tr key={day}>
                  <th scope="row">{nameOf(day)}</th>
                  {series.map(({ name }, number) => (
                    <td key={name}>{valueText(values[number] ?? 0)}</td>
                  ))}
                  {total !== null && <td>{valueText(sumOf(values))}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  )
}

export interface ChartSeries {
  readonly name: string
  readonly label: string
  /** A measure has its own colour everywhere, and so has a model, a key or an app. */
  readonly colour: number
}

/** The colours of measures. */
export const MEASURES = { revenue: 0, cost: 1, margin: 2, completed: 0, errors: 5 } as const

/** What a chart shows, in words and numbers. */
export interface Figures {
  readonly days: readonly string[]
  /** The values of a day, one for each series. */
  readonly rows: readonly (readonly number[])[]
  readonly series: readonly ChartSeries[]
  /** The name of the sum of a day; null = its series are no parts of a sum. */
  readonly total: string | null
  readonly isWhole: boolean
  readonly nameOf: (day: string) => string
  /** A shorter text, for the axis. */
  readonly tickOf: (day: string) => string
  readonly valueText: (value: number) => string
  readonly tickText: (value: number) => string
}
