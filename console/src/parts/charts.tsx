import { Skeleton } from '@mantine/core'
import { lazy, Suspense, type ReactNode } from 'react'
import type { DayChartProps } from './DayChart.tsx'

const LazyDayChart = lazy(async () => ({ default: (await import('./DayChart.tsx')).DayChart }))

/** A chart by day; its library comes only with the first chart. */
export function Chart(props: DayChartProps): ReactNode {
  return (
    <Suspense fallback={<Skeleton height={props.height ?? 240} radius="md" />}>
      <LazyDayChart {...props} />
    </Suspense>
  )
}
