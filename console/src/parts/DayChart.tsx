import { ColorSwatch, Group, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { type ReactNode, type Ref, useState } from 'react'
import { ownValue } from '../../../src/base/own-value.ts'
import css from './day-chart.module.css'
import { Failed, Outline } from './Loaded.tsx'
import { onDemand } from './OnDemand.tsx'
import { format, t } from './words.ts'

interface DayChartProps {
  readonly kind: 'area' | 'bars'
  /** One object per day, with its `day` and a number for each series. */
  readonly days: readonly Readonly<Record<string, number | string>>[]
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

/** The drawing is not part of what a page loads first. */
const DayDrawing = onDemand('DayDrawing', () => import('./DayDrawing.tsx'))

/**
 * A chart by day. Arrow keys move between its days. A table below it has the same figures, and opens by itself if the
 * drawing cannot be loaded.
 */
export function DayChart(props: DayChartProps) {
  const { kind, series, label, height = 240, open } = props
  const figures = useFigures(props)
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
      {series.length > 1 && <Legend series={series} />}
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
          {Drawing === undefined ? (
            <Outline height={height} />
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
        </Slider>
      )}
      <ChartTable key={String(drawing.isError)} label={label} figures={figures} startsOpen={drawing.isError} />
    </>
  )
}

function useFigures({ days, series, unit, nameOf, tickOf }: DayChartProps): Figures {
  const name = nameOf ?? ((day) => format.day(day))
  return {
    days: days.map((day) => String(day['day'])),
    rows: days.map((day) => series.map((one) => Number(ownValue(day, one.name) ?? 0))),
    series,
    isWhole: unit === 'count',
    nameOf: name,
    tickOf: tickOf ?? name,
    valueText: (value) => (unit === 'money' ? format.money(value) : format.number(value)),
    tickText: (value) => (unit === 'money' ? format.compactMoney(value) : format.compact(value)),
  }
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
function spoken({ days, rows, series, nameOf, valueText }: Figures, at: number): string {
  const day = days[at]
  if (day === undefined) return '–'
  const said = series.flatMap(({ label }, number) => {
    const value = rows[at]?.[number] ?? 0
    return value === 0 && series.length > 1 ? [] : [`${label} ${valueText(value)}`]
  })
  return `${nameOf(day)}: ${said.length === 0 ? '–' : said.join(', ')}`
}

function Legend({ series }: { readonly series: readonly ChartSeries[] }) {
  return (
    <Group gap="md" justify="flex-end" mb="sm">
      {series.map(({ name, label }, number) => (
        <Group key={name} gap={6}>
          <ColorSwatch size={11} withShadow={false} color={colourOf(number)} />
          <Text size="sm">{label}</Text>
        </Group>
      ))}
    </Group>
  )
}

/** The figures of a chart as a table, the newest first. Its rows are rendered when it is opened. */
function ChartTable({
  label,
  figures: { days, rows, series, nameOf, valueText },
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
              </tr>
            </thead>
            <tbody>
              {order.map(({ day, values }) => (
                <tr key={day}>
                  <th scope="row">{nameOf(day)}</th>
                  {series.map(({ name }, number) => (
                    <td key={name}>{valueText(values[number] ?? 0)}</td>
                  ))}
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
}

/** What a chart shows, in words and numbers. */
export interface Figures {
  readonly days: readonly string[]
  /** The values of a day, one for each series. */
  readonly rows: readonly (readonly number[])[]
  readonly series: readonly ChartSeries[]
  readonly isWhole: boolean
  readonly nameOf: (day: string) => string
  /** A shorter text, for the axis. */
  readonly tickOf: (day: string) => string
  readonly valueText: (value: number) => string
  readonly tickText: (value: number) => string
}

/** The number of chart colours in `base.css`. */
const COLOURS = 8

export function colourOf(series: number): string {
  return `var(--chart-${(series % COLOURS) + 1})`
}
