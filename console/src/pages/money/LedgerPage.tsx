import { Button, SegmentedControl, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Entry } from '../../../../src/cabinet/money-contract.ts'
import { call } from '../../api/call.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const KINDS = ['all', 'money', 'charge', 'topup', 'refund', 'adjustment'] as const
const PAGE_ROWS = 50

/** Every entry of the account, newest first. */
export function LedgerPage(): ReactNode {
  const { t } = useTranslation()
  const [kind, setKind] = useState<(typeof KINDS)[number]>('all')
  const pages = useInfiniteQuery({
    queryKey: ['GET /cabinet/v1/ledger', kind],
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /cabinet/v1/ledger',
        {
          query: {
            limit: PAGE_ROWS,
            ...(kind === 'all' ? {} : { kind }),
            ...(pageParam === null ? {} : { cursor: pageParam }),
          },
        },
        signal,
      ),
    // The first page has no cursor.
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor: next }) => next,
  })
  return (
    <Page
      title={t('nav.ledger')}
      lead={t('ledger.lead')}
      actions={
        <Button component={Link} to="/statement" variant="default">
          {t('nav.statement')}
        </Button>
      }
    >
      <div className={css.scrolled}>
        <SegmentedControl
          value={kind}
          onChange={setKind}
          data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))}
          aria-label={t('ledger.kind')}
        />
      </div>
      <Loaded of={pages} height={420}>
        {({ pages: loaded }) => <Entries entries={loaded.flatMap(({ data }) => data)} />}
      </Loaded>
      {pages.hasNextPage && (
        <div>
          <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            {t('log.more')}
          </Button>
        </div>
      )}
    </Page>
  )
}

function Entries({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <List
      label={t('nav.ledger')}
      rows={entries}
      rowId={({ id }) => id}
      empty={{ title: t('ledger.none'), text: t('ledger.none_text') }}
      columns={[
        { id: 'at', title: t('log.time'), cell: ({ at }) => <time dateTime={at}>{format.dateTime(at)}</time> },
        { id: 'kind', title: t('ledger.kind'), cell: ({ kind }) => t(`ledger.${kind}`) },
        {
          id: 'reference',
          title: t('ledger.reference'),
          cell: ({ kind, reference }) => (
            <span className={css.mono}>
              {kind === 'charge' ? (
                <Link to="/log/$id" params={{ id: reference }}>
                  {reference}
                </Link>
              ) : (
                reference
              )}
            </span>
          ),
        },
        { id: 'reason', title: t('ledger.reason'), cell: ({ reason }) => reason ?? '' },
        {
          id: 'amount',
          title: t('money.amount'),
          end: true,
          cell: ({ amount }) => (
            <Text span size="sm" fw={600} className={amount > 0 ? (css.added ?? '') : ''}>
              {amount > 0 ? '+' : ''}
              {format.money(amount)}
            </Text>
          ),
        },
      ]}
    />
  )
}
