import { Button, Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Account, EntryBody } from '../../../../src/api/admin/account-contract.ts'
import { useAct } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

type Kind = EntryBody['kind']

const MICRO_PER_RUB = 1_000_000
const KINDS: readonly Kind[] = ['topup', 'refund', 'adjustment']
const RENEWS = [
  'GET /admin/v1/accounts/:id',
  'GET /admin/v1/accounts/:id/ledger',
  'GET /admin/v1/accounts',
  'GET /cabinet/v1/summary',
] as const

/**
 * A top-up, a refund or an adjustment. The server books a reference only once, so a repeat is harmless: the form makes
 * a reference and keeps it until the entry is booked.
 */
export function EntryForm({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  const [reference, setReference] = useState(newReference)
  const form = useForm<{ kind: Kind; amount: string; reason: string }>({
    initialValues: { kind: 'topup', amount: '', reason: '' },
    validate: {
      amount: (amount) => (Number(amount) === 0 ? t('common.required') : null),
      reason: (reason) => (reason.trim() === '' ? t('common.required') : null),
    },
  })
  const post = useAct('POST /admin/v1/accounts/:id/ledger', {
    quiet: true,
    said: t('accounts.posted'),
    renews: RENEWS,
    done: () => {
      form.reset()
      setReference(newReference())
    },
  })
  const ask = useQuestion(account)
  const submit = ({ kind, amount, reason }: typeof form.values): void =>
    ask(kind, Number(amount), () =>
      post.mutate({
        params: { id: account.id },
        body: { kind, amount: Number(amount), reason: reason.trim(), reference },
      }),
    )
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Stack>
        {post.isError && <Failed failure={post.error} />}
        <div className={css.fields}>
          <Select
            label={t('ledger.kind')}
            allowDeselect={false}
            data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))}
            {...form.getInputProps('kind')}
          />
          <NumberField
            label={t('money.amount')}
            unit="₽"
            decimals={6}
            required
            {...(form.values.kind === 'adjustment' ? {} : { least: 0 })}
            {...form.getInputProps('amount')}
          />
          <TextInput label={t('ledger.reason')} required maxLength={500} {...form.getInputProps('reason')} />
          <TextInput
            label={t('ledger.reference')}
            required
            maxLength={200}
            value={reference}
            onChange={({ currentTarget }) => setReference(currentTarget.value)}
          />
        </div>
        <div>
          <Button type="submit" loading={post.isPending}>
            {t('accounts.post')}
          </Button>
        </div>
      </Stack>
    </form>
  )
}

/** Asks before an entry is booked, and names the account, the amount and the new balance. */
function useQuestion(account: Account): (kind: Kind, amount: number, book: () => void) => void {
  const { t } = useTranslation()
  const format = useFormat()
  return (kind, amount, book) =>
    confirm({
      name: 'entry',
      title: t('accounts.ask_entry', { kind: t(`ledger.${kind}`), amount: format.money(amount) }),
      text: t('accounts.ask_entry_text', {
        name: account.name,
        id: account.id,
        before: format.money(account.balance),
        after: format.money(balanceAfter(account.balance, kind, amount)),
      }),
      act: t('accounts.post'),
      harmful: kind === 'refund',
      onConfirm: book,
    })
}

/** Adds in whole micro-rubles, so that the announced balance is exactly the one after the entry. */
function balanceAfter(balance: number, kind: Kind, amount: number): number {
  const change = kind === 'refund' ? -amount : amount
  return (Math.round(balance * MICRO_PER_RUB) + Math.round(change * MICRO_PER_RUB)) / MICRO_PER_RUB
}

function newReference(): string {
  return `console-${Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
