import { SegmentedControl, Text } from '@mantine/core'
import type { LinkProps } from '@tanstack/react-router'
import type { LedgerEntry } from '../../../../src/api/admin/account-contract.ts'
import type { Entry } from '../../../../src/api/cabinet/money-contract.ts'
import { ServerList } from '../../parts/DataList.tsx'
import { useFilters } from '../../parts/list-place.ts'
import { requestAt } from '../../parts/row-link.ts'
import { format, t } from '../../parts/words.ts'

export const PAYMENT_TONES = { pending: 'warn', paid: 'good', cancelled: 'quiet' } as const
const KINDS = ['all', 'money', 'charge', 'topup', 'refund', 'adjustment'] as const

/** What the own ledger and an account's ledger for the operator have in common. */
type Shown = Omit<Entry, 'at'> & Partial<Pick<Entry, 'at'> & Pick<LedgerEntry, 'created_at' | 'actor'>>

/** Every entry of the own account, or of another one for the operator, newest first. */
export function Ledger({ account }: { readonly account?: string }) {
  const { filters, filter } = useFilters<'kind'>()
  const isOwn = account === undefined
  const kind = KINDS.find((known) => known === filters.kind) ?? 'all'
  return (
    <>
      <div className="scrolled">
        <SegmentedControl
          value={kind}
          onChange={(value) => filter('kind', value === 'all' ? null : value)}
          data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))}
          aria-label={t('ledger.kind')}
        />
      </div>
      <ServerList
        // Both routes have the same rows, but for the fields of `Shown`.
        read={(isOwn ? 'GET /cabinet/v1/ledger' : 'GET /admin/v1/accounts/:id/ledger') as 'GET /cabinet/v1/ledger'}
        params={isOwn ? {} : { id: account }}
        query={({ kind: wish }) => ({ kind: KINDS.filter((known) => known !== 'all').find((known) => known === wish) })}
        days
        deep={kind === 'all'}
        height={420}
        name={isOwn ? 'ledger' : 'account-ledger'}
        label={t('nav.ledger')}
        empty={{ picture: 'money', title: t('ledger.none'), text: t('ledger.none_text') }}
        columns={[
          { id: 'at', title: t('log.time'), as: 'moment', value: (row: Shown) => row.at ?? row.created_at ?? null },
          { id: 'kind', title: t('ledger.kind'), value: 'kind', cell: (row) => t(`ledger.${row.kind}`) },
          {
            id: 'reference',
            title: t('ledger.reference'),
            as: 'mono',
            value: ({ reference }) => codeOf(reference) ?? reference,
            to: (row) => sourceOf(row, isOwn),
          },
          { id: 'reason', title: t('ledger.reason'), as: 'clip', value: reasonOf },
          ...(isOwn
            ? []
            : [
                {
                  id: 'actor',
                  title: t('events.actor'),
                  as: 'clip' as const,
                  value: ({ actor }: Shown) => actor ?? null,
                },
              ]),
          {
            id: 'amount',
            title: t('money.amount'),
            as: 'exact',
            value: 'amount',
            cell: ({ amount }) => (
              <Text span inherit fw={600} className={amount > 0 ? 'added' : ''}>
                {amount > 0 ? '+' : ''}
                {format.exactRubles(amount)}
              </Text>
            ),
          },
          { id: 'balance', title: t('ledger.balance'), as: 'exact', value: 'balance' },
        ]}
      />
    </>
  )
}

/** The page of what an entry is for: a request, a payment or a code; null = an operator's own reference. */
function sourceOf({ kind, reference, payment }: Shown, isOwn: boolean): LinkProps | null {
  if (kind === 'charge' || (kind === 'adjustment' && reference.startsWith('gen-'))) return requestAt(reference, isOwn)
  if (payment !== null)
    return isOwn ? { to: '/top-up', search: { payment } } : { to: '/operator/payments', search: { id: payment } }
  const code = codeOf(reference)
  return code === null || isOwn ? null : { to: '/operator/codes', search: { id: code } }
}

/** What a person wrote, or what the server did, in the reader's language. */
function reasonOf({ kind, reason, reference, payment }: Shown): string | null {
  if (payment !== null) return t(kind === 'refund' ? 'ledger.given_back' : 'ledger.paid_online')
  return codeOf(reference) === null ? reason : t('ledger.by_code', { code: reason?.replace('code ', '') ?? '' })
}

/** The id of the code that was redeemed: its entry is known by the code and the account. */
function codeOf(reference: string): string | null {
  const [name, id = null] = reference.split(':')
  return name === 'code' ? id : null
}
