import { useState } from 'react'
import type { OnDemand } from './OnDemand.tsx'
import { tellFailure } from './tell-failure.tsx'

/** What a button needs whose file comes with its first use. */
export interface FirstUse {
  /** The file is there, and what it has takes the button's place. */
  readonly isUsed: boolean
  readonly button: { readonly onPointerEnter: () => void; readonly onFocus: () => void; readonly onClick: () => void }
}

/**
 * A fifth of the first load is the library's menus and what places them, so they come with the first use of one. A file
 * that cannot be loaded is a notice with a button to try again.
 */
export function useFirstUse<Props extends object>(opened: OnDemand<Props>): FirstUse {
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
