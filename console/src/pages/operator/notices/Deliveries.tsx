import { Button, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { NoticeDelivery, OperatorChannel } from '../../../../../src/admin/notice-contract.ts'
import { call } from '../../../api/call.ts'
import { useAct, useRead } from '../../../api/hooks.ts'
import { useCan } from '../../../parts/Can.tsx'
import { ChoiceField } from '../../../parts/ChoiceField.tsx'
import { Clip } from '../../../parts/Clip.tsx'
import { DataList, PAGE_ROWS } from '../../../parts/DataList.tsx'
import { everyPage } from '../../../parts/list-csv.ts'
import { useFilters, useListPlace } from '../../../parts/list-place.ts'
import { Loaded } from '../../../parts/Loaded.tsx'
import { Moment } from '../../../parts/Moment.tsx'
import { StatusBadge } from '../../../parts/StatusBadge.tsx'
import { useFormat } from '../../../parts/use-format.ts'
import css from '../../../style/layout.module.css'
import { noticeText } from './notice-text.ts'

const STATES = ['pending', 'sent', 'dead'] as const
const TONES = { pending: 'warn', sent: 'good', dead: 'bad' } as const
const REFRESH_MS = 10_000

/** Messages of the last 90 days. One that was given up can be sent again. */
export function Deliveries({ receivers }: { readonly receivers: readonly OperatorChannel[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { filters, filter } = useFilters<'state'>()
  const { offset } = useListPlace()
  const state = STATES.find((known) => known === filters.state) ?? null
  const query = state === null ? {} : { state }
  const deliveries = useRead(
    'GET /admin/v1/notices/deliveries',
    { query: { ...query, limit: PAGE_ROWS, offset } },
    { keep: true, everyMs: REFRESH_MS },
  )
  // Those of accounts have ids only.
  const targets = new Map(receivers.map(({ id, target }) => [id, target]))
  return (
    <Stack>
      <div className={css.fields}>
        <ChoiceField
          label={t('keys.state')}
          value={state}
          onChange={(value) => filter('state', value)}
          data={STATES.map((value) => ({ value, label: t(`notices.state_${value}`) }))}
        />
      </div>
      <Loaded of={deliveries} height={240}>
        {({ data, total }) => (
          <DataList
            name="notices"
            label={t('notices.sent')}
            rows={data}
            page={{ total }}
            everyRow={everyPage((range) => call('GET /admin/v1/notices/deliveries', { query: { ...query, ...range } }))}
            rowId={({ id }) => id}
            empty={{ title: t('notices.nothing'), text: t('notices.nothing_text') }}
            hiddenAtFirst={['ended']}
            columns={[
              {
                id: 'kind',
                title: t('notices.kind'),
                value: ({ notice }) => notice.type,
                cell: ({ notice }) => noticeText(notice.type),
              },
              {
                id: 'at',
                title: t('log.time'),
                value: (delivery) => delivery.created_at,
                cell: (delivery) => <Moment at={delivery.created_at} />,
              },
              {
                id: 'target',
                title: t('notices.target'),
                value: ({ channel }) => targets.get(channel) ?? channel,
                cell: ({ channel }) => <Clip text={targets.get(channel) ?? channel} />,
              },
              {
                id: 'account',
                title: t('requests.account'),
                value: ({ notice }) => notice.account,
                cell: ({ notice: { account } }) =>
                  account !== null && (
                    <Link to="/operator/accounts/$id" params={{ id: account }} className={css.mono ?? ''}>
                      {account}
                    </Link>
                  ),
              },
              {
                id: 'state',
                title: t('keys.state'),
                value: (delivery) => t(`notices.state_${delivery.state}`),
                cell: (delivery) => (
                  <StatusBadge tone={TONES[delivery.state]}>{t(`notices.state_${delivery.state}`)}</StatusBadge>
                ),
              },
              {
                id: 'attempts',
                title: t('notices.attempts'),
                end: true,
                value: ({ attempts }) => attempts,
                cell: ({ attempts }) => format.number(attempts),
              },
              {
                id: 'error',
                title: t('notices.error'),
                wide: true,
                value: ({ error }) => error,
                cell: ({ error }) =>
                  error !== null && (
                    <span lang="en">
                      <Clip text={error} />
                    </span>
                  ),
              },
              {
                id: 'ended',
                title: t('notices.ended'),
                value: (delivery) => delivery.ended_at,
                cell: ({ ended_at: at }) => at !== null && <Moment at={at} />,
              },
              { id: 'actions', title: '', end: true, cell: (delivery) => <Replay delivery={delivery} /> },
            ]}
          />
        )}
      </Loaded>
    </Stack>
  )
}

function Replay({ delivery: { id, state, notice } }: { readonly delivery: NoticeDelivery }): ReactNode {
  const { t } = useTranslation()
  const can = useCan()('POST /admin/v1/notices/deliveries/:id/replay')
  const replay = useAct('POST /admin/v1/notices/deliveries/:id/replay', {
    renews: ['GET /admin/v1/notices/deliveries'],
    said: t('notices.replayed'),
  })
  if (state === 'pending' || !can) return null
  return (
    <Button
      size="compact-sm"
      variant={state === 'dead' ? 'light' : 'subtle'}
      loading={replay.isPending}
      aria-label={t('notices.replay_of', { notice: noticeText(notice.type) })}
      onClick={() => replay.mutate({ params: { id }, body: {} })}
    >
      {t('notices.replay')}
    </Button>
  )
}
