import { Autocomplete } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { memo, useCallback, useMemo, useState } from 'react'
import type { GenerationQuery } from '../../../../../src/api/admin/report-contract.ts'
import type { Answer } from '../../../api/endpoint.ts'
import { useRead } from '../../../api/hooks.ts'
import { useCan } from '../../../parts/Can.tsx'
import { errorNames } from '../../../parts/failure-text.ts'
import { CompactChoice, FilterPanel, withChosen } from '../../../parts/Filters.tsx'
import { useChange } from '../../../parts/list-place.ts'
import { logTimes, RangeFields, useLogRange } from '../../../parts/RangeFields.tsx'
import { t, useReader } from '../../../parts/words.ts'
import { AccountField } from './AccountField.tsx'

const OPTIONS_MAX = 60
const KEYS_MAX = 200
const FLAGGED = 'flagged'
const UNKNOWN: Answer<'GET /admin/v1/endpoints/health'>['data'] = []
const NO_NAMES: string[] = []

type Change = (wish: Readonly<Record<string, string | null>>) => void

/**
 * Filters, each of which applies at once and starts at the first page. Only the field that changed is drawn again, and
 * none when rows arrive.
 */
export const RequestFilters = memo(function RequestFilters() {
  useReader()
  const search: RequestSearch = useSearch({ strict: false })
  const changeAddress = useChange()
  const change = useCallback<Change>((wish) => changeAddress({ ...wish, offset: null }), [changeAddress])
  // Names for the choice; others can be typed. An operator without this scope types all names.
  const known = useCan()('GET /admin/v1/endpoints/health')
  const health = useRead('GET /admin/v1/endpoints/health', {}, { enabled: known }).data?.data ?? UNKNOWN
  const models = useMemo(() => sorted(health.map(({ model }) => model)), [health])
  const providers = useMemo(() => sorted(health.map(({ provider }) => provider)), [health])
  const { account, key, model, provider, id, status, flagged, error_type: cause, end_user: user } = search
  return (
    <FilterPanel compact>
      <AccountFilter value={account ?? ''} change={change} />
      <KeyField account={account} value={key} change={change} />
      <NameField name="model" label={t('usage.model')} value={model ?? ''} names={models} change={change} />
      <NameField
        name="provider"
        label={t('log.filter_provider')}
        value={provider ?? ''}
        names={providers}
        change={change}
      />
      <NameField name="end_user" label={t('log.filter_end_user')} value={user ?? ''} names={NO_NAMES} change={change} />
      <OutcomeField chosen={cause ?? status ?? (flagged === 'true' ? FLAGGED : null)} change={change} />
      <NameField name="id" label={t('log.filter_id')} value={id ?? ''} names={NO_NAMES} change={change} />
      <RangeFields compact {...useLogRange()} />
    </FilterPanel>
  )
})

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted()
}

interface FieldProps<Name extends RequestFilter = RequestFilter> {
  readonly name: Name
  readonly label: string
  readonly value: string
  readonly change: Change
}

const AccountFilter = memo(function AccountFilter({ value, change }: Pick<FieldProps, 'value' | 'change'>) {
  useReader()
  return <AccountField value={value === '' ? null : value} change={(account) => change({ account, key: null })} />
})

/** One of the known names, or any other that is typed. */
const NameField = memo(function NameField({
  name,
  label,
  value,
  names,
  change,
}: FieldProps<'model' | 'provider' | 'end_user' | 'id'> & { readonly names: string[] }) {
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  // The address changed.
  if (value !== seen) {
    setSeen(value)
    setText(value)
  }
  const settle = (wish: string): void => {
    if (wish.trim() !== value) change({ [name]: wish.trim() })
  }
  return (
    <Autocomplete
      size="xs"
      aria-label={label}
      placeholder={label}
      value={text}
      data={names}
      limit={OPTIONS_MAX}
      onChange={setText}
      onOptionSubmit={settle}
      onBlur={() => settle(text)}
      onKeyDown={({ key, nativeEvent }) => key === 'Enter' && !nativeEvent.isComposing && settle(text)}
      clearable
      onClear={() => settle('')}
    />
  )
})

interface KeyFieldProps {
  readonly account: string | undefined
  readonly value: string | undefined
  readonly change: Change
}

const KeyField = memo(function KeyField({ account, value, change }: KeyFieldProps) {
  useReader()
  const keys = useRead(
    'GET /admin/v1/accounts/:id/keys',
    { params: { id: account ?? '' }, query: { limit: KEYS_MAX } },
    { enabled: account !== undefined },
  )
  const known = (keys.data?.data ?? []).map(({ id, name, label }) => ({ value: id, label: `${name} · ${label}` }))
  if (account === undefined && value === undefined) return null
  return (
    <CompactChoice
      label={t('usage.key')}
      limit={OPTIONS_MAX}
      value={value ?? null}
      data={withChosen(known, value)}
      onChange={(wish) => change({ key: wish })}
    />
  )
})

interface OutcomeFieldProps {
  readonly chosen: string | null
  readonly change: Change
}

/** How requests ended: a status, an error type, or doubtful usage. */
const OutcomeField = memo(function OutcomeField({ chosen, change }: OutcomeFieldProps) {
  useReader()
  const statuses: readonly string[] = STATUSES
  const isStatus = (value: string | null): boolean => value !== null && statuses.includes(value)
  return (
    <CompactChoice
      label={t('log.status')}
      comboboxProps={{ width: 280, position: 'bottom-start' }}
      value={chosen}
      onChange={(value) =>
        change({
          status: isStatus(value) ? value : null,
          flagged: value === FLAGGED ? 'true' : null,
          error_type: isStatus(value) || value === FLAGGED ? null : value,
        })
      }
      data={[
        {
          group: t('log.status'),
          items: [
            ...STATUSES.map((value) => ({ value: value as string, label: t(`status.${value}`) })),
            { value: FLAGGED, label: t('requests.flagged') },
          ],
        },
        { group: t('overview.cause'), items: errorNames() },
      ]}
    />
  )
})

/** About one screen of rows: twice as many take twice the time to draw. */
export const PAGE_ROWS = 25
export const STATUSES = ['completed', 'error', 'cancelled'] as const
const EXACT = ['account', 'key', 'model', 'provider', 'error_type', 'end_user'] as const

type RequestFilter = (typeof EXACT)[number] | 'status' | 'flagged' | 'id' | 'range' | 'from' | 'to'
/** The filters in the address, the page and the open request. */
export type RequestSearch = Readonly<Partial<Record<RequestFilter | 'offset' | 'request', string | undefined>>>

function isFiltered({ offset: _offset, request: _request, ...filters }: RequestSearch): boolean {
  return Object.values(filters).some((value) => value !== undefined)
}

/** Whether the server can go to any page: the rows of one account are numbered. */
export function isNumbered({ account, range: _range, from: _from, to: _to, ...others }: RequestSearch): boolean {
  return account !== undefined && !isFiltered(others)
}

/** The query for the server. An id is that of a generation, or the client's own request id. */
export function queryOf(search: RequestSearch): GenerationQuery {
  const status = STATUSES.find((known) => known === search.status)
  const { id } = search
  return {
    // The server refuses an unknown error type with a clear message.
    ...(Object.fromEntries(
      EXACT.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
    ) as GenerationQuery),
    ...(status === undefined ? {} : { status }),
    ...(search.flagged === 'true' ? { flagged: 'true' as const } : {}),
    ...(id === undefined ? {} : { [id.startsWith('gen-') ? 'generation_id' : 'request_id']: id }),
    ...logTimes(search),
  }
}
