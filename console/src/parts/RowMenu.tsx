import { ActionIcon, Menu } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { MoreIcon } from './icons.ts'

/** An item of a menu: an action, a link, a heading of further items, or a divider. */
export type MenuEntry =
  | 'line'
  | { readonly heading: string }
  | {
      readonly label: string
      readonly icon?: ReactNode
      readonly to?: LinkProps
      readonly act?: () => void
      readonly harmful?: boolean
    }

export function MenuEntries({ entries }: { readonly entries: readonly (MenuEntry | false)[] }) {
  return entries.map((entry, index) => {
    if (entry === false) return null
    if (entry === 'line') return <Menu.Divider key={index} />
    if ('heading' in entry) return <Menu.Label key={index}>{entry.heading}</Menu.Label>
    const { label, icon, to, act, harmful = false } = entry
    const look = { leftSection: icon, ...(harmful ? { color: 'red' as const } : {}) }
    return to === undefined ? (
      <Menu.Item key={label} onClick={act} {...look}>
        {label}
      </Menu.Item>
    ) : (
      <Menu.Item key={label} renderRoot={(props: object) => <Link {...to} {...props} />} {...look}>
        {label}
      </Menu.Item>
    )
  })
}

interface RowMenuProps {
  /** The label with the name of the row, for screen readers. */
  readonly label: string
  readonly entries: readonly (MenuEntry | false)[]
  /** The content of the button; absent = three dots. */
  readonly button?: ReactNode
}

/** A menu of actions on the record of a row. */
export function RowMenu({ label, entries, button }: RowMenuProps) {
  return (
    <Menu position="bottom-end" width={button === undefined ? 210 : 'max-content'}>
      <Menu.Target>
        {button ?? (
          <ActionIcon variant="subtle" color="gray" aria-label={label}>
            <MoreIcon size={18} />
          </ActionIcon>
        )}
      </Menu.Target>
      <Menu.Dropdown>
        <MenuEntries entries={entries} />
      </Menu.Dropdown>
    </Menu>
  )
}
