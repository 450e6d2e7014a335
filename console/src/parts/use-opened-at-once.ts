import { useEffect, useRef, useState, type RefObject } from 'react'

/** What takes the place of a button that was used, and is open. */
export interface OpenedAtOnce {
  /** Of the new button. */
  readonly ref: RefObject<HTMLButtonElement | null>
  readonly opened: boolean
  readonly onChange: (opened: boolean) => void
}

/** The new button gets the focus of the old one before it opens, so that the focus comes back to it. */
export function useOpenedAtOnce(): OpenedAtOnce {
  const ref = useRef<HTMLButtonElement>(null)
  const [opened, onChange] = useState(false)
  useEffect(() => {
    ref.current?.focus({ preventScroll: true })
    onChange(true)
  }, [])
  return { ref, opened, onChange }
}
