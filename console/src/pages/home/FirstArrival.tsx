import { Card, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { LogRow } from '../../../../src/api/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/steps.module.css'

const EVERY_MS = 3_000

/** Waits for the first request of the account, and shows it. */
export function FirstArrival(): ReactNode {
  const { t } = useTranslation()
  const hasRequests = useRead('GET /cabinet/v1/summary', {}, { everyMs: EVERY_MS }).data?.has_requests === true
  const log = useRead('GET /cabinet/v1/log', { query: { limit: 1 } }, { everyMs: EVERY_MS, enabled: hasRequests })
  const [first] = log.data?.data ?? []
  return (
    <div role="status">
      {first === undefined ? (
        <Group gap="sm" my="md">
          <span className={css.waiting} aria-hidden />
          <Text size="sm">{t('first_steps.waiting')}</Text>
        </Group>
      ) : (
        <FirstAnswer row={first} />
      )}
    </div>
  )
}

function FirstAnswer({ row }: { readonly row: LogRow }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <Card withBorder mt="md" padding="md" data-first-answer>
      <Group justify="space-between">
        <div>
          <Group gap="sm">
            <Link to="/log/$id" params={{ id: row.generation_id }}>
              {row.model}
            </Link>
            <StatusBadge tone={row.status === 'completed' ? 'good' : 'bad'}>{t(`status.${row.status}`)}</StatusBadge>
          </Group>
          <Text size="sm" c="dimmed" mt={4}>
            {t('first_steps.answer', {
              input: format.number(row.input_tokens),
              output: format.number(row.output_tokens),
              time: format.duration(row.duration_ms),
            })}
          </Text>
        </div>
        <Text fw={650}>{format.money(row.cost)}</Text>
      </Group>
    </Card>
  )
}
