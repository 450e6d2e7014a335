import { Card, Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export interface SectionProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Section({ title, lead, actions, children }: SectionProps): ReactNode {
  return (
    <Card component="section">
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
    </Card>
  )
}
