import { Card, Text } from '@mantine/core'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import css from '../style/layout.module.css'

/** More characters do not fit on a line of the narrowest tile at full size. */
const FULL_SIZE_CHARACTERS = 10

/** One number that matters, with its name above and what it means below. */
export function Tile({
  label,
  value,
  note,
}: {
  readonly label: string
  readonly value: ReactNode
  readonly note?: ReactNode
}): ReactNode {
  return (
    <Card padding="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <div className={clsx(css.value, typeof value === 'string' && value.length > FULL_SIZE_CHARACTERS && css.long)}>
        {value}
      </div>
      {note !== undefined && (
        <Text size="xs" c="dimmed" mt={4} component="div">
          {note}
        </Text>
      )}
    </Card>
  )
}
