import { Button, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from './use-format.ts'

export interface PagerProps {
  readonly offset: number
  readonly size: number
  readonly total: number
  readonly go: (offset: number) => void
  /** The list has more rows than `total`. */
  readonly atLeast?: boolean
}

/** Buttons to the next and the previous page of a list. A list with only one page has none. */
export function Pager({ offset, size, total, go, atLeast = false }: PagerProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  if (total <= size && offset === 0) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {t(atLeast ? 'requests.at_least' : 'common.shown', {
          from: format.number(Math.min(offset + 1, total)),
          to: format.number(Math.min(offset + size, total)),
          total: format.number(total),
        })}
      </Text>
      <Group gap="xs">
        <Button size="xs" variant="default" disabled={offset === 0} onClick={() => go(Math.max(0, offset - size))}>
          {t('common.previous')}
        </Button>
        <Button size="xs" variant="default" disabled={offset + size >= total} onClick={() => go(offset + size)}>
          {t('common.next')}
        </Button>
      </Group>
    </Group>
  )
}
