import { Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import css from '../style/layout.module.css'

export interface SectionProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** Around what is filled in and sent as one thing. Figures and lists stand on the page itself. */
  readonly boxed?: boolean
  readonly children: ReactNode
}

export function Section({ title, lead, actions, boxed = false, children }: SectionProps): ReactNode {
  return (
    <section className={boxed ? css.box : css.section}>
      <Group justify="space-between" mb="md" gap="sm" align="flex-start">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {lead !== undefined && (
            <Text size="sm" c="dimmed" mt={2} component="div">
              {lead}
            </Text>
          )}
        </div>
        {actions}
      </Group>
      {children}
    </section>
  )
}
