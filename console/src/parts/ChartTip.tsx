import { ColorSwatch, Group, Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { colourOf, type Figures } from './chart-figures.ts'
import css from './day-chart.module.css'

interface ChartTipProps {
  readonly at: number
  readonly figures: Figures
  /** The middle of the day, and the width of the chart, in px. */
  readonly x: number
  readonly width: number
}

/** The figures of the day that the pointer is on, to the side that has more room. */
export function ChartTip({
  at,
  figures: { days, rows, series, nameOf, valueText },
  x,
  width,
}: ChartTipProps): ReactNode {
  const day = days[at]
  if (day === undefined) return null
  const place = x > width / 2 ? { right: width - x + 12 } : { left: x + 12 }
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
