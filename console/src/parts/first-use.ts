import { useEffect, useRef, useState } from 'react'
import { tellFailure } from './Loaded.tsx'
import type { OnDemand } from './OnDemand.tsx'

/**
 * A fifth of the first load is the library's menus and what places them, so they come with the first use of one. A file
 * that cannot be loaded is a notice with a button to try again.
 */
export function useFirstUse<Props extends object>(opened: OnDemand<Props>) {
  /** The file is there, and what it has takes the button's place. */
  const [isUsed, setIsUsed] = useState(false)
  const warm = (): void => void opened.preload()
  const open = (): void => {
    opened.load().then(
      () => setIsUsed(true),
      (failure: unknown) => tellFailure(failure, { retry: open }),
    )
  }
  return { isUsed, button: { onPointerEnter: warm, onFocus: warm, onClick: open } }
}

/**
 * For what takes the place of a button that was used: the new button gets the focus of the old one before it opens, so
 * that the focus comes back to it.
 */
export function useOpenedAtOnce() {
  const ref = useRef<HTMLButtonElement>(null)
  const [opened, onChange] = useState(false)
  useEffect(() => {
    ref.current?.focus({ preventScroll: true })
    onChange(true)
  }, [])
  return { ref, opened, onChange }
}
