import { ColorSwatch, Group, Paper, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useState, type CSSProperties, type ReactNode, type Ref } from 'react'
import { chartScale, stacked, type Band, type Scale } from './chart-scale.ts'
import { ChartTable } from './ChartTable.tsx'
import css from './day-chart.module.css'
import { useFormat } from './use-format.ts'
import { ownValue } from '../../../src/lib/own-value.ts'

export interface ChartSeries {
  readonly name: string
  readonly label: string
}

export interface DayChartProps {
  readonly kind: 'area' | 'bars'
  /** An object for each day, with its `day` and a number for each series. */
  readonly days: readonly Readonly<Record<string, number | string>>[]
  readonly series: readonly ChartSeries[]
  readonly unit: 'money' | 'count'
  /** What the chart shows, for screen readers. */
  readonly label: string
  readonly height?: number
  /** How a `day` is written, where it is not a day but an hour. */
  readonly nameOf?: (day: string) => string
  /** The same below the axis, where there is little room. */
  readonly tickOf?: (day: string) => string
  /** Opens what a day, and the series under the pointer, consist of. */
  readonly open?: (day: string, series: string | null) => void
}

/** In `base.css`. */
const COLOURS = 8
const DAY_LABEL_PX = 92
const BAR_MOST_PX = 28

/**
 * A chart by day, drawn here: a chart library would be more than a third of the first load. Arrow keys go through its
 * days, and the same figures are a table below it.
 */
export function DayChart(props: DayChartProps): ReactNode {
  const { kind, days, series, unit, label, height = 240 } = props
  const format = useFormat()
  const { ref, width } = useElementSize()
  const [pointed, setPointed] = useState<number | null>(null)
  const rows = days.map((day) => series.map(({ name }) => Number(ownValue(day, name) ?? 0)))
  const bands = rows.map((values) =>
    kind === 'bars' ? stacked(values) : values.map((value): Band => ({ from: 0, to: value })),
  )
  const scale = chartScale({
    width,
    height,
    days: days.length,
    ends: bands.flat().map(({ to }) => to),
    isWhole: unit === 'count',
    tickText: (tick) => (unit === 'money' ? format.compactMoney(tick) : format.compact(tick)),
  })
  const figures: Figures = {
    days: days.map((day) => String(day['day'])),
    rows,
    series,
    nameOf: props.nameOf ?? ((day) => format.day(day)),
    valueText: (value) => (unit === 'money' ? format.money(value) : format.number(value)),
  }
  return (
    <>
      {series.length > 1 && <Legend series={series} />}
      <Slider frame={ref} figures={figures} bands={bands} scale={scale} pointed={pointed} point={setPointed} {...props}>
        <svg width="100%" height={height} className={css.chart} aria-hidden="true">
          <Axes scale={scale} days={figures.days} nameOf={props.tickOf ?? figures.nameOf} />
          {pointed !== null && (
            <rect
              x={scale.left + scale.step * pointed}
              y={scale.top}
              width={scale.step}
              height={scale.bottom - scale.top}
              className={css.pointed}
            />
          )}
          {width > 0 && kind === 'area' && <Areas scale={scale} series={series} bands={bands} />}
          {width > 0 && kind === 'bars' && <Bars scale={scale} days={figures.days} bands={bands} />}
        </svg>
        {pointed !== null && <Tip at={pointed} figures={figures} place={besidePoint(scale.x(pointed), width)} />}
      </Slider>
      <ChartTable label={label} figures={figures} />
    </>
  )
}

/** What a chart shows, in words. */
export interface Figures {
  readonly days: readonly string[]
  /** The values of a day, one for each series. */
  readonly rows: readonly (readonly number[])[]
  readonly series: readonly ChartSeries[]
  readonly nameOf: (day: string) => string
  readonly valueText: (value: number) => string
}

interface SliderProps extends Pick<DayChartProps, 'label' | 'open'> {
  readonly frame: Ref<HTMLDivElement>
  readonly figures: Figures
  readonly bands: readonly (readonly Band[])[]
  readonly scale: Scale
  readonly pointed: number | null
  readonly point: (day: number | null) => void
  readonly children: ReactNode
}

/** The chart's days as a slider, for pointer, keyboard and screen reader. */
function Slider({ frame, figures, bands, scale, label, open, pointed, point, children }: SliderProps): ReactNode {
  const { days, series } = figures
  const last = days.length - 1
  const shown = Math.min(pointed ?? last, last)
  const openAt = (index: number, y: number | null): void => {
    const day = days[index]
    if (day === undefined) return
    const isHit = ({ from, to }: Band): boolean => y !== null && scale.y(to) <= y && y <= scale.y(from)
    open?.(day, series[(bands[index] ?? []).findIndex(isHit)]?.name ?? null)
  }
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
      onPointerMove={({ currentTarget, clientX }) =>
        point(scale.dayAt(clientX - currentTarget.getBoundingClientRect().left))
      }
      onPointerLeave={() => point(null)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') return openAt(shown, null)
        const next = nextDay(event.key, pointed, last)
        if (next === null) return
        event.preventDefault()
        point(next)
      }}
      onBlur={() => point(null)}
      onClick={({ currentTarget, clientX, clientY }) => {
        const { left, top } = currentTarget.getBoundingClientRect()
        openAt(scale.dayAt(clientX - left) ?? -1, clientY - top)
      }}
    >
      {children}
    </div>
  )
}

/** The day that a key goes to from the pointed one, the last where none is; null = another key. */
function nextDay(key: string, pointed: number | null, last: number): number | null {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return Math.max(0, pointed === null ? last : pointed - 1)
    case 'ArrowRight':
    case 'ArrowUp':
      return Math.min(last, pointed === null ? last : pointed + 1)
    case 'Home':
      return 0
    case 'End':
      return last
    default:
      return null
  }
}

/** A day with its figures, as a screen reader says them. */
function spoken({ days, rows, series, nameOf, valueText }: Figures, at: number): string {
  const day = days[at]
  if (day === undefined) return '–'
  const said = series.flatMap(({ label }, number) => {
    const value = rows[at]?.[number] ?? 0
    return value === 0 && series.length > 1 ? [] : [`${label} ${valueText(value)}`]
  })
  return `${nameOf(day)}: ${said.length === 0 ? '–' : said.join(', ')}`
}

/** To the side of the pointed day that has more room. */
function besidePoint(x: number, width: number): CSSProperties {
  return x > width / 2 ? { right: width - x + 12 } : { left: x + 12 }
}

function colourOf(number: number): string {
  return `var(--chart-${(number % COLOURS) + 1})`
}

/** Lines with their amounts, and as many names of days as there is room for. */
function Axes({
  scale,
  days,
  nameOf,
}: {
  readonly scale: Scale
  readonly days: readonly string[]
  readonly nameOf: (day: string) => string
}): ReactNode {
  const { left, width, height, step, ticks, x, y } = scale
  const every = Math.max(1, Math.ceil(DAY_LABEL_PX / Math.max(1, step)))
  return (
    <>
      {ticks.map(({ value, text }) => (
        <g key={value}>
          <line x1={left} x2={width} y1={y(value)} y2={y(value)} className={css.grid} />
          <text x={left - 8} y={y(value)} dy="0.32em" textAnchor="end" className={css.text}>
            {text}
          </text>
        </g>
      ))}
      {days.map(
        (day, index) =>
          (days.length - 1 - index) % every === 0 && (
            <text
              key={day}
              x={Math.min(x(index), width - DAY_LABEL_PX / 2)}
              y={height - 6}
              textAnchor="middle"
              className={css.text}
            >
              {nameOf(day)}
            </text>
          ),
      )}
    </>
  )
}

interface AreasProps {
  readonly scale: Scale
  readonly series: readonly ChartSeries[]
  /** A band for each series, day by day. */
  readonly bands: readonly (readonly Band[])[]
}

function Areas({ scale: { x, y }, series, bands }: AreasProps): ReactNode {
  return series.map(({ name }, number) => (
    <Area
      key={name}
      points={bands.map((day, index) => [x(index), y(day[number]?.to ?? 0)])}
      floor={y(0)}
      colour={colourOf(number)}
    />
  ))
}

function Area({
  points,
  floor,
  colour,
}: {
  readonly points: readonly (readonly [number, number])[]
  readonly floor: number
  readonly colour: string
}): ReactNode {
  const line = points.map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`).join('')
  return (
    <>
      <path
        d={`${line}L${points.at(-1)?.[0] ?? 0} ${floor}L${points[0]?.[0] ?? 0} ${floor}Z`}
        fill={colour}
        className={css.area}
      />
      <path d={line} stroke={colour} className={css.line} />
    </>
  )
}

interface BarsProps {
  readonly scale: Scale
  readonly days: readonly string[]
  readonly bands: readonly (readonly Band[])[]
}

function Bars({ scale: { x, y, step }, days, bands }: BarsProps): ReactNode {
  const width = Math.min(BAR_MOST_PX, step * 0.7)
  return bands.map((day, index) => <Bar key={days[index]} x={x(index)} width={width} day={day} y={y} />)
}

function Bar({
  x,
  width,
  day,
  y,
}: {
  readonly x: number
  readonly width: number
  readonly day: readonly Band[]
  readonly y: (value: number) => number
}): ReactNode {
  return day.map(
    ({ from, to }, number) =>
      to > from && (
        <rect
          key={number}
          x={x - width / 2}
          y={y(to)}
          width={width}
          height={Math.max(1, y(from) - y(to))}
          fill={colourOf(number)}
          rx={1.5}
        />
      ),
  )
}

interface TipProps {
  readonly at: number
  readonly figures: Figures
  readonly place: CSSProperties
}

/** The figures of the day that the pointer is on. */
function Tip({ at, figures: { days, rows, series, nameOf, valueText }, place }: TipProps): ReactNode {
  const day = days[at]
  if (day === undefined) return null
  return (
    <Paper withBorder shadow="md" px="sm" py={6} className={css.tip} style={place}>
      <Text size="xs" c="dimmed">
        {nameOf(day)}
      </Text>
      {series.map(({ name, label }, number) => {
        const value = rows[at]?.[number] ?? 0
        if (value === 0 && series.length > 1) return null
        return (
          <Group key={name} gap={6} wrap="nowrap">
            <ColorSwatch size={9} withShadow={false} color={colourOf(number)} />
            <Text size="sm">
              {label}: <b>{valueText(value)}</b>
            </Text>
          </Group>
        )
      })}
    </Paper>
  )
}

function Legend({ series }: { readonly series: readonly ChartSeries[] }): ReactNode {
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
