import { UnstyledButton } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { onDemand } from '../parts/OnDemand.tsx'
import { tellFailure } from '../parts/tell-failure.tsx'

/** A line of a menu: what it does, or a line between others. */
export type MenuEntry =
  | 'line'
  | {
      readonly label: string
      readonly icon: ReactNode
      readonly to?: string
      readonly act?: () => void
    }

export interface MenuButtonProps {
  readonly face: ReactNode
  readonly label: string
  readonly className: string | undefined
  /** Stands above the entries. */
  readonly title?: string
  readonly entries: readonly MenuEntry[]
}

/** A fifth of the first load is the library's menus and what places them, so they come with the first use of one. */
const OpenedMenu = onDemand('OpenedMenu', async () => (await import('./OpenedMenu.tsx')).OpenedMenu)

export function MenuButton(props: MenuButtonProps): ReactNode {
  const { face, label, className } = props
  const [isUsed, setIsUsed] = useState(false)
  const warm = (): void => void OpenedMenu.preload()
  const open = (): void => {
    OpenedMenu.load().then(
      () => setIsUsed(true),
      (failure: unknown) => tellFailure(failure, { retry: open }),
    )
  }
  if (isUsed) return <OpenedMenu {...props} />
  return (
    <UnstyledButton
      className={className ?? ''}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={warm}
      onFocus={warm}
      onClick={open}
    >
      {face}
    </UnstyledButton>
  )
}
