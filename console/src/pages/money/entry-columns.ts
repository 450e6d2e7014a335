import type { Entry } from '../../../../src/api/cabinet/money-contract.ts'
import type { Column } from '../../parts/List.tsx'
import { t } from '../../parts/words.ts'

export const PAYMENT_TONES = { pending: 'warn', paid: 'good', cancelled: 'quiet' } as const

type Shown = Pick<Entry, 'kind' | 'reference' | 'reason' | 'amount' | 'balance'>

/** The columns that the ledgers of a customer and of an operator have in common. */
export function entryColumns(): Readonly<Record<keyof Shown, Column<Shown>>> {
  return {
    kind: { id: 'kind', title: t('ledger.kind'), value: 'kind', cell: ({ kind }) => t(`ledger.${kind}`) },
    reference: { id: 'reference', title: t('ledger.reference'), as: 'mono', value: ({ reference }) => reference },
    reason: { id: 'reason', title: t('ledger.reason'), as: 'clip', value: ({ reason }) => reason },
    amount: { id: 'amount', title: t('money.amount'), as: 'money', value: ({ amount }) => amount },
    balance: { id: 'balance', title: t('ledger.balance'), as: 'money', value: ({ balance }) => balance },
  }
}
