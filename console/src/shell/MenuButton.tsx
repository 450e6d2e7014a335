import { UnstyledButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFirstUse } from '../parts/first-use.ts'
import type { MenuEntry } from '../parts/RowMenu.tsx'
import { onDemand } from '../parts/OnDemand.tsx'

export interface MenuButtonProps {
  readonly face: ReactNode
  readonly label: string
  readonly className: string | undefined
  readonly entries: readonly MenuEntry[]
}

const OpenedMenu = onDemand('OpenedMenu', () => import('./OpenedMenu.tsx'))

/** A button that opens a menu. */
export function MenuButton(props: MenuButtonProps) {
  const { face, label, className } = props
  const { isUsed, button } = useFirstUse(OpenedMenu)
  if (isUsed) return <OpenedMenu {...props} />
  return (
    <UnstyledButton
      className={className ?? ''}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      {...button}
    >
      {face}
    </UnstyledButton>
  )
}
