import { Button, Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AccountNotices } from '../../../../src/admin/notice-contract.ts'
import { NOTICES } from '../../../../src/notice-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { Can } from '../../parts/Can.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { List } from '../../parts/List.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

/** Below which balance an account's people are told, and who is told. */
export function AccountAlerts({ accountId }: { readonly accountId: string }): ReactNode {
  const notices = useRead('GET /admin/v1/accounts/:id/notices', { params: { id: accountId } })
  return (
    <Loaded of={notices} height={260}>
      {(answer) => (
        <div className={css.page}>
          <Can call="PATCH /admin/v1/accounts/:id/notices">
            <Threshold accountId={accountId} notices={answer} />
          </Can>
          <Receivers channels={answer.channels} />
        </div>
      )}
    </Loaded>
  )
}

function Threshold({
  accountId,
  notices: { low_balance: low, service_low_balance: usual },
}: {
  readonly accountId: string
  readonly notices: AccountNotices
}): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [value, setValue] = useState(low === null ? '' : String(low))
  const save = useAct('PATCH /admin/v1/accounts/:id/notices', {
    quiet: true,
    said: t('common.saved'),
    renews: ['GET /admin/v1/accounts/:id/notices'],
  })
  return (
    <Section title={t('alerts.tab_alerts')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const body = { low_balance: value.trim() === '' ? null : Number(value) }
          save.mutate({ params: { id: accountId }, body })
        }}
      >
        <Stack className={css.narrow ?? ''}>
          {save.isError && <Failed failure={save.error} />}
          <NumberField
            label={t('alerts.threshold')}
            description={t('alerts.threshold_hint', { amount: format.money(usual) })}
            decimals={6}
            least={0}
            value={value}
            onChange={setValue}
          />
          <div>
            <Button type="submit" loading={save.isPending}>
              {t('common.save')}
            </Button>
          </div>
        </Stack>
      </form>
    </Section>
  )
}

function Receivers({ channels }: Pick<AccountNotices, 'channels'>): ReactNode {
  const { t } = useTranslation()
  return (
    <Section title={t('alerts.receivers')} lead={t('alerts.receivers_lead')}>
      <List
        label={t('alerts.receivers')}
        rows={channels}
        rowId={({ id }) => id}
        empty={{ title: t('alerts.no_receivers'), text: t('alerts.no_receivers_text') }}
        columns={[
          { id: 'target', title: t('alerts.receiver'), cell: ({ target }) => target },
          {
            id: 'kinds',
            title: t('alerts.told_of'),
            cell: ({ kinds }) => kinds.map((kind) => NOTICES[kind].label[currentLanguage()]).join(', '),
          },
          {
            id: 'state',
            title: t('keys.state'),
            cell: ({ confirmed, enabled }) => (
              <StatusBadge tone={confirmed && enabled ? 'good' : 'quiet'}>
                {t(confirmed ? (enabled ? 'alerts.on' : 'alerts.off') : 'alerts.unconfirmed')}
              </StatusBadge>
            ),
          },
        ]}
      />
    </Section>
  )
}
