import { Button, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { NoticeDelivery } from '../../../../src/notices/delivery-contract.ts'
import { ChoiceField } from '../../parts/ChoiceField.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { DataList, PAGE_ROWS, type DataListProps } from '../../parts/DataList.tsx'
import { useFilters, useListPlace } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { noticeText } from './notice-text.ts'
import type { Receiver, Wish } from './receiver.ts'

const STATES = ['pending', 'sent', 'dead'] as const
type State = (typeof STATES)[number]
const TONES = { pending: 'warn', sent: 'good', dead: 'bad' } as const

type Column = DataListProps<NoticeDelivery>['columns'][number]
type Deliveries = { readonly data: readonly NoticeDelivery[]; readonly total: number }

interface DeliveryQuery {
  readonly state: State | null
  readonly choose: (state: string | null) => void
  readonly filter: { readonly state?: State }
  readonly page: { readonly state?: State; readonly limit: number; readonly offset: number }
}

/** The messages that the address of the page asks for. */
export function useDeliveryQuery(): DeliveryQuery {
  const { filters, filter: set } = useFilters<'state'>()
  const { offset } = useListPlace()
  const state = STATES.find((known) => known === filters.state) ?? null
  const filter = state === null ? {} : { state }
  return { state, choose: (value) => set('state', value), filter, page: { ...filter, limit: PAGE_ROWS, offset } }
}

/** Messages of the last 90 days. One that was given up can be sent again. */
export function DeliveryList({
  query,
  deliveries,
  file,
  receivers,
  replay,
  ofAll = false,
}: {
  readonly query: DeliveryQuery
  readonly deliveries: UseQueryResult<Deliveries>
  readonly file: string
  /** Those of others have ids only. */
  readonly receivers: readonly Pick<Receiver, 'id' | 'target'>[]
  /** null = the reader sends nothing again. */
  readonly replay: Wish<string> | null
  /** Of the operator and of every account. */
  readonly ofAll?: boolean
}): ReactNode {
  const { t } = useTranslation()
  const targets = new Map(receivers.map(({ id, target }) => [id, target]))
  const columns = useColumns(targets, replay)
  return (
    <Section title={t('notices.sent')} lead={t('notices.sent_lead')}>
      <Stack>
        <div className={css.narrow}>
          <ChoiceField
            label={t('keys.state')}
            value={query.state}
            onChange={query.choose}
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
              file={file}
              rowId={({ id }) => id}
              empty={{ picture: 'notice', title: t('notices.nothing'), text: t('notices.nothing_text') }}
              hiddenAtFirst={['ended']}
              columns={columns.filter(({ id }) => ofAll || id !== 'account')}
            />
          )}
        </Loaded>
      </Stack>
    </Section>
  )
}

function useColumns(targets: ReadonlyMap<string, string>, replay: Wish<string> | null): readonly Column[] {
  const { t } = useTranslation()
  const format = useFormat()
  return [
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
      value: ({ state }) => t(`notices.state_${state}`),
      cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`notices.state_${state}`)}</StatusBadge>,
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
      cell: ({ error }) => <Failure words={error} />,
    },
    {
      id: 'ended',
      title: t('notices.ended'),
      value: (delivery) => delivery.ended_at,
      cell: ({ ended_at: at }) => at !== null && <Moment at={at} />,
    },
    {
      id: 'actions',
      title: '',
      end: true,
      cell: (delivery) => replay !== null && <Replay delivery={delivery} replay={replay} />,
    },
  ]
}

function Failure({ words }: { readonly words: string | null }): ReactNode {
  return (
    words !== null && (
      <span lang="en">
        <Clip text={words} />
      </span>
    )
  )
}

function Replay({
  delivery: { id, state, notice },
  replay,
}: {
  readonly delivery: NoticeDelivery
  readonly replay: Wish<string>
}): ReactNode {
  const { t } = useTranslation()
  if (state === 'pending') return null
  return (
    <Button
      size="compact-sm"
      variant={state === 'dead' ? 'light' : 'subtle'}
      disabled={replay.isPending}
      aria-label={t('notices.replay_of', { notice: noticeText(notice.type) })}
      onClick={() => replay.run(id)}
    >
      {t('notices.replay')}
    </Button>
  )
}
