import { Stack } from '@mantine/core'
import { useAct } from '../../api/hooks.ts'
import { ServerList } from '../../parts/DataList.tsx'
import type { Column } from '../../parts/List.tsx'
import { Section } from '../../parts/Page.tsx'
import { Clip } from '../../parts/cells.tsx'
import { t } from '../../parts/words.ts'
import { noticeText, type Receiver } from './Receivers.tsx'
import { accountAt } from '../../parts/row-link.ts'

const REFRESH_MS = 10_000
const STATES = ['pending', 'sent', 'dead'] as const
const TONES = { pending: 'warn', sent: 'good', dead: 'bad' } as const
/** The list endpoints of the operator and of a customer, each with the endpoint that sends a message again. */
const REPLAYS = {
  'GET /admin/v1/notices/deliveries': 'POST /admin/v1/notices/deliveries/:id/replay',
  'GET /cabinet/v1/notices/deliveries': 'POST /cabinet/v1/notices/deliveries/:id/replay',
} as const

interface DeliveryListProps {
  readonly read: keyof typeof REPLAYS
  /** Receivers whose target is shown; others are shown by id. */
  readonly receivers: readonly Pick<Receiver, 'id' | 'target'>[]
  readonly mayReplay: boolean
  /** Only messages of this account; absent = all messages of `read`. */
  readonly account?: string
  /** The list has messages of the operator and of every account. */
  readonly ofAll?: boolean
}

/** Messages of the last 90 days. A message that was given up can be sent again. */
// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
export function DeliveryList({ read, receivers, mayReplay, account, ofAll = false }: DeliveryListProps) {
  const replay = useAct(REPLAYS[read], { renews: [read], said: t('notices.replayed') })
  const ofAccount: Column<Delivery> = {
    id: 'account',
    title: t('requests.account'),
    value: ({ notice }) => notice.account,
    to: ({ notice: { account: id } }) => (id === null ? null : accountAt(id)),
  }
  const targets = new Map(receivers.map(({ id, target }) => [id, target]))
  return (
    <Section title={t('notices.sent')} lead={t('notices.sent_lead')}>
      <Stack>
        <ServerList
          // Only the operator's list has an account filter.
          read={read as 'GET /admin/v1/notices/deliveries'}
          filters={[
            {
              name: 'state',
              label: t('keys.state'),
              data: STATES.map((value) => ({ value, label: t(`notices.state_${value}`) })),
            },
          ]}
          query={() => ({ account })}
          everyMs={REFRESH_MS}
          height={240}
          name="notices"
          label={t('notices.sent')}
          empty={{ picture: 'notice', title: t('notices.nothing'), text: t('notices.nothing_text') }}
          hiddenAtFirst={['ended']}
          columns={[
            {
              id: 'kind',
              title: t('notices.kind'),
              value: ({ notice }) => notice.type,
              cell: ({ notice }) => noticeText(notice.type),
            },
            { id: 'at', title: t('log.time'), as: 'moment', value: 'created_at' },
            {
              id: 'target',
              title: t('notices.target'),
              as: 'clip',
              value: ({ channel }) => targets.get(channel) ?? channel,
            },
            ...(ofAll ? [ofAccount] : []),
            { id: 'state', title: t('keys.state'), word: ({ state }) => [TONES[state], t(`notices.state_${state}`)] },
            { id: 'attempts', title: t('notices.attempts'), as: 'count', value: ({ attempts }) => attempts },
            {
              id: 'error',
              title: t('notices.error'),
              wide: true,
              value: 'error',
              cell: ({ error }) =>
                error !== null && (
                  <span lang="en">
                    <Clip text={error} />
                  </span>
                ),
            },
            { id: 'ended', title: t('notices.ended'), as: 'moment', value: 'ended_at' },
            {
              id: 'actions',
              acts: ({ id, state, notice }) => [
                mayReplay &&
                  state !== 'pending' && {
                    label: t('notices.replay'),
                    name: t('notices.replay_of', { notice: noticeText(notice.type) }),
                    disabled: replay.isPending,
                    variant: state === 'dead' ? 'light' : 'subtle',
                    run: () => replay.mutate({ params: { id }, body: {} }),
                  },
              ],
            },
          ]}
        />
      </Stack>
    </Section>
  )
}

interface Delivery {
  readonly notice: { readonly account: string | null }
}
