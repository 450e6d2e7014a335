import { Card, Group, Text } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { MemberScope } from '../../../../src/tables/scopes.ts'
import { useRead } from '../../api/hooks.ts'
import { FirstRequest } from '../../parts/CallSnippet.tsx'
import { StatusBadge } from '../../parts/cells.tsx'
import { Steps } from '../../parts/Steps.tsx'
import { format, t } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'
import css from '../../style/steps.module.css'

const EVERY_MS = 3_000

const STEPS: readonly (readonly ['money' | 'key' | 'request', LinkProps, MemberScope])[] = [
  ['money', { to: '/top-up' }, 'money:write'],
  ['key', { to: '/keys', search: { create: '1' } }, 'keys:write'],
  ['request', { to: '/playground' }, 'playground'],
]

/** The steps to the first answer. The first request appears by itself when it has arrived. */
export function FirstSteps() {
  const may = useMay()
  const summary = useRead('GET /cabinet/v1/summary', {}, { everyMs: EVERY_MS }).data
  if (summary === undefined) return null
  const { money, keys, has_requests: request } = summary
  const done = { money: request || money.balance > 0, key: request || keys > 0, request }
  return (
    <Steps
      title={t('first_steps.title')}
      count={(ready, all) => t('first_steps.count', { done: ready, all })}
      steps={STEPS.map(([name, link, scope]) => ({
        name,
        title: t(`first_steps.${name}`),
        text: t(may(scope) ? `first_steps.${name}_text` : 'first_steps.ask_owner'),
        done: done[name],
        link: may(scope) ? link : null,
      }))}
    >
      {done.key && <FirstArrival />}
      {done.key && !done.request && <FirstRequest summary={summary} />}
    </Steps>
  )
}

/** Waits for the first request of the account, and shows it. */
export function FirstArrival() {
  const hasRequests = useRead('GET /cabinet/v1/summary', {}, { everyMs: EVERY_MS }).data?.has_requests === true
  const log = useRead('GET /cabinet/v1/log', { query: { limit: 1 } }, { everyMs: EVERY_MS, enabled: hasRequests })
  const [row] = log.data?.data ?? []
  if (row === undefined)
    return (
      <Group gap="sm" my="md" role="status">
        <span className={css.waiting} aria-hidden />
        <Text size="sm">{t('first_steps.waiting')}</Text>
      </Group>
    )
  return (
    <Card withBorder mt="md" padding="md" role="status" data-first-answer>
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
