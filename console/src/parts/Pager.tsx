import { Button, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { PAGE_DEPTH_MAX } from '../../../src/lib/page-depth.ts'
import { useFormat } from './use-format.ts'

export interface PagerProps {
  readonly offset: number
  readonly size: number
  readonly total: number
  readonly go: (offset: number) => void
  /** The list has more rows than `total`. */
  readonly atLeast?: boolean
  /** Any page can be asked for. */
  readonly deep?: boolean
}

/** Buttons to the next and the previous page of a list. A list with only one page has none. */
export function Pager({ offset, size, total, go, atLeast = false, deep = false }: PagerProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  if (total <= size && offset === 0) return null
  const next = offset + size
  const isDeepest = !deep && next > PAGE_DEPTH_MAX && next < total
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
        {isDeepest && (
          <Text size="sm" c="dimmed">
            {t('list.deepest')}
          </Text>
        )}
        <Button size="xs" variant="default" disabled={isDeepest || next >= total} onClick={() => go(next)}>
          {t('common.next')}
        </Button>
      </Group>
    </Group>
  )
}
