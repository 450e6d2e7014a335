import { useEffect, useRef, useState } from 'react'
import { tellFailure } from './Loaded.tsx'
import type { OnDemand } from './OnDemand.tsx'

/**
 * The library's menus and their positioning would be a fifth of the first load, so they are loaded with the first use
 * of one. If the file cannot be loaded, a notification has a button to try again.
 */
export function useFirstUse<Props extends object>(opened: OnDemand<Props>) {
  /** Whether the file is loaded, so that its component replaces the button. */
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
 * For a component that replaces a used button: its button gets the focus of the old one before the menu opens, so that
 * the focus can return to it.
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
