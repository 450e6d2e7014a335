import { Button, Switch, Tabs, TextInput } from '@mantine/core'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Account, AccountPatch, AccountStatus } from '../../../../src/api/admin/account-contract.ts'
import { VIEW_SCOPES } from '../../../../src/tables/scopes.ts'
import { useAct, useEnterAccount, useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { ButtonLink, StatusBadge, Press } from '../../parts/cells.tsx'
import { CopyId } from '../../parts/Copy.tsx'
import { confirm } from '../../parts/Dialog.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { ChoiceField } from '../../parts/Filters.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section, SpendingLimitTile, Tile } from '../../parts/Page.tsx'
import {
  ModelsField,
  type SpendingLimit,
  spendingLimitBody,
  SpendingLimitFields,
  spendingLimitOf,
} from '../../parts/SpendingLimitFields.tsx'
import { format, t } from '../../parts/words.ts'
import { useRange } from '../../parts/RangeFields.tsx'
import { StatementView } from '../money/StatementView.tsx'
import { DeliveryList } from '../notices/DeliveryList.tsx'
import { Receivers, ThresholdForm } from '../notices/Receivers.tsx'
import { People } from '../people/PeoplePage.tsx'
import { AccountUsage } from '../usage/UsagePage.tsx'
import { AccountOverview, MonthTiles } from './AccountOverview.tsx'
import { AccountKeys } from './AccountKeys.tsx'
import { AccountMoney } from './AccountMoney.tsx'
import { AccountNotes } from './AccountNotes.tsx'
import { ACCOUNT_TONES } from './AccountsPage.tsx'
import { AccountPrices } from './customer-prices/CustomerPriceTable.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { accountAt } from '../../parts/row-link.ts'
import { useProfile } from '../../session.tsx'

/** The tab that the address does not name. */
const FIRST = 'overview'
const RENEWS = ['GET /admin/v1/accounts', 'GET /admin/v1/accounts/:id'] as const

/** One account: its money, its state and limits, its keys, its users. */
export function AccountPage() {
  const { id } = useParams({ from: '/operator/accounts/$id' })
  const { scopes: own } = useProfile()
  const view = useEnterAccount()
  const account = useRead('GET /admin/v1/accounts/:id', { params: { id } })
  const title = account.data === undefined || account.data.name === '' ? id : account.data.name
  return (
    <OperatorPage
      title={title}
      lead={
        <>
          <CopyId id={id} />
          {account.data !== undefined && (
            <>
              <StatusBadge tone={ACCOUNT_TONES[account.data.status]}>
                {t(`accounts.${account.data.status}`)}
              </StatusBadge>{' '}
              {t('accounts.created', { when: format.date(account.data.created_at) })}
              {account.data.email !== null && <div>{account.data.email}</div>}
              <ExternalIdButton change="PATCH /admin/v1/accounts/:id" of={account.data} name={title} />
              <ExternalName of={account.data} />
            </>
          )}
        </>
      }
      actions={
        <>
          {VIEW_SCOPES.every((scope) => own.includes(scope)) && (
            <Button variant="default" onClick={() => view(id)}>
              {t('accounts.view')}
            </Button>
          )}
          <ButtonLink variant="default" to="/operator/requests" search={{ account: id }}>
            {t('keys.requests')}
          </ButtonLink>
        </>
      }
    >
      <Loaded of={account} height={520}>
        {(answer) => (
          <>
            <Figures account={answer} />
            <Record account={answer} />
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

function Record({ account }: { readonly account: Account }) {
  const can = useCan()
  const { id } = account
  const { tab = FIRST }: { readonly tab?: string | undefined } = useSearch({ strict: false })
  const navigate = useNavigate()
  const setTab = (wish: string | null): void =>
    void navigate({ ...accountAt(id), search: wish === null || wish === FIRST ? {} : { tab: wish }, replace: true })
  const limits = (
    <Section boxed title={t('accounts.tab_limits')}>
      <AccountLimits account={account} />
    </Section>
  )
  const tabs: readonly (readonly [name: string, label: string, content: ReactNode, isOpen?: boolean])[] = [
    [
      FIRST,
      t('nav.home'),
      <AccountOverview key="overview" account={account}>
        <Can call="PATCH /admin/v1/accounts/:id">
          <State account={account} />
        </Can>
      </AccountOverview>,
    ],
    ['money', t('accounts.tab_money'), <AccountMoney key="money" account={account} />],
    ['usage', t('nav.usage'), <AccountUsage key="usage" account={id} />, can('GET /admin/v1/accounts/:id/usage')],
    ['keys', t('nav.keys'), <AccountKeys key="keys" account={id} />],
    [
      'people',
      t('nav.people'),
      <People
        key="people"
        frame={Section}
        lead={t('access.lead')}
        account={account}
        rules={can('POST /admin/v1/accounts/:id/invitations')}
      />,
      can('GET /admin/v1/accounts/:id/members'),
    ],
    ['limits', t('accounts.tab_limits'), limits, can('PATCH /admin/v1/accounts/:id')],
    ['prices', t('customers.tab'), <AccountPrices key="prices" account={account} />],
    ['alerts', t('alerts.tab_alerts'), <AccountAlerts key="alerts" accountId={id} />],
    ['notes', t('notes.title'), <AccountNotes key="notes" account={id} />],
  ]
  return (
    <Tabs value={tab} onChange={setTab} keepMounted={false}>
      <Tabs.List>
        {tabs.map(
          ([name, label, , isOpen = true]) =>
            isOpen && (
              <Tabs.Tab key={name} value={name}>
                {label}
              </Tabs.Tab>
            ),
        )}
      </Tabs.List>
      <Tabs.Panel value={tab} pt="md">
        {tabs.find(([name]) => name === tab)?.[2]}
      </Tabs.Panel>
    </Tabs>
  )
}

function Figures({ account }: { readonly account: Account }) {
  return (
    <div className="tiles">
      <Tile lead label={t('home.balance')} money={account.balance} />
      <Tile label={t('money.available')} money={account.available} />
      <Tile label={t('money.reserved')} money={account.reserved} />
      <SpendingLimitTile of={account} />
      <MonthTiles account={account} />
    </div>
  )
}

/** Stops the account, or lets it work again. It is at the end of the first tab, below lists of a few rows. */
function State({ account }: { readonly account: Account }) {
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
      <ul className="dangers">
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
              <Press variant="outline" color="red" onClick={() => ask(status)} text={t(`accounts.do_${status}`)} />
            </li>
          ))}
      </ul>
    </Section>
  )
}

/** The balance below which an account's receivers get a notice, the receivers, and the messages that were sent. */
function AccountAlerts({ accountId }: { readonly accountId: string }) {
  const can = useCan()
  const mayChange = can('PATCH /admin/v1/accounts/:id/notices')
  const notices = useRead('GET /admin/v1/accounts/:id/notices', { params: { id: accountId } })
  return (
    <Loaded of={notices} height={260}>
      {(answer) => (
        <div className="page">
          {mayChange && <ThresholdForm notices={answer} account={accountId} />}
          <Receivers
            place="account"
            account={accountId}
            mayChange={mayChange}
            receivers={answer.channels}
            lead={t('alerts.receivers_lead')}
            empty={{ picture: 'notice', title: t('alerts.no_receivers'), text: t('alerts.no_receivers_text') }}
          />
          {can('GET /admin/v1/notices/deliveries') && (
            <DeliveryList
              read="GET /admin/v1/notices/deliveries"
              account={accountId}
              receivers={answer.channels}
              mayReplay={can('POST /admin/v1/notices/deliveries/:id/replay')}
            />
          )}
        </div>
      )}
    </Loaded>
  )
}

const DEFAULT_RATE = { requests: 300, window: 60 }
const WHOLE = { decimals: 0, least: 1, required: true }

interface Values extends SpendingLimit {
  readonly name: string
  readonly email: string
  readonly model: string | null
  /** Whether the account has a rate limit of its own instead of the default. */
  readonly ownRate: boolean
  readonly requests: string
  readonly window: string
  readonly models: string[]
  readonly exactHolds: boolean
}

/** The name and the limits of an account. */
function AccountLimits({ account }: { readonly account: Account }) {
  const ids = (useRead('GET /admin/v1/models', {}).data?.data ?? []).map(({ id }) => id)
  const first: Values = {
    name: account.name,
    email: account.email ?? '',
    model: account.default_model,
    ownRate: account.rate_limit !== null,
    requests: String(account.rate_limit?.requests ?? DEFAULT_RATE.requests),
    window: String(account.rate_limit?.window ?? DEFAULT_RATE.window),
    models: [...(account.allowed_models ?? [])],
    exactHolds: account.exact_holds,
    ...spendingLimitOf(account),
  }
  const form = useCall('PATCH /admin/v1/accounts/:id', {
    said: t('common.saved'),
    renews: RENEWS,
    first,
    check: { limit: (limit, { kind }) => (kind !== 'none' && limit === '' ? t('common.required') : null) },
    input: (values) => ({ params: { id: account.id }, body: patchOf(values) }),
  })
  return (
    <Form of={form} form="narrow" act={t('common.save')}>
      <TextInput label={t('keys.name')} required {...form.field('name')} />
      <TextInput label={t('entry.email')} description={t('access.email_hint')} type="email" {...form.field('email')} />
      <ChoiceField
        label={t('settings.model')}
        placeholder=""
        searchable
        limit={60}
        data={ids}
        {...form.field('model')}
      />
      <SpendingLimitFields label={t('limits.label')} kind={form.values.kind} props={form.field} />
      <Switch label={t('accounts.own_rate')} {...form.field('ownRate', 'checkbox')} />
      {form.values.ownRate && (
        <div className="fields">
          <NumberField label={t('accounts.requests')} {...WHOLE} {...form.field('requests')} />
          <NumberField label={t('accounts.window')} {...WHOLE} {...form.field('window')} />
        </div>
      )}
      <ModelsField data={ids} {...form.field('models')} />
      <Switch
        label={t('accounts.exact_holds')}
        description={t('accounts.exact_holds_hint')}
        {...form.field('exactHolds', 'checkbox')}
      />
    </Form>
  )
}

function patchOf({
  name,
  email,
  model,
  ownRate,
  requests,
  window,
  models,
  exactHolds,
  ...limit
}: Values): AccountPatch {
  return {
    name: name.trim(),
    email: email.trim() === '' ? null : email.trim(),
    default_model: model,
    rate_limit: ownRate ? { requests: Number(requests), window: Number(window) } : null,
    allowed_models: models.length === 0 ? null : models,
    exact_holds: exactHolds,
    ...spendingLimitBody(limit),
  }
}

/** The statement of an account as its owner sees it. */
export function AccountStatementPage() {
  const { id } = useParams({ from: '/operator/accounts/$id/statement' })
  const days = useRange()
  const input = { params: { id }, query: days.range }
  const statement = useRead('GET /admin/v1/accounts/:id/statement', input, { keep: true })
  return <StatementView page={OperatorPage} days={days} statement={statement} />
}
