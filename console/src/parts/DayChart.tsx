import { ColorSwatch, Group, Text } from '@mantine/core'
import { AreaChart, BarChart } from '@mantine/charts'
import '@mantine/charts/styles.css'
import type { ReactNode } from 'react'
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

const COLOURS = ['sea.6', 'indigo.5', 'orange.5', 'grape.5', 'cyan.6', 'pink.5', 'lime.6', 'gray.5']

export function DayChart({ kind, days, series, unit, label, height = 240 }: DayChartProps): ReactNode {
  const format = useFormat()
  const shared = {
    h: height,
    data: days.map((day) => ({ ...day, day: format.day(String(day['day'])) })),
    dataKey: 'day',
    series: series.map(({ name, label: shown }, index) => ({ name, label: shown, color: COLOURS[index % COLOURS.length] ?? 'gray.5' })),
    valueFormatter: (value: number) => (unit === 'money' ? format.money(value) : format.number(value)),
    yAxisProps: { width: 64, tickFormatter: (value: number) => (unit === 'money' ? format.compactMoney(value) : format.compact(value)) },
    xAxisProps: { minTickGap: 24 },
    withLegend: false,
    tickLine: 'none' as const,
    gridAxis: 'x' as const,
  }
  return (
    <>
      {series.length > 1 && <Legend series={series} />}
      <div role="img" aria-label={label}>
      {kind === 'area' ? (
        <AreaChart {...shared} curveType="monotone" withDots={false} fillOpacity={0.25} strokeWidth={2} areaProps={{ isAnimationActive: false }} />
      ) : (
        <BarChart {...shared} type="stacked" maxBarWidth={28} barProps={{ isAnimationActive: false }} />
      )}
      </div>
    </>
  )
}

function Legend({ series }: { readonly series: readonly ChartSeries[] }): ReactNode {
  return (
    <Group gap="md" justify="flex-end" mb="sm">
      {series.map(({ name, label }, index) => <Group key={name} gap={6}><ColorSwatch size={11} withShadow={false} color={`var(--mantine-color-${(COLOURS[index % COLOURS.length] ?? 'gray.5').replace('.', '-')})`} /><Text size="sm">{label}</Text></Group>)}
    </Group>
  )
}
