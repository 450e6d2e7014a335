import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CHOSEN_KINDS } from '../../../../../src/tables/notice-table.ts'
import { useAct, useRead } from '../../../api/hooks.ts'
import { useCan } from '../../../parts/Can.tsx'
import { fileAddress } from '../../../parts/list-csv.ts'
import { Loaded } from '../../../parts/Loaded.tsx'
import { DeliveryList, useDeliveryQuery } from '../../notices/DeliveryList.tsx'
import { wishOf, type Receiver, type ReceiverWishes } from '../../notices/receiver.ts'
import { Receivers } from '../../notices/Receivers.tsx'
import { OperatorPage } from '../OperatorPage.tsx'

const READ = 'GET /admin/v1/notices/channels'
const MESSAGES = 'GET /admin/v1/notices/deliveries'
const REFRESH_MS = 10_000

/** Who of the operator's people is told of what, and what was sent to them and to those of accounts. */
export function NoticesPage(): ReactNode {
  const { t } = useTranslation()
  const can = useCan()
  const channels = useRead(READ, {})
  const wishes = useWishes()
  return (
    <OperatorPage title={t('nav.notices')} lead={t('notices.lead')}>
      <Loaded of={channels} height={160}>
        {({ data }) => (
          <Receivers
            receivers={data}
            empty={{ picture: 'notice', title: t('notices.none'), text: t('notices.none_text') }}
            choice={{
              types: ['email', 'telegram', 'webhook'],
              kinds: CHOSEN_KINDS,
              hint: (type) => t(`notices.${type}_hint`),
            }}
            wishes={can('POST /admin/v1/notices/channels') ? wishes : null}
          />
        )}
      </Loaded>
      <Messages receivers={channels.data?.data ?? []} />
    </OperatorPage>
  )
}

function useWishes(): ReceiverWishes {
  const { t } = useTranslation()
  const renews = [READ, MESSAGES] as const
  const add = useAct('POST /admin/v1/notices/channels', { quiet: true, renews })
  const change = useAct('PATCH /admin/v1/notices/channels/:id', { renews, said: t('common.saved') })
  const remove = useAct('DELETE /admin/v1/notices/channels/:id', { renews, said: t('notices.deleted') })
  const test = useAct('POST /admin/v1/notices/channels/:id/test', { renews, said: t('notices.tested') })
  return {
    add: wishOf(add, (body) => ({ body })),
    change: wishOf(change, ({ id, patch }) => ({ params: { id }, body: patch })),
    remove: wishOf(remove, (id) => ({ params: { id } })),
    test: wishOf(test, (id) => ({ params: { id }, body: {} })),
  }
}

function Messages({ receivers }: { readonly receivers: readonly Receiver[] }): ReactNode {
  const { t } = useTranslation()
  const can = useCan()('POST /admin/v1/notices/deliveries/:id/replay')
  const query = useDeliveryQuery()
  const deliveries = useRead(MESSAGES, { query: query.page }, { keep: true, everyMs: REFRESH_MS })
  const replay = useAct('POST /admin/v1/notices/deliveries/:id/replay', {
    renews: [MESSAGES],
    said: t('notices.replayed'),
  })
  return (
    <DeliveryList
      ofAll
      query={query}
      deliveries={deliveries}
      file={fileAddress(MESSAGES, { query: query.filter })}
      receivers={receivers}
      replay={can ? wishOf(replay, (id) => ({ params: { id }, body: {} })) : null}
    />
  )
}
