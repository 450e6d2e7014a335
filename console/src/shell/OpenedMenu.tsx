import { Menu, UnstyledButton } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOpenedAtOnce } from '../parts/use-opened-at-once.ts'
import type { MenuButtonProps } from './MenuButton.tsx'

/** The menu of a MenuButton, open at once. */
export function OpenedMenu({ face, label, className, title, entries }: MenuButtonProps): ReactNode {
  const { ref, opened, onChange } = useOpenedAtOnce()
  return (
    <Menu position="bottom-end" width={240} opened={opened} onChange={onChange}>
      <Menu.Target>
        <UnstyledButton ref={ref} className={className ?? ''} aria-label={label}>
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
