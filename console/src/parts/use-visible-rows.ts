import { useMediaQuery } from '@mantine/hooks'
import { useCallback, useEffect, useRef, useState, type RefObject } from 'react'

const ROW_PX = 54
const PHONE_ROW_PX = 92
/** Rows kept above and below the visible part, so that a fast scroll shows no gap. */
const SPARE_ROWS = 8

export interface VisibleRows {
  readonly frame: RefObject<HTMLDivElement | null>
  readonly onScroll: () => void
  /** The index of the first row to draw, and the index after the last. */
  readonly first: number
  readonly last: number
  /** px */
  readonly rowHeight: number
}

/** The rows of a long list that are visible in its scrolling frame. */
export function useVisibleRows(count: number): VisibleRows {
  const rowHeight = useMediaQuery('(max-width: 700px)') === true ? PHONE_ROW_PX : ROW_PX
  const frame = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState({ top: 0, height: 800 })
  const onScroll = useCallback(() => {
    if (frame.current === null) return
    const top = Math.floor(frame.current.scrollTop / rowHeight) * rowHeight
    const height = frame.current.clientHeight
    setSeen((before) => (before.top === top && before.height === height ? before : { top, height }))
  }, [rowHeight])
  useEffect(onScroll, [onScroll, count])
  const first = Math.max(0, Math.min(count, Math.floor(seen.top / rowHeight)) - SPARE_ROWS)
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / rowHeight) + SPARE_ROWS)
  return { frame, onScroll, first, last, rowHeight }
}
