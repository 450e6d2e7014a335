import { useEffect, useRef, useState, type ReactNode } from 'react'
import clsx from 'clsx'
import css from '../style/list.module.css'

/** A text on one line. Where it is cut off it is whole under the pointer, and on focus, which a tap gives it too. */
export function Clip({ text, mono = false }: { readonly text: string; readonly mono?: boolean }): ReactNode {
  const line = useRef<HTMLSpanElement>(null)
  const [isCut, setCut] = useState(false)
  useEffect(() => {
    const element = line.current
    if (element === null) return undefined
    const watch = new ResizeObserver(() => {
      // On focus it is whole, and stays focusable.
      if (document.activeElement !== element) setCut(element.scrollWidth > element.clientWidth)
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  return (
    <span ref={line} className={clsx(css.clip, mono && css.mono)} {...(isCut ? { tabIndex: 0, title: text } : {})}>
      {text}
    </span>
  )
}
