import { ColorSwatch, Group, Paper, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useState, type CSSProperties, type PointerEvent, type ReactNode } from 'react'
import { chartScale, stacked, type Band, type Scale } from './chart-scale.ts'
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
}

const COLOURS = ['sea-6', 'indigo-5', 'orange-5', 'grape-5', 'cyan-6', 'pink-5', 'lime-6', 'gray-5']
const DAY_LABEL_PX = 92
const BAR_MOST_PX = 28

/** A chart by day, drawn here: a chart library would be more than a third of the first load. */
export function DayChart({ kind, days, series, unit, label, height = 240 }: DayChartProps): ReactNode {
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
  const point = ({ currentTarget, clientX }: PointerEvent<Element>): void =>
    setPointed(scale.dayAt(clientX - currentTarget.getBoundingClientRect().left))
  const dayNames = days.map((day) => String(day['day']))
  return (
    <>
      {series.length > 1 && <Legend series={series} />}
      <div
        ref={ref}
        className={css.frame}
        role="img"
        aria-label={label}
        onPointerMove={point}
        onPointerLeave={() => setPointed(null)}
      >
        <svg width="100%" height={height} className={css.chart} aria-hidden="true">
          <Axes scale={scale} days={dayNames} />
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
          {width > 0 && kind === 'bars' && <Bars scale={scale} days={dayNames} bands={bands} />}
        </svg>
        {pointed !== null && dayNames[pointed] !== undefined && (
          <Tip
            day={dayNames[pointed]}
            values={rows[pointed] ?? []}
            series={series}
            unit={unit}
            place={besidePoint(scale.x(pointed), width)}
          />
        )}
      </div>
    </>
  )
}

/** To the side of the pointed day that has more room. */
function besidePoint(x: number, width: number): CSSProperties {
  return x > width / 2 ? { right: width - x + 12 } : { left: x + 12 }
}

function colourOf(number: number): string {
  return `var(--mantine-color-${COLOURS[number % COLOURS.length] ?? 'gray-5'})`
}

/** Lines with their amounts, and as many names of days as there is room for. */
function Axes({ scale, days }: { readonly scale: Scale; readonly days: readonly string[] }): ReactNode {
  const format = useFormat()
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
              x={Math.min(x(index), width - DAY_LABEL_PX / 3)}
              y={height - 6}
              textAnchor="middle"
              className={css.text}
            >
              {format.day(day)}
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
  readonly day: string
  readonly values: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly unit: DayChartProps['unit']
  readonly place: CSSProperties
}

/** The figures of the day that the pointer is on. */
function Tip({ day, values, series, unit, place }: TipProps): ReactNode {
  const format = useFormat()
  return (
    <Paper withBorder shadow="md" px="sm" py={6} className={css.tip} style={place}>
      <Text size="xs" c="dimmed">
        {format.day(day)}
      </Text>
      {series.map(({ name, label }, number) => {
        const value = values[number] ?? 0
        if (value === 0 && series.length > 1) return null
        return (
          <Group key={name} gap={6} wrap="nowrap">
            <ColorSwatch size={9} withShadow={false} color={colourOf(number)} />
            <Text size="sm">
              {label}: <b>{unit === 'money' ? format.money(value) : format.number(value)}</b>
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
