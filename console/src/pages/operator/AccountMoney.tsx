import { Select, TextInput } from '@mantine/core'
import type { Account, EntryBody } from '../../../../src/api/admin/account-contract.ts'
import { Can } from '../../parts/Can.tsx'
import { ServerList } from '../../parts/DataList.tsx'
import { confirm } from '../../parts/Dialog.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Page.tsx'
import { ButtonLink } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { entryColumns } from '../money/entry-columns.ts'

/** The money of an account: what an operator can book, the statement, and every entry. */
export function AccountMoney({ account }: { readonly account: Account }) {
  return (
    <div className="page">
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
  )
}

type Kind = EntryBody['kind']

interface Entry {
  readonly kind: Kind
  readonly amount: string
  readonly reason: string
  readonly reference: string
}

const MICRO_PER_RUB = 1_000_000
const KINDS: readonly Kind[] = ['topup', 'refund', 'adjustment']
const RENEWS = [
  'GET /admin/v1/accounts/:id',
  'GET /admin/v1/accounts/:id/ledger',
  'GET /admin/v1/accounts',
  'GET /cabinet/v1/summary',
] as const

/**
 * A form for a top-up, a refund or an adjustment. Before it books, it shows the account, the amount and the new
 * balance. The form makes a reference and keeps it until the entry is booked; the server books a reference only once,
 * so a repeat is harmless.
 */
function EntryForm({ account }: { readonly account: Account }) {
  const first: Entry = { kind: 'topup', amount: '', reason: '', reference: newReference() }
  const form = useCall('POST /admin/v1/accounts/:id/ledger', {
    said: t('accounts.posted'),
    renews: RENEWS,
    done: () => form.set(first),
    first,
    check: {
      amount: (amount: string) => (Number(amount) === 0 ? t('common.required') : null),
      reason: (reason: string) => (reason.trim() === '' ? t('common.required') : null),
    },
    input: ({ kind, amount, reason, reference }) => ({
      params: { id: account.id },
      body: { kind, amount: Number(amount), reason: reason.trim(), reference },
    }),
    ask: ({ kind, amount }, go) =>
      confirm({
        name: 'entry',
        title: t('accounts.ask_entry', { kind: t(`ledger.${kind}`), amount: format.money(Number(amount)) }),
        text: t('accounts.ask_entry_text', {
          name: account.name,
          id: account.id,
          before: format.money(account.balance),
          after: format.money(balanceAfter(account.balance, kind, Number(amount))),
        }),
        act: t('accounts.post'),
        harmful: kind === 'refund',
        onConfirm: go,
      }),
  })
  return (
    <Form of={form} act={t('accounts.post')}>
      <div className="fields">
        <Select
          label={t('ledger.kind')}
          data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))}
          {...form.field('kind')}
        />
        <NumberField
          label={t('money.amount')}
          unit="₽"
          decimals={6}
          required
          {...(form.values.kind === 'adjustment' ? {} : { least: 0 })}
          {...form.field('amount')}
        />
        <TextInput label={t('ledger.reason')} required maxLength={500} {...form.field('reason')} />
        <TextInput label={t('ledger.reference')} required maxLength={200} {...form.field('reference')} />
      </div>
    </Form>
  )
}

/** Adds in whole micro-rubles, so that the announced balance is exactly the one after the entry. */
function balanceAfter(balance: number, kind: Kind, amount: number): number {
  const change = kind === 'refund' ? -amount : amount
  return (Math.round(balance * MICRO_PER_RUB) + Math.round(change * MICRO_PER_RUB)) / MICRO_PER_RUB
}

function newReference(): string {
  return `console-${Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

function AccountLedger({ accountId }: { readonly accountId: string }) {
  const { kind, reference, reason, amount, balance } = entryColumns()
  return (
    <ServerList
      read="GET /admin/v1/accounts/:id/ledger"
      params={{ id: accountId }}
      deep
      height={260}
      name="account-ledger"
      label={t('nav.ledger')}
      empty={{ picture: 'money', title: t('ledger.none') }}
      columns={[
        { id: 'at', title: t('log.time'), as: 'moment', value: 'created_at' },
        kind,
        reference,
        reason,
        { id: 'actor', title: t('events.actor'), as: 'clip', value: ({ actor }) => actor },
        amount,
        balance,
      ]}
    />
  )
}
