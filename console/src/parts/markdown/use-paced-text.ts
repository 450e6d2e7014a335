import { useEffect, useRef, useState } from 'react'

/** A pause is so many times as long as drawing took: a long answer that arrives in many pieces leaves the page usable. */
const PAUSE_PER_DRAWING = 8
const PAUSE_MS_MAX = 2_000

/** A text that grows, drawn again only as often as drawing it allows; whole at its end. */
export function usePacedText(text: string, ended: boolean): string {
  const [shown, setShown] = useState(text)
  const newest = useRef(text)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const pauseMs = useRef(0)
  newest.current = text
  useEffect(() => {
    if (ended || timer.current !== null) return
    timer.current = setTimeout(() => {
      timer.current = null
      const startMs = performance.now()
      setShown(newest.current)
      requestAnimationFrame(() => {
        pauseMs.current = Math.min(PAUSE_MS_MAX, (performance.now() - startMs) * PAUSE_PER_DRAWING)
      })
    }, pauseMs.current)
  }, [text, ended])
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current)
      timer.current = null
    },
    [],
  )
  return ended ? text : shown
}
