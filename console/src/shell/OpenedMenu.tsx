import { Menu, UnstyledButton } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { MenuButtonProps } from './MenuButton.tsx'

/** The menu of a MenuButton. It is open when it is first drawn. */
export function OpenedMenu({ face, label, className, title, entries }: MenuButtonProps): ReactNode {
  return (
    <Menu position="bottom-end" width={240} defaultOpened>
      <Menu.Target>
        <UnstyledButton className={className ?? ''} aria-label={label}>
          {face}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {title !== undefined && <Menu.Label>{title}</Menu.Label>}
        {entries.map((entry, index) => {
          if (entry === 'line') return <Menu.Divider key={index} />
          const { label: text, icon, to, act } = entry
          return to === undefined ? (
            <Menu.Item key={text} leftSection={icon} onClick={act}>
              {text}
            </Menu.Item>
          ) : (
            <Menu.Item key={text} leftSection={icon} component={Link} to={to}>
              {text}
            </Menu.Item>
          )
        })}
      </Menu.Dropdown>
    </Menu>
  )
}
