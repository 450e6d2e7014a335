import { Select, TextInput } from '@mantine/core'
import type { Account } from '../../../../src/api/admin/account-contract.ts'
import { Can } from '../../parts/Can.tsx'
import { confirm } from '../../parts/Dialog.tsx'
import { type Fields, Form, useCall } from '../../parts/Form.tsx'
import { balanceAfter, type Move, MoneyMove } from '../../parts/MoneyMove.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Page.tsx'
import { ButtonLink } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { Ledger } from '../money/Ledger.tsx'

/** The money of an account: what an operator can book, the statement, and every entry. */
export function AccountMoney({ account }: { readonly account: Account }) {
  return (
    <div className="page">
      <Can call="POST /admin/v1/accounts/:id/ledger">
        <Section boxed title={t('accounts.entry')}>
          <EntryForm account={account} />
        </Section>
      </Can>
      <div>
        <ButtonLink to="/operator/accounts/$id/statement" params={{ id: account.id }} variant="default">
          {t('nav.statement')}
        </ButtonLink>
      </div>
      <Ledger account={account.id} />
    </div>
  )
}

/** What an operator does with money. An adjustment is a credit or a write-off. */
const ACTIONS = ['topup', 'refund', 'credit', 'write_off'] as const
type Action = (typeof ACTIONS)[number]
const KINDS = { topup: 'topup', refund: 'refund', credit: 'adjustment', write_off: 'adjustment' } as const

interface Values {
  readonly action: Action
  /** RUB, above 0. */
  readonly amount: string
  readonly reason: string
  readonly reference: string
}

export const BOOKED = [
  'GET /admin/v1/accounts/:id',
  'GET /admin/v1/accounts/:id/ledger',
  'GET /admin/v1/accounts',
  'GET /cabinet/v1/summary',
] as const

/**
 * A form that books money. Above its button it says from whom to whom the money goes, and the new balance. The form
 * makes a reference and keeps it until the entry is booked; the server books a reference only once, so a repeat is
 * harmless.
 */
function EntryForm({ account }: { readonly account: Account }) {
  const first: Values = { action: 'topup', amount: '', reason: '', reference: newReference() }
  const form = useCall('POST /admin/v1/accounts/:id/ledger', {
    said: t('accounts.posted'),
    renews: BOOKED,
    done: () => form.set(first),
    first,
    check: {
      amount: (amount: string) => (Number(amount) === 0 ? t('common.required') : null),
      reason: (reason: string) => (reason.trim() === '' ? t('common.required') : null),
    },
    names: { kind: 'action' },
    input: ({ action, amount, reason, reference }) => ({
      params: { id: account.id },
      body: {
        kind: KINDS[action],
        amount: action === 'write_off' ? -Number(amount) : Number(amount),
        reason: reason.trim(),
        reference,
      },
    }),
    ask: ({ action, amount }, go) => {
      const move = moveOf(account, action, Number(amount))
      confirm({
        name: 'entry',
        title: t('accounts.ask_entry', { act: t(`accounts.do_${action}`), amount: format.exactRubles(Number(amount)) }),
        text: t('accounts.ask_entry_text', {
          ...move,
          before: format.exactRubles(account.balance),
          after: format.exactRubles(balanceAfter(move)),
        }),
        act: t(`accounts.do_${action}`),
        harmful: move.change < 0,
        onConfirm: go,
      })
    },
  })
  return (
    <Form of={form} act={t(`accounts.do_${form.values.action}`)}>
      <EntryFields account={account} form={form} />
    </Form>
  )
}

function EntryFields({ account, form }: { readonly account: Account; readonly form: Fields<Values> }) {
  const { action, amount } = form.values
  const leaves = action === 'refund' || action === 'write_off'
  return (
    <>
      <div className="fields">
        <Select
          label={t('accounts.action')}
          description={t(`accounts.${action}_hint`)}
          data={ACTIONS.map((value) => ({ value, label: t(`accounts.do_${value}`) }))}
          allowDeselect={false}
          {...form.field('action')}
        />
        <NumberField
          label={t('money.amount')}
          {...(leaves ? { description: t('accounts.at_most', { amount: format.exactRubles(account.available) }) } : {})}
          unit="₽"
          decimals={6}
          required
          least={0}
          {...(leaves ? { most: account.available } : {})}
          {...form.field('amount')}
        />
        <TextInput
          label={t('ledger.reason')}
          description={t('accounts.reason_hint')}
          required

          {...form.field('reason')}
        />
        <TextInput
          label={t('ledger.reference')}
          description={t('accounts.entry_lead')}
          required

          {...form.field('reference')}
        />
      </div>
      <MoneyMove move={moveOf(account, action, Number(amount))} />
    </>
  )
}

/** Who pays whom by an action. */
export function moveOf({ name, id, balance }: Account, action: Action, amount: number): Move {
  const account = t('accounts.balance_of', { name, id })
  const customer = t(`accounts.customer_${action === 'refund' ? 'gets' : 'paid'}`)
  switch (action) {
    case 'topup':
      return { from: customer, to: account, change: amount, balance }
    case 'refund':
      return { from: account, to: customer, change: -amount, balance }
    case 'credit':
      return { from: t('accounts.business'), to: account, change: amount, balance }
    case 'write_off':
      return { from: account, to: t('accounts.business'), change: -amount, balance }
  }
}

function newReference(): string {
  return `console-${Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
