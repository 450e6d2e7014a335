import type { ReactNode } from 'react'
import type { Notices } from '../../../../src/api/cabinet/notice-contract.ts'
import { ACCOUNT_KINDS } from '../../../../src/tables/notice-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { useWords } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'
import { DeliveryList } from './DeliveryList.tsx'
import { Receivers, ThresholdForm, useReceiverWishes, wishOf } from './Receivers.tsx'

const READ = 'GET /cabinet/v1/notices'
const MESSAGES = 'GET /cabinet/v1/notices/deliveries'

/** Who is told about the account, below which balance, and what was sent. */
export function NoticesPage(): ReactNode {
  const { t } = useWords()
  const rules = useMay()('money:write')
  const notices = useRead(READ, {})
  return (
    <Page title={t('nav.notices')} lead={t('notices.own_lead')}>
      <Loaded of={notices} height={380}>
        {(answer) => <Told notices={answer} rules={rules} />}
      </Loaded>
      <DeliveryList read={MESSAGES} receivers={notices.data?.channels ?? []} mayReplay={rules} />
    </Page>
  )
}

function Told({ notices, rules }: { readonly notices: Notices; readonly rules: boolean }): ReactNode {
  const { t } = useWords()
  const renews = [READ, MESSAGES] as const
  const wishes = useReceiverWishes('/cabinet/v1/notices/channels', renews)
  const renew = useAct('POST /cabinet/v1/notices/channels/:id/code', { said: t('notices.renewed') })
  const confirm = useAct('POST /cabinet/v1/notices/channels/:id/confirm', {
    quiet: true,
    renews,
    said: t('notices.confirmed'),
  })
  const code = {
    confirm: wishOf(confirm, ({ id, code: given }: { readonly id: string; readonly code: string }) => ({
      params: { id },
      body: { code: given },
    })),
    renew: wishOf(renew, (id: string) => ({ params: { id }, body: {} })),
  }
  const save = useAct('PATCH /cabinet/v1/notices', { quiet: true, said: t('common.saved'), renews: [READ] })
  return (
    <>
      <Receivers
        receivers={notices.channels}
        empty={{ picture: 'notice', title: t('notices.none'), text: t('notices.own_none_text') }}
        choice={{ types: notices.types, kinds: ACCOUNT_KINDS, hint: (type) => t(`notices.own_${type}_hint`) }}
        wishes={rules ? { ...wishes, code } : null}
      />
      {rules && <ThresholdForm notices={notices} save={wishOf(save, (low) => ({ body: { low_balance: low } }))} />}
    </>
  )
}
