import { Button, SegmentedControl, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import clsx from 'clsx'
import { call } from '../../api/call.ts'
import { given } from '../../api/endpoint.ts'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { fileAddress } from '../../parts/ListTools.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { Clip } from '../../parts/cells.tsx'
import { useFilters } from '../../parts/list-place.ts'
import { format, t } from '../../parts/words.ts'
import list from '../../style/list.module.css'
import { entryColumns } from './entry-columns.ts'

const KINDS = ['all', 'money', 'charge', 'topup', 'refund', 'adjustment'] as const

/** Every entry of the account, newest first. */
// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
export function LedgerPage() {
  const { filters, filter } = useFilters<'kind'>()
  const columns = entryColumns()
  const kind = KINDS.find((known) => known === filters.kind) ?? 'all'
  const query = kind === 'all' ? {} : { kind }
  const pages = useInfiniteQuery({
    queryKey: ['GET /cabinet/v1/ledger', kind],
    queryFn: ({ pageParam: cursor, signal }) =>
      call('GET /cabinet/v1/ledger', { query: { limit: PAGE_ROWS, ...query, ...given({ cursor }) } }, signal),
    // The first page has no cursor.
    initialPageParam: undefined as string | undefined,
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
      <div className="scrolled">
        <SegmentedControl
          value={kind}
          onChange={(value) => filter('kind', value === 'all' ? null : value)}
          data={KINDS.map((value) => ({ value, label: t(`ledger.${value}`) }))}
          aria-label={t('ledger.kind')}
        />
      </div>
      <Loaded of={pages} height={420}>
        {({ pages: loaded }) => (
          <DataList
            name="ledger"
            begun
            file={fileAddress('GET /cabinet/v1/ledger', { query })}
            label={t('nav.ledger')}
            rows={loaded.flatMap(({ data }) => data)}
            empty={{ picture: 'money', title: t('ledger.none'), text: t('ledger.none_text') }}
            columns={[
              { id: 'at', title: t('log.time'), as: 'moment', value: ({ at }) => at },
              columns.kind,
              {
                ...columns.reference,
                cell: ({ kind: of, reference: id }) =>
                  of === 'charge' ? (
                    <Link to="/log/$id" params={{ id }} title={id} className={clsx(list.clip, 'mono')}>
                      {id}
                    </Link>
                  ) : (
                    <Clip text={id} mono />
                  ),
              },
              columns.reason,
              {
                ...columns.amount,
                cell: ({ amount }) => (
                  <Text span inherit fw={600} className={amount > 0 ? 'added' : ''}>
                    {amount > 0 ? '+' : ''}
                    {format.moneyInColumn(amount)}
                  </Text>
                ),
              },
              columns.balance,
            ]}
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
