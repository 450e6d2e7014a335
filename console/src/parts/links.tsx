import { Button, type ButtonProps } from '@mantine/core'
import { createLink, Link } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'

function ButtonAnchor(props: ButtonProps & Omit<ComponentProps<'a'>, keyof ButtonProps>): ReactNode {
  return <Button component="a" {...props} />
}

/** Leads to the page of a model. */
export function ModelLink({ id, children = id }: { readonly id: string; readonly children?: ReactNode }): ReactNode {
  return (
    <Link to="/model/$" params={{ _splat: id }}>
      {children}
    </Link>
  )
}

/** A button that leads to a page, with its parameters checked. */
export const ButtonLink = createLink(ButtonAnchor)
