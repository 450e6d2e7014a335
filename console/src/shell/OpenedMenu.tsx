import { Menu, UnstyledButton } from '@mantine/core'
import { useOpenedAtOnce } from '../parts/first-use.ts'
import { MenuEntries } from '../parts/RowMenu.tsx'
import type { MenuButtonProps } from './MenuButton.tsx'

/** The menu of a MenuButton, which is open from the start. */
export function OpenedMenu({ face, label, className, entries }: MenuButtonProps) {
  const { ref, opened, onChange } = useOpenedAtOnce()
  return (
    <Menu position="bottom-end" width={240} opened={opened} onChange={onChange}>
      <Menu.Target>
        <UnstyledButton ref={ref} className={className ?? ''} aria-label={label}>
          {face}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <MenuEntries entries={entries} />
      </Menu.Dropdown>
    </Menu>
  )
}
