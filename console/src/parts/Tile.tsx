import { Card, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import css from '../style/layout.module.css'

/** One number that matters, with its name above and what it means below. */
export function Tile({ label, value, note }: { readonly label: string; readonly value: ReactNode; readonly note?: ReactNode }): ReactNode {
  return (
    <Card padding="md">
      <Text size="sm" c="dimmed">{label}</Text>
      <div className={css.value}>{value}</div>
      {note !== undefined && <Text size="xs" c="dimmed" mt={4} component="div">{note}</Text>}
    </Card>
  )
}
