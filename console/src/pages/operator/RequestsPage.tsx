import { Button, Text } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { memo, type ReactNode, useCallback, useState } from 'react'
import type { Generation } from '../../../../src/api/admin/report-contract.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { PauseIcon, PlayIcon } from '../../parts/icons.ts'
import { askAhead, useListRead, useShown } from '../../parts/list-place.ts'
import { useWords } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { RequestDrawer } from './requests/RequestDrawer.tsx'
import { RequestFilters } from './requests/RequestFilters.tsx'
import { RequestRows } from './requests/RequestRows.tsx'
import { isFiltered, isNumbered, offsetOf, PAGE_ROWS, queryOf, type RequestSearch } from './requests/request-search.ts'
import css from './requests/requests.module.css'

const LIVE_MS = 3_000
/** They are not drawn again when the rows come. */
const Filters = memo(RequestFilters)

/** The log across accounts. Filters, page and the opened request are in the address. */
export function RequestsPage(): ReactNode {
  const { t, format } = useWords()
  const search: RequestSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const [paused, setPaused] = useState(false)
  const offset = offsetOf(search)
  const live = !paused && offset === 0
  const requests = useListRead(
    'GET /admin/v1/generations',
    (at) => ({ query: { ...queryOf(at, format.zone), limit: PAGE_ROWS, offset: offsetOf(at) } }),
    live ? { everyMs: LIVE_MS } : {},
  )
  const go = useCallback(
    (wish: RequestSearch, replace = true): void => {
      askAhead(wish)
      void navigate({ to: '/operator/requests', search: wish, replace })
    },
    [navigate],
  )
  const shown = useShown(search, requests.isPlaceholderData)
  const rows = requests.data?.data ?? []
  const opened = search.request ?? null
  const at = rows.findIndex(({ generation_id: id }) => id === opened)
  const neighbour = (row: Generation | undefined): (() => void) | null =>
    at === -1 || row === undefined ? null : () => go({ ...search, request: row.generation_id })
  return (
    <OperatorPage
      title={t('nav.requests')}
      actions={<Actions search={search} go={go} live={live} paused={paused} setPaused={setPaused} />}
    >
      <Filters search={search} go={go} />
      <Loaded of={requests} height={560}>
        {({ data, total, total_exact: exact, searched_to: searchedTo }) => (
          <>
            <RequestRows
              rows={data}
              page={{ total, size: PAGE_ROWS, atLeast: exact === false, deep: isNumbered(shown) }}
              search={shown}
              opened={opened}
              open={(id) => go({ ...search, request: id }, false)}
            />
            {searchedTo !== undefined && (
              <Text size="sm" c="dimmed">
                {t('requests.searched_to', { when: format.dateTime(searchedTo) })}
              </Text>
            )}
          </>
        )}
      </Loaded>
      <RequestDrawer
        id={opened}
        close={() => go({ ...search, request: undefined })}
        previous={neighbour(rows[at - 1])}
        next={neighbour(rows[at + 1])}
      />
    </OperatorPage>
  )
}

/** What stands beside the heading: no filters, a pause, and whether the list renews itself. */
function Actions({
  search,
  go,
  live,
  paused,
  setPaused,
}: {
  readonly search: RequestSearch
  readonly go: (search: RequestSearch) => void
  readonly live: boolean
  readonly paused: boolean
  readonly setPaused: (paused: boolean) => void
}): ReactNode {
  const { t } = useWords()
  return (
    <>
      {isFiltered(search) && (
        <Button size="xs" variant="subtle" onClick={() => go({})}>
          {t('log.clear')}
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        aria-pressed={paused}
        disabled={offsetOf(search) > 0}
        leftSection={paused ? <PlayIcon size={15} /> : <PauseIcon size={15} />}
        onClick={() => setPaused(!paused)}
      >
        {t(paused ? 'requests.resume' : 'requests.pause')}
      </Button>
      <span className={css.live} data-live={live} role="status">
        {t(live ? 'requests.live' : 'requests.paused')}
      </span>
    </>
  )
}
