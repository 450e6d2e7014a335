import { Menu, type MenuItemProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'

function ItemAnchor(props: MenuItemProps & Omit<ComponentProps<'a'>, keyof MenuItemProps>): ReactNode {
  return <Menu.Item component="a" {...props} />
}

/** An entry of a menu that leads to a page, with its parameters checked. */
export const MenuItemLink = createLink(ItemAnchor)
