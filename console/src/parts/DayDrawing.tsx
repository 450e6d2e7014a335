import { ColorSwatch, Group, Paper, Text } from '@mantine/core'
import { scaleBand, scaleLinear } from '@visx/scale'
import { Area, BarStack, LinePath } from '@visx/shape'
import { colourOf, type Figures } from './DayChart.tsx'
import css from './day-chart.module.css'
import { Note } from './cells.tsx'

const DAY_LABEL_PX = 92
const BAR_MOST_PX = 28
const BAR_SHARE = 0.7

interface Canvas {
  readonly kind: 'area' | 'bars'
  readonly figures: Figures
  readonly width: number
  readonly height: number
}

interface DayDrawingProps extends Canvas {
  readonly pointed: number | null
  readonly point: (day: number | null) => void
  /** Opens a day and its series under the pointer. */
  readonly openAt: (day: number, series: string | null) => void
}

/** The drawing of a chart. Its file, with the parts of visx that it needs, is loaded after the page's content. */
export function DayDrawing({ kind, figures, width, height, pointed, point, openAt }: DayDrawingProps) {
  const scale = chartScale({ kind, figures, width, height })
  const dayOf = (svg: Element, clientX: number): number | null =>
    scale.dayAt(clientX - svg.getBoundingClientRect().left)
  return (
    <>
      <svg
        width="100%"
        height={height}
        className={css.chart}
        aria-hidden="true"
        onPointerMove={({ currentTarget, clientX }) => point(dayOf(currentTarget, clientX))}
        onClick={({ currentTarget, target, clientX }) => {
          const day = dayOf(currentTarget, clientX)
          const series = target instanceof SVGElement ? target.dataset['series'] : undefined
          if (day !== null) openAt(day, series ?? null)
        }}
      >
        <Axes scale={scale} figures={figures} width={width} height={height} />
        {pointed !== null && (
          <rect
            x={scale.x(pointed)}
            y={scale.top}
            width={scale.x.bandwidth()}
            height={scale.bottom - scale.top}
            className={css.pointed}
          />
        )}
        {width > 0 && kind === 'area' && <Areas scale={scale} figures={figures} />}
        {width > 0 && kind === 'bars' && <Bars scale={scale} figures={figures} />}
      </svg>
      {pointed !== null && <ChartTip at={pointed} figures={figures} x={scale.middle(pointed)} width={width} />}
    </>
  )
}

/** Grid lines with their amounts, and as many names of days as fit. */
function Axes({ scale, figures: { days, tickOf }, width, height }: MarksProps & Omit<Canvas, 'kind'>) {
  const { left, x, y, ticks, middle } = scale
  const every = Math.max(1, Math.ceil(DAY_LABEL_PX / Math.max(1, x.step())))
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
              x={Math.min(middle(index), width - DAY_LABEL_PX / 2)}
              y={height - 6}
              textAnchor="middle"
              className={css.text}
            >
              {tickOf(day)}
            </text>
          ),
      )}
    </>
  )
}

interface MarksProps {
  readonly scale: Scale
  readonly figures: Figures
}

function Areas({ scale: { y, middle }, figures: { rows, series } }: MarksProps) {
  return series.map(({ name }, number) => {
    const points = rows.map((values, index) => ({ x: middle(index), y: y(values[number] ?? 0) }))
    return (
      <g key={name}>
        <Area
          data={points}
          x={(at) => at.x}
          y0={y(0)}
          y1={(at) => at.y}
          fill={colourOf(number)}
          className={css.area ?? ''}
        />
        <LinePath
          data={points}
          x={(at) => at.x}
          y={(at) => at.y}
          stroke={colourOf(number)}
          className={css.line ?? ''}
        />
      </g>
    )
  })
}

function Bars({ scale: { x, y }, figures: { rows, series } }: MarksProps) {
  const width = Math.min(BAR_MOST_PX, x.bandwidth() * BAR_SHARE)
  return (
    <BarStack
      data={rows.map((values, day) => ({ values, day }))}
      keys={[...series.keys()]}
      value={({ values }, number) => Math.max(0, values[number] ?? 0)}
      x={({ day }) => day}
      xScale={x}
      yScale={y}
      color={colourOf}
    >
      {(stacks) =>
        stacks.flatMap(({ bars, key }) =>
          bars
            .filter(({ height }) => height > 0)
            .map((bar) => (
              <rect
                key={`${key} ${bar.index}`}
                x={bar.x + (bar.width - width) / 2}
                y={bar.y}
                width={width}
                height={Math.max(1, bar.height)}
                fill={bar.color}
                rx={1.5}
                data-series={series[key]?.name}
              />
            )),
        )
      }
    </BarStack>
  )
}

interface ChartTipProps {
  readonly at: number
  readonly figures: Figures
  /** The middle of the day, and the width of the chart, in px. */
  readonly x: number
  readonly width: number
}

/** The figures of the day under the pointer, on the side with more space. */
function ChartTip({ at, figures: { days, rows, series, nameOf, valueText }, x, width }: ChartTipProps) {
  const day = days[at]
  if (day === undefined) return null
  const place = x > width / 2 ? { right: width - x + 12 } : { left: x + 12 }
  return (
    <Paper withBorder shadow="md" px="sm" py={6} className={css.tip} style={place}>
      <Note size="xs">{nameOf(day)}</Note>
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

const TICKS = 4
const AXIS_LEAST_PX = 66
const AXIS_GAP_PX = 12
/** The mean width of a digit, a Cyrillic letter and a currency sign. */
const LETTER_PX = 7.2
const BOTTOM_PX = 26
const TOP_PX = 8

/** Positions in a chart by day, in px. */
function chartScale({ kind, figures: { rows, isWhole, tickText }, width, height }: Canvas) {
  const tops = kind === 'bars' ? rows.map((values) => values.reduce((sum, value) => sum + Math.max(0, value), 0)) : []
  const values = kind === 'bars' ? tops : rows.flat()
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  const [bottom, top] = [height - BOTTOM_PX, TOP_PX]
  const y = scaleLinear<number>({ domain: least === most ? [0, 1] : [least, most], range: [bottom, top], nice: TICKS })
  const ticks = y
    .ticks(TICKS)
    .filter((value) => !isWhole || Number.isInteger(value))
    .map((value) => ({ value, text: tickText(value) }))
  const left = axisWidthPx(ticks.map(({ text }) => text))
  const x = scaleBand<number>({ domain: [...rows.keys()], range: [left, Math.max(left, width)] })
  return {
    x,
    y,
    ticks,
    left,
    top,
    bottom,
    /** The middle of a day. */
    middle: (day: number): number => (x(day) ?? left) + x.bandwidth() / 2,
    /** The day at a distance from the left edge of the chart; null = no day. */
    dayAt: (distance: number): number | null => {
      const day = Math.floor((distance - left) / x.step())
      return day >= 0 && day < rows.length ? day : null
    },
  }
}

type Scale = ReturnType<typeof chartScale>

/** The width for the labels of an axis, of 12 px, with the gap to its lines. */
function axisWidthPx(texts: readonly string[]): number {
  return Math.max(AXIS_LEAST_PX, AXIS_GAP_PX + Math.ceil(Math.max(0, ...texts.map((text) => text.length)) * LETTER_PX))
}
