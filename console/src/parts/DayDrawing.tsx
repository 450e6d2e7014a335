import { ColorSwatch, Group, Paper, Text } from '@mantine/core'
import { scaleBand, scaleLinear } from '@visx/scale'
import { dayParts, type Figures } from './DayChart.tsx'
import css from './day-chart.module.css'
import { Note } from './cells.tsx'
import { colourOf } from './thing-colours.ts'

const DAY_LABEL_PX = 92
const BAR_MOST_PX = 28
const BAR_SHARE = 0.7

interface Canvas {
  readonly kind: 'stack' | 'group'
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
        {width > 0 && <Bars kind={kind} scale={scale} figures={figures} />}
      </svg>
      {pointed !== null && <ChartTip at={pointed} figures={figures} x={scale.middle(pointed)} width={width} />}
    </>
  )
}

/** Grid lines with their amounts, and as many names of days as fit. */
function Axes({ scale, figures: { days, tickOf }, width, height }: MarksProps & Omit<Canvas, 'kind'>) {
  const { left, x, y, ticks, middle } = scale
  const texts = days.map(tickOf)
  const labelPx = Math.max(DAY_LABEL_PX, longest(texts) * LETTER_PX + AXIS_GAP_PX)
  const every = Math.max(1, Math.ceil(labelPx / Math.max(1, x.step())))
  const lastX = Math.min(middle(days.length - 1), width - labelPx / 2)
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
      {texts.map((text, index) => {
        const fromLast = texts.length - 1 - index
        const at = fromLast === 0 ? lastX : middle(index)
        // The last name is moved into the chart, and those beside it give way.
        const fits = fromLast % every === 0 && (fromLast === 0 || at + labelPx <= lastX)
        return (
          fits && (
            <text key={days[index]} x={at} y={height - 6} textAnchor="middle" className={css.text}>
              {text}
            </text>
          )
        )
      })}
    </>
  )
}

function longest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length))
}

interface MarksProps {
  readonly scale: Scale
  readonly figures: Figures
}

function Bars({ kind, scale: { x, y }, figures: { rows, series } }: MarksProps & Pick<Canvas, 'kind'>) {
  const beside = kind === 'group' ? series.length : 1
  const room = Math.min(BAR_MOST_PX * beside, x.bandwidth() * BAR_SHARE)
  return rows.flatMap((values, day) => {
    const left = (x(day) ?? 0) + (x.bandwidth() - room) / 2
    // Losses are stacked below the line, apart from what is above it.
    const ends = { up: 0, down: 0 }
    return values.flatMap((value, number) => {
      const side = value < 0 ? 'down' : 'up'
      const from = kind === 'stack' ? ends[side] : 0
      ends[side] = from + value
      const [one, other] = [y(from), y(from + value)]
      return value === 0
        ? []
        : [
            <rect
              key={`${series[number]?.name} ${day}`}
              x={left + (kind === 'group' ? (room / beside) * number : 0)}
              y={Math.min(one, other)}
              width={Math.max(0.5, room / beside)}
              height={Math.max(1, Math.abs(one - other))}
              fill={colourOf(series[number]?.colour ?? 0)}
              rx={1.5}
              data-series={series[number]?.name}
            />,
          ]
    })
  })
}

interface ChartTipProps {
  readonly at: number
  readonly figures: Figures
  /** The middle of the day, and the width of the chart, in px. */
  readonly x: number
  readonly width: number
}

/** The figures of the day under the pointer, on the side with more space. */
function ChartTip({ at, figures, x, width }: ChartTipProps) {
  const day = figures.days[at]
  if (day === undefined) return null
  const place = x > width / 2 ? { right: width - x + 12 } : { left: x + 12 }
  return (
    <Paper withBorder shadow="md" px="sm" py={6} className={css.tip} style={place}>
      <Note size="xs">{figures.nameOf(day)}</Note>
      {dayParts(figures, at).map(({ name, label, colour, text }) => (
        <Group key={name} gap={6} wrap="nowrap" className={colour === null ? css.sum : undefined}>
          {colour !== null && <ColorSwatch size={9} withShadow={false} color={colourOf(colour)} />}
          <Text size="sm">
            {label}: <b>{text}</b>
          </Text>
        </Group>
      ))}
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
  const sums = rows.flatMap((values) =>
    [Math.max, Math.min].map((side) => values.reduce((sum, value) => sum + side(0, value), 0)),
  )
  const values = kind === 'stack' ? sums : rows.flat()
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
  return Math.max(AXIS_LEAST_PX, AXIS_GAP_PX + Math.ceil(longest(texts) * LETTER_PX))
}
