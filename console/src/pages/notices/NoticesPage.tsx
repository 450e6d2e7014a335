import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Notices } from '../../../../src/api/cabinet/notice-contract.ts'
import { ACCOUNT_KINDS } from '../../../../src/tables/notice-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { fileAddress } from '../../parts/list-csv.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { useMay } from '../../parts/may.ts'
import { Page } from '../../parts/Page.tsx'
import { DeliveryList, useDeliveryQuery } from './DeliveryList.tsx'
import { wishOf, type ReceiverWishes } from './receiver.ts'
import { Receivers } from './Receivers.tsx'
import { ThresholdForm } from './ThresholdForm.tsx'

const READ = 'GET /cabinet/v1/notices'
const MESSAGES = 'GET /cabinet/v1/notices/deliveries'
const REFRESH_MS = 10_000

/** Who is told about the account, below which balance, and what was sent. */
export function NoticesPage(): ReactNode {
  const { t } = useTranslation()
  const notices = useRead(READ, {})
  return (
    <Page title={t('nav.notices')} lead={t('notices.own_lead')}>
      <Loaded of={notices} height={380}>
        {(answer) => <Told notices={answer} />}
      </Loaded>
      <Messages receivers={notices.data?.channels ?? []} />
    </Page>
  )
}

function Told({ notices }: { readonly notices: Notices }): ReactNode {
  const { t } = useTranslation()
  const rules = useMay()('money:write')
  const wishes = useWishes()
  const save = useAct('PATCH /cabinet/v1/notices', { quiet: true, said: t('common.saved'), renews: [READ] })
  return (
    <>
      <Receivers
        receivers={notices.channels}
        empty={{ picture: 'notice', title: t('notices.none'), text: t('notices.own_none_text') }}
        choice={{ types: notices.types, kinds: ACCOUNT_KINDS, hint: (type) => t(`notices.own_${type}_hint`) }}
        wishes={rules ? wishes : null}
      />
      {rules && <ThresholdForm notices={notices} save={wishOf(save, (low) => ({ body: { low_balance: low } }))} />}
    </>
  )
}

function useWishes(): ReceiverWishes {
  const { t } = useTranslation()
  const renews = [READ, MESSAGES] as const
  const add = useAct('POST /cabinet/v1/notices/channels', { quiet: true, renews })
  const change = useAct('PATCH /cabinet/v1/notices/channels/:id', { renews, said: t('common.saved') })
  const remove = useAct('DELETE /cabinet/v1/notices/channels/:id', { renews, said: t('notices.deleted') })
  const test = useAct('POST /cabinet/v1/notices/channels/:id/test', { renews, said: t('notices.tested') })
  const renew = useAct('POST /cabinet/v1/notices/channels/:id/code', { said: t('notices.renewed') })
  const confirm = useAct('POST /cabinet/v1/notices/channels/:id/confirm', {
    quiet: true,
    renews,
    said: t('notices.confirmed'),
  })
  return {
    add: wishOf(add, (body) => ({ body })),
    change: wishOf(change, ({ id, patch }) => ({ params: { id }, body: patch })),
    remove: wishOf(remove, (id) => ({ params: { id } })),
    test: wishOf(test, (id) => ({ params: { id }, body: {} })),
    code: {
      confirm: wishOf(confirm, ({ id, code }) => ({ params: { id }, body: { code } })),
      renew: wishOf(renew, (id) => ({ params: { id }, body: {} })),
    },
  }
}

function Messages({ receivers }: { readonly receivers: Notices['channels'] }): ReactNode {
  const { t } = useTranslation()
  const rules = useMay()('money:write')
  const query = useDeliveryQuery()
  const deliveries = useRead(MESSAGES, { query: query.page }, { keep: true, everyMs: REFRESH_MS })
  const replay = useAct('POST /cabinet/v1/notices/deliveries/:id/replay', {
    renews: [MESSAGES],
    said: t('notices.replayed'),
  })
  return (
    <DeliveryList
      query={query}
      deliveries={deliveries}
      file={fileAddress(MESSAGES, { query: query.filter })}
      receivers={receivers}
      replay={rules ? wishOf(replay, (id) => ({ params: { id }, body: {} })) : null}
    />
  )
}
