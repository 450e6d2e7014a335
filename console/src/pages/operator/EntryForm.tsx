import { Button, NumberInput, Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { EntryBody } from '../../../../src/admin/contract.ts'
import { useAct } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const KINDS: readonly EntryBody['kind'][] = ['topup', 'refund', 'adjustment']

/** Top-up, refund or adjustment. The reference makes a repeat harmless: one is made up, and kept until the entry is through. */
export function EntryForm({ accountId }: { readonly accountId: string }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [reference, setReference] = useState(newReference)
  const form = useForm<{ kind: EntryBody['kind']; amount: number | string; reason: string }>({
    initialValues: { kind: 'topup', amount: '', reason: '' },
    validate: { amount: (amount, { kind }) => (Number(amount) === 0 || (kind !== 'adjustment' && Number(amount) < 0) ? t('common.required') : null), reason: (reason) => (reason.trim() === '' ? t('common.required') : null) },
  })
  const post = useAct('POST /admin/v1/accounts/:id/ledger', {
    quiet: true,
    said: t('accounts.posted'),
    renews: ['GET /admin/v1/accounts/:id', 'GET /admin/v1/accounts/:id/ledger', 'GET /admin/v1/accounts', 'GET /cabinet/v1/summary'],
    done: () => {
      form.reset()
      setReference(newReference())
    },
  })
  const submit = ({ kind, amount, reason }: typeof form.values): void =>
    confirm({
      title: t('accounts.ask_entry', { kind: t(`ledger.${kind}`), amount: format.money(Number(amount)) }),
      text: t('accounts.ask_entry_text'),
      act: t('accounts.post'),
      harmful: kind === 'refund',
      onConfirm: () => post.mutate({ params: { id: accountId }, body: { kind, amount: Number(amount), reason: reason.trim(), reference } }),
    })
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Stack>
        {post.isError && <Failed failure={post.error} />}
        <div className={css.fields}>
          <Select label={t('ledger.kind')} allowDeselect={false} data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))} {...form.getInputProps('kind')} />
          <NumberInput label={t('money.amount')} suffix=" ₽" decimalScale={6} thousandSeparator=" " hideControls required allowNegative={form.values.kind === 'adjustment'} {...form.getInputProps('amount')} />
          <TextInput label={t('ledger.reason')} required maxLength={500} {...form.getInputProps('reason')} />
          <TextInput label={t('ledger.reference')} required maxLength={200} value={reference} onChange={({ currentTarget }) => setReference(currentTarget.value)} />
        </div>
        <div><Button type="submit" loading={post.isPending}>{t('accounts.post')}</Button></div>
      </Stack>
    </form>
  )
}

function newReference(): string {
  return `console-${Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
