import { Button, SegmentedControl, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Entry } from '../../../../src/api/cabinet/money-contract.ts'
import { call } from '../../api/call.ts'
import { Clip } from '../../parts/Clip.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { useFilters } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Page } from '../../parts/Page.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import list from '../../style/list.module.css'

const KINDS = ['all', 'money', 'charge', 'topup', 'refund', 'adjustment'] as const
const PAGE_ROWS = 50

/** Every entry of the account, newest first. */
export function LedgerPage(): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<'kind'>()
  const kind = KINDS.find((known) => known === filters.kind) ?? 'all'
  const query = kind === 'all' ? {} : { kind }
  const pages = useInfiniteQuery({
    queryKey: ['GET /cabinet/v1/ledger', kind],
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /cabinet/v1/ledger',
        {
          query: {
            limit: PAGE_ROWS,
            ...query,
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
          onChange={(value) => filter('kind', value === 'all' ? null : value)}
          data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))}
          aria-label={t('ledger.kind')}
        />
      </div>
      <Loaded of={pages} height={420}>
        {({ pages: loaded }) => (
          <Entries
            entries={loaded.flatMap(({ data }) => data)}
            file={fileAddress('GET /cabinet/v1/ledger', { query })}
          />
        )}
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

function Entries({ entries, file }: { readonly entries: readonly Entry[]; readonly file: string }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <DataList
      name="ledger"
      begun
      file={file}
      label={t('nav.ledger')}
      rows={entries}
      rowId={({ id }) => id}
      empty={{ picture: 'money', title: t('ledger.none'), text: t('ledger.none_text') }}
      columns={[
        { id: 'at', title: t('log.time'), value: ({ at }) => at, cell: ({ at }) => <Moment at={at} /> },
        { id: 'kind', title: t('ledger.kind'), value: ({ kind }) => kind, cell: ({ kind }) => t(`ledger.${kind}`) },
        {
          id: 'reference',
          title: t('ledger.reference'),
          value: ({ reference }) => reference,
          cell: ({ kind, reference }) =>
            kind === 'charge' ? (
              <Link to="/log/$id" params={{ id: reference }} title={reference} className={clsx(list.clip, list.mono)}>
                {reference}
              </Link>
            ) : (
              <Clip text={reference} mono />
            ),
        },
        {
          id: 'reason',
          title: t('ledger.reason'),
          value: ({ reason }) => reason,
          cell: ({ reason }) => reason !== null && <Clip text={reason} />,
        },
        {
          id: 'amount',
          title: t('money.amount'),
          end: true,
          value: ({ amount }) => amount,
          cell: ({ amount }) => (
            <Text span inherit fw={600} className={amount > 0 ? (css.added ?? '') : ''}>
              {amount > 0 ? '+' : ''}
              {format.moneyInColumn(amount)}
            </Text>
          ),
        },
        {
          id: 'balance',
          title: t('ledger.balance'),
          end: true,
          value: ({ balance }) => balance,
          cell: ({ balance }) => (balance === null ? '–' : format.moneyInColumn(balance)),
        },
      ]}
    />
  )
}
