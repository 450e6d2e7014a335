import { Group, Text, Title } from '@mantine/core'
import { useEffect, type ReactNode } from 'react'
import css from '../style/layout.module.css'

export interface PageProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page: its heading, its purpose, its actions and its content. It also sets the title of the browser's tab. */
export function Page({ title, lead, actions, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  return (
    <div className={css.page}>
      <div className={css.head}>
        <div>
          <Title order={1}>{title}</Title>
          {lead !== undefined && (
            <Text c="dimmed" mt={4} className={css.lead ?? ''} component="div">
              {lead}
            </Text>
          )}
        </div>
        {actions !== undefined && (
          <Group gap="xs" className="off-paper">
            {actions}
          </Group>
        )}
      </div>
      {children}
    </div>
  )
}
