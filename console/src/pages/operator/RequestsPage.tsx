import { useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Generation } from '../../../../src/api/admin/report-contract.ts'
import { Note } from '../../parts/cells.tsx'
import { Pager } from '../../parts/DataList.tsx'
import { placeOf, useListPlace, useListRead, useShown } from '../../parts/list-place.ts'
import { fileAddress } from '../../parts/ListTools.tsx'
import { Empty, Loaded } from '../../parts/Loaded.tsx'
import { format, t } from '../../parts/words.ts'
import { Log, LogActions, LogTabs } from '../log/Log.tsx'
import type { Line } from '../log/LogRows.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { Story } from './requests/Story.tsx'
import { isNumbered, PAGE_ROWS, queryOf, RequestFilters, type RequestSearch } from './requests/RequestFilters.tsx'

const LIVE_MS = 3_000
const NONE: readonly Generation[] = []

/** The log of all accounts. Filters, page and the open request are in the address. */
export function RequestsPage() {
  const search: RequestSearch = useSearch({ strict: false })
  const [live, setLive] = useState(true)
  const { offset, go } = useListPlace()
  const requests = useListRead(
    'GET /admin/v1/generations',
    (at) => ({ query: { ...queryOf(at), limit: PAGE_ROWS, offset: placeOf(at).offset } }),
    live && offset === 0 ? { everyMs: LIVE_MS } : {},
  )
  const shown = useShown(search, requests.isPlaceholderData)
  const lines = useMemo(() => (requests.data?.data ?? NONE).map(lineOf), [requests.data])
  return (
    <OperatorPage title={t('nav.requests')} actions={<LogTabs of="requests" at={0} />}>
      <RequestFilters />
      <Loaded of={requests} height={560}>
        {({ total, total_exact: exact, searched_to: searchedTo }) => (
          <>
            {lines.length === 0 && <Empty picture="log" title={t('log.none')} text={t('requests.none_text')} />}
            <Log
              name="requests"
              label={t('nav.requests')}
              who={t('requests.account')}
              tools={<LogActions name="requests" live={live} setLive={setLive} still={offset > 0} />}
              lines={lines}
              file={fileAddress('GET /admin/v1/generations', { query: queryOf(shown) })}
              asked=""
              old={requests.isPlaceholderData}
              story={(id) => <Story id={id} />}
            />
            <Pager
              offset={placeOf(shown).offset}
              size={PAGE_ROWS}
              total={total}
              go={(wish) => go({ offset: wish })}
              atLeast={exact === false}
              deep={isNumbered(shown)}
            />
            {searchedTo !== undefined && (
              <Note>{t('requests.searched_to', { when: format.dateTime(searchedTo) })}</Note>
            )}
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

function lineOf(row: Generation): Line {
  return {
    id: row.generation_id,
    at: row.timestamp,
    model: row.model_name,
    provider: row.provider_name,
    who: row.account_name === '' ? row.account : row.account_name,
    by: row.key_name,
    status: row.status,
    error: row.error_type,
    input: row.input_tokens,
    output: row.output_tokens,
    ms: row.duration_ms,
    cost: row.total_cost,
    providerCost: row.provider_cost,
    shortfall: row.shortfall,
    flagged: row.flagged,
  }
}
