import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AccountNotices } from '../../../../src/api/admin/notice-contract.ts'
import { ACCOUNT_KINDS } from '../../../../src/tables/notice-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import css from '../../style/layout.module.css'
import { DeliveryList, useDeliveryQuery } from '../notices/DeliveryList.tsx'
import { wishOf, type ReceiverWishes } from '../notices/receiver.ts'
import { Receivers } from '../notices/Receivers.tsx'
import { ThresholdForm } from '../notices/ThresholdForm.tsx'

const READ = 'GET /admin/v1/accounts/:id/notices'
const MESSAGES = 'GET /admin/v1/notices/deliveries'
const REFRESH_MS = 10_000

interface AlertsProps {
  readonly accountId: string
  readonly notices: AccountNotices
}

/** Below which balance an account's people are told, who is told, and what was sent. */
export function AccountAlerts({ accountId }: { readonly accountId: string }): ReactNode {
  const notices = useRead(READ, { params: { id: accountId } })
  return (
    <Loaded of={notices} height={260}>
      {(answer) => (
        <div className={css.page}>
          <Told accountId={accountId} notices={answer} />
          <Can call={MESSAGES}>
            <Messages accountId={accountId} notices={answer} />
          </Can>
        </div>
      )}
    </Loaded>
  )
}

function Told({ accountId, notices }: AlertsProps): ReactNode {
  const { t } = useTranslation()
  const can = useCan()('PATCH /admin/v1/accounts/:id/notices')
  const wishes = useWishes(accountId)
  const save = useAct('PATCH /admin/v1/accounts/:id/notices', {
    quiet: true,
    said: t('common.saved'),
    renews: [READ],
  })
  const params = { id: accountId }
  return (
    <>
      {can && (
        <ThresholdForm notices={notices} save={wishOf(save, (low) => ({ params, body: { low_balance: low } }))} />
      )}
      <Receivers
        receivers={notices.channels}
        lead={t('alerts.receivers_lead')}
        empty={{ picture: 'notice', title: t('alerts.no_receivers'), text: t('alerts.no_receivers_text') }}
        choice={{
          types: ['email', 'telegram', 'webhook'],
          kinds: ACCOUNT_KINDS,
          hint: (type) => t(`notices.${type}_hint`),
        }}
        wishes={can ? wishes : null}
      />
    </>
  )
}

function useWishes(accountId: string): ReceiverWishes {
  const { t } = useTranslation()
  const renews = [READ, MESSAGES] as const
  const paths = (channel: string): { readonly id: string; readonly channel: string } => ({ id: accountId, channel })
  const add = useAct('POST /admin/v1/accounts/:id/notices/channels', { quiet: true, renews })
  const change = useAct('PATCH /admin/v1/accounts/:id/notices/channels/:channel', {
    renews,
    said: t('common.saved'),
  })
  const remove = useAct('DELETE /admin/v1/accounts/:id/notices/channels/:channel', {
    renews,
    said: t('notices.deleted'),
  })
  const test = useAct('POST /admin/v1/accounts/:id/notices/channels/:channel/test', {
    renews,
    said: t('notices.tested'),
  })
  return {
    add: wishOf(add, (body) => ({ params: { id: accountId }, body })),
    change: wishOf(change, ({ id, patch }) => ({ params: paths(id), body: patch })),
    remove: wishOf(remove, (id) => ({ params: paths(id) })),
    test: wishOf(test, (id) => ({ params: paths(id), body: {} })),
  }
}

function Messages({ accountId, notices }: AlertsProps): ReactNode {
  const { t } = useTranslation()
  const can = useCan()('POST /admin/v1/notices/deliveries/:id/replay')
  const query = useDeliveryQuery()
  const account = { account: accountId }
  const deliveries = useRead(MESSAGES, { query: { ...query.page, ...account } }, { keep: true, everyMs: REFRESH_MS })
  const replay = useAct('POST /admin/v1/notices/deliveries/:id/replay', {
    renews: [MESSAGES],
    said: t('notices.replayed'),
  })
  return (
    <DeliveryList
      query={query}
      deliveries={deliveries}
      file={fileAddress(MESSAGES, { query: { ...query.filter, ...account } })}
      receivers={notices.channels}
      replay={can ? wishOf(replay, (id) => ({ params: { id }, body: {} })) : null}
    />
  )
}
