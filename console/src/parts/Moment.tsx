import type { ReactNode } from 'react'
import { useFormat } from './use-format.ts'

interface MomentProps {
  readonly at: string
  readonly as?: 'moment' | 'date' | 'ago'
  /** The words that the time stands in. */
  readonly said?: (when: string) => string
}

/** A time as short as a list needs; whole under the pointer. */
export function Moment({ at, as = 'moment', said = (when) => when }: MomentProps): ReactNode {
  const format = useFormat()
  return (
    <time dateTime={at} title={format.dateTime(at)}>
      {said(format[as](at))}
    </time>
  )
}
