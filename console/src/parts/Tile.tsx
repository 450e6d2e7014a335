import { Card, Text } from '@mantine/core'
import type { CSSProperties, ReactNode } from 'react'
import css from '../style/layout.module.css'

/** Characters of a value whose text is not known here. */
const CHARACTERS = 10

/** One important number, with its name above and its meaning below. */
export function Tile({
  label,
  value,
  note,
}: {
  readonly label: string
  readonly value: ReactNode
  readonly note?: ReactNode
}): ReactNode {
  // A long value is written smaller, so that it stays on its line. The type CSSProperties does not have custom properties.
  const style = { '--characters': typeof value === 'string' ? value.length : CHARACTERS } as CSSProperties
  return (
    <Card padding="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <div className={css.fitted} style={style}>
        <div className={css.value}>{value}</div>
      </div>
      {note !== undefined && (
        <Text size="xs" c="dimmed" mt={4} component="div">
          {note}
        </Text>
      )}
    </Card>
  )
}
