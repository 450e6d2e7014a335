import { Button, Tabs } from '@mantine/core'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Account, AccountStatus } from '../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { confirm } from '../../parts/confirm.tsx'
import { CopyIconButton } from '../../parts/Copy.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { ButtonLink } from '../../parts/links.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Section.tsx'
import { SpendingLimitTile } from '../../parts/SpendingLimitTile.tsx'
import { Tile } from '../../parts/Tile.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { AccountAlerts } from './AccountAlerts.tsx'
import { AccountKeys } from './AccountKeys.tsx'
import { AccountLedger } from './AccountLedger.tsx'
import { AccountLimits } from './AccountLimits.tsx'
import { AccountState } from './AccountState.tsx'
import { AccountPrices } from './customer-prices/AccountPrices.tsx'
import { EntryForm } from './EntryForm.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { UserList } from './UserList.tsx'

const RENEWS = ['GET /admin/v1/accounts', 'GET /admin/v1/accounts/:id'] as const

/** One account: its money, its state and limits, its keys, its users. */
export function AccountPage(): ReactNode {
  const { t } = useTranslation()
  const { id } = useParams({ from: '/operator/accounts/$id' })
  const account = useRead('GET /admin/v1/accounts/:id', { params: { id } })
  const title = account.data === undefined || account.data.name === '' ? id : account.data.name
  return (
    <OperatorPage
      title={title}
      lead={
        <>
          <span className={css.mono}>{id}</span> <CopyIconButton text={id} />
          {account.data !== undefined && (
            <>
              <ExternalIdButton change="PATCH /admin/v1/accounts/:id" of={account.data} name={title} />
              <ExternalName of={account.data} />
            </>
          )}
        </>
      }
      actions={
        <ButtonLink variant="default" to="/operator/requests" search={{ account: id }}>
          {t('keys.requests')}
        </ButtonLink>
      }
    >
      <Loaded of={account} height={520}>
        {(answer) => (
          <>
            <Record account={answer} />
            <Can call="PATCH /admin/v1/accounts/:id">
              <State account={answer} />
            </Can>
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

function Record({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  const { tab = 'money' }: { readonly tab?: string | undefined } = useSearch({ strict: false })
  const navigate = useNavigate()
  const setTab = (wish: string | null): void =>
    void navigate({
      to: '/operator/accounts/$id',
      params: { id: account.id },
      search: wish === null || wish === 'money' ? {} : { tab: wish },
      replace: true,
    })
  return (
    <>
      <Figures account={account} />
      <Tabs value={tab} onChange={setTab} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="money">{t('accounts.tab_money')}</Tabs.Tab>
          <Can call="PATCH /admin/v1/accounts/:id">
            <Tabs.Tab value="limits">{t('accounts.tab_limits')}</Tabs.Tab>
          </Can>
          <Tabs.Tab value="alerts">{t('alerts.tab_alerts')}</Tabs.Tab>
          <Tabs.Tab value="prices">{t('customers.tab')}</Tabs.Tab>
          <Tabs.Tab value="keys">{t('nav.keys')}</Tabs.Tab>
          <Can call="GET /admin/v1/users">
            <Tabs.Tab value="users">{t('accounts.tab_users')}</Tabs.Tab>
          </Can>
        </Tabs.List>
        <Tabs.Panel value="money" pt="md">
          <div className={css.page}>
            <Can call="POST /admin/v1/accounts/:id/ledger">
              <Section boxed title={t('accounts.entry')} lead={t('accounts.entry_lead')}>
                <EntryForm account={account} />
              </Section>
            </Can>
            <div>
              <ButtonLink to="/operator/accounts/$id/statement" params={{ id: account.id }} variant="default">
                {t('nav.statement')}
              </ButtonLink>
            </div>
            <AccountLedger accountId={account.id} />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="limits" pt="md">
          <Section boxed title={t('accounts.tab_limits')}>
            <AccountLimits account={account} />
          </Section>
        </Tabs.Panel>
        <Tabs.Panel value="alerts" pt="md">
          <AccountAlerts accountId={account.id} />
        </Tabs.Panel>
        <Tabs.Panel value="prices" pt="md">
          <AccountPrices account={account} />
        </Tabs.Panel>
        <Tabs.Panel value="keys" pt="md">
          <AccountKeys accountId={account.id} />
        </Tabs.Panel>
        <Tabs.Panel value="users" pt="md">
          <UserList account={account.id} />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}

function Figures({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <div className={css.tiles}>
      <Tile lead label={t('home.balance')} value={format.money(account.balance)} />
      <Tile label={t('money.available')} value={format.money(account.available)} />
      <Tile label={t('money.reserved')} value={format.money(account.reserved)} />
      <SpendingLimitTile of={account} />
      <Tile
        label={t('keys.state')}
        value={<AccountState status={account.status} />}
        note={t('accounts.created', { when: format.date(account.created_at) })}
      />
    </div>
  )
}

/** What stops the account, or lets it work again. It comes last, where no hand slips on it. */
function State({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  const change = useAct('PATCH /admin/v1/accounts/:id', { renews: RENEWS, said: t('common.saved') })
  const set = (status: AccountStatus): void => change.mutate({ params: { id: account.id }, body: { status } })
  const ask = (status: 'deactivated' | 'locked'): void =>
    confirm({
      name: 'account-state',
      title: t(`accounts.ask_${status}`),
      text: t(`accounts.ask_${status}_text`),
      act: t(`accounts.do_${status}`),
      onConfirm: () => set(status),
    })
  return (
    <Section title={t('accounts.stop')}>
      <ul className={css.dangers}>
        {account.status !== 'active' && (
          <li>
            <span>{t(`shell.account_${account.status}`)}</span>
            <Button onClick={() => set('active')}>{t('accounts.do_active')}</Button>
          </li>
        )}
        {(['locked', 'deactivated'] as const)
          .filter((status) => status !== account.status)
          .map((status) => (
            <li key={status}>
              <span>{t(`accounts.ask_${status}_text`)}</span>
              <Button variant="outline" color="red" onClick={() => ask(status)}>
                {t(`accounts.do_${status}`)}
              </Button>
            </li>
          ))}
      </ul>
    </Section>
  )
}
