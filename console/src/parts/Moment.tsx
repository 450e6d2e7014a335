import type { ReactNode } from 'react'
import { useFormat } from './use-format.ts'

/** A time as short as a list needs; whole under the pointer. */
export function Moment({
  at,
  as = 'moment',
}: {
  readonly at: string
  readonly as?: 'moment' | 'date' | 'ago'
}): ReactNode {
  const format = useFormat()
  return (
    <time dateTime={at} title={format.dateTime(at)}>
      {format[as](at)}
    </time>
  )
}
