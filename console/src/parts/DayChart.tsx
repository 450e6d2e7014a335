import { ColorSwatch, Group, Paper, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useState, type PointerEvent, type ReactNode } from 'react'
import { axisTicks, axisWidthPx, stacked, type Band } from './chart-scale.ts'
import css from './day-chart.module.css'
import { useFormat } from './use-format.ts'

export interface ChartSeries {
  readonly name: string
  readonly label: string
}

export interface DayChartProps {
  readonly kind: 'area' | 'bars'
  /** One object a day with its `day` and a number per series. */
  readonly days: readonly Readonly<Record<string, number | string>>[]
  readonly series: readonly ChartSeries[]
  readonly unit: 'money' | 'count'
  /** What the chart shows, for those who do not see it. */
  readonly label: string
  readonly height?: number
}

const COLOURS = ['sea-6', 'indigo-5', 'orange-5', 'grape-5', 'cyan-6', 'pink-5', 'lime-6', 'gray-5']
const BOTTOM_PX = 26
const TOP_PX = 8
const DAY_LABEL_PX = 76
const BAR_MOST_PX = 28

/** A chart by day, drawn here: a chart library would be more than a third of the first load. */
export function DayChart({ kind, days, series, unit, label, height = 240 }: DayChartProps): ReactNode {
  const format = useFormat()
  const { ref, width } = useElementSize()
  const [pointed, setPointed] = useState<number | null>(null)
  const rows = days.map((day) => series.map(({ name }) => Number(day[name] ?? 0)))
  const bands = rows.map((values) =>
    kind === 'bars' ? stacked(values) : values.map((value): Band => ({ from: 0, to: value })),
  )
  const ends = bands.flat().map(({ to }) => to)
  const ticks = axisTicks(Math.min(0, ...ends), Math.max(0, ...ends), unit === 'count')
  const tickTexts = ticks.map((tick) => (unit === 'money' ? format.compactMoney(tick) : format.compact(tick)))
  const left = axisWidthPx(tickTexts)
  const least = ticks[0] ?? 0
  const most = ticks.at(-1) ?? 1
  const step = Math.max(0, width - left) / Math.max(1, days.length)
  const x = (index: number): number => left + step * (index + 0.5)
  const y = (value: number): number => TOP_PX + (height - TOP_PX - BOTTOM_PX) * (1 - (value - least) / (most - least))
  const point = ({ currentTarget, clientX }: PointerEvent<Element>): void => {
    const index = Math.floor((clientX - currentTarget.getBoundingClientRect().left - left) / step)
    setPointed(index >= 0 && index < days.length ? index : null)
  }
  const every = Math.max(1, Math.ceil(DAY_LABEL_PX / Math.max(1, step)))
  const shown = pointed === null ? undefined : days[pointed]
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
          {ticks.map((tick, index) => (
            <g key={tick}>
              <line x1={left} x2={width} y1={y(tick)} y2={y(tick)} className={css.grid} />
              <text x={left - 8} y={y(tick)} dy="0.32em" textAnchor="end" className={css.text}>
                {tickTexts[index]}
              </text>
            </g>
          ))}
          {days.map(
            (day, index) =>
              (days.length - 1 - index) % every === 0 && (
                <text
                  key={String(day['day'])}
                  x={Math.min(x(index), width - DAY_LABEL_PX / 3)}
                  y={height - 6}
                  textAnchor="middle"
                  className={css.text}
                >
                  {format.day(String(day['day']))}
                </text>
              ),
          )}
          {pointed !== null && (
            <rect
              x={left + step * pointed}
              y={TOP_PX}
              width={step}
              height={height - TOP_PX - BOTTOM_PX}
              className={css.pointed}
            />
          )}
          {width > 0 &&
            (kind === 'area'
              ? series.map(({ name }, number) => (
                  <Area
                    key={name}
                    points={bands.map((day, index) => [x(index), y(day[number]?.to ?? 0)])}
                    floor={y(0)}
                    colour={colourOf(number)}
                  />
                ))
              : bands.map((day, index) => (
                  <Bars
                    key={String(days[index]?.['day'])}
                    x={x(index)}
                    width={Math.min(BAR_MOST_PX, step * 0.7)}
                    day={day}
                    y={y}
                  />
                )))}
        </svg>
        {shown !== undefined && pointed !== null && (
          <Paper
            withBorder
            shadow="md"
            px="sm"
            py={6}
            className={css.tip}
            style={x(pointed) > width / 2 ? { right: width - x(pointed) + 12 } : { left: x(pointed) + 12 }}
          >
            <Text size="xs" c="dimmed">
              {format.day(String(shown['day']))}
            </Text>
            {series.map(({ name, label: text }, number) =>
              (rows[pointed]?.[number] ?? 0) !== 0 || series.length === 1 ? (
                <Group key={name} gap={6} wrap="nowrap">
                  <ColorSwatch size={9} withShadow={false} color={colourOf(number)} />
                  <Text size="sm">
                    {text}: <b>{valueText(rows[pointed]?.[number] ?? 0)}</b>
                  </Text>
                </Group>
              ) : null,
            )}
          </Paper>
        )}
      </div>
    </>
  )

  function valueText(value: number): string {
    return unit === 'money' ? format.money(value) : format.number(value)
  }
}

function colourOf(number: number): string {
  return `var(--mantine-color-${COLOURS[number % COLOURS.length] ?? 'gray-5'})`
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

function Bars({
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
