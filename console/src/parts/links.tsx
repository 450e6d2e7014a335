import { Button, Menu, type ButtonProps, type MenuItemProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'

function ButtonAnchor(props: ButtonProps & Omit<ComponentProps<'a'>, keyof ButtonProps>): ReactNode {
  return <Button component="a" {...props} />
}

function ItemAnchor(props: MenuItemProps & Omit<ComponentProps<'a'>, keyof MenuItemProps>): ReactNode {
  return <Menu.Item component="a" {...props} />
}

/** A button that leads to a page, with its parameters checked. */
export const ButtonLink = createLink(ButtonAnchor)
export const MenuItemLink = createLink(ItemAnchor)
