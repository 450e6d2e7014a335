import { Autocomplete, Select } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../../api/hooks.ts'
import { useCan } from '../../../parts/Can.tsx'
import { withChosen } from '../../../parts/ChoiceField.tsx'
import { DayField } from '../../../parts/DayField.tsx'
import { errorNames } from '../../../parts/failure-text.ts'
import { FilterPanel } from '../../../parts/FilterPanel.tsx'
import { AccountField } from './AccountField.tsx'
import { STATUSES, type RequestFilter, type RequestSearch } from './request-search.ts'

const OPTIONS_MAX = 60
const KEYS_MAX = 200

export interface RequestFiltersProps {
  readonly search: RequestSearch
  readonly go: (search: RequestSearch) => void
}

/** Filters by picking; each applies at once, and starts at the first page. */
export function RequestFilters({ search, go }: RequestFiltersProps): ReactNode {
  const { t } = useTranslation()
  const change = (wish: Readonly<Partial<Record<RequestFilter, string | null>>>): void =>
    go({
      ...search,
      offset: undefined,
      ...Object.fromEntries(
        Object.entries(wish).map(([name, value]) => [name, value === '' ? undefined : (value ?? undefined)]),
      ),
    })
  // Names of the catalogue; others are typed. An operator without this scope types all of them.
  const known = useCan()('GET /admin/v1/endpoints/health')
  const health = useRead('GET /admin/v1/endpoints/health', {}, { enabled: known }).data?.data ?? []
  return (
    <FilterPanel compact>
      <AccountField value={search.account ?? null} change={(account) => change({ account, key: null })} />
      <KeyField account={search.account} value={search.key} change={(key) => change({ key })} />
      <NameField
        label={t('usage.model')}
        value={search.model ?? ''}
        names={health.map(({ model }) => model)}
        change={(model) => change({ model })}
      />
      <NameField
        label={t('log.filter_provider')}
        value={search.provider ?? ''}
        names={health.map(({ provider }) => provider)}
        change={(provider) => change({ provider })}
      />
      <OutcomeField search={search} change={change} />
      <NameField label={t('log.filter_id')} value={search.id ?? ''} names={[]} change={(id) => change({ id })} />
      <DayField label={t('range.from')} compact value={search.from ?? ''} onChange={(from) => change({ from })} />
      <DayField label={t('range.to')} compact value={search.to ?? ''} onChange={(to) => change({ to })} />
    </FilterPanel>
  )
}

/** One of the names that are known, or any other that is typed. */
function NameField({
  label,
  value,
  names,
  change,
}: {
  readonly label: string
  readonly value: string
  readonly names: readonly string[]
  readonly change: (value: string) => void
}): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  // The address changed.
  if (value !== seen) {
    setSeen(value)
    setText(value)
  }
  const settle = (wish: string): void => {
    if (wish.trim() !== value) change(wish.trim())
  }
  return (
    <Autocomplete
      size="xs"
      aria-label={label}
      placeholder={label}
      value={text}
      data={[...new Set(names)].toSorted()}
      limit={OPTIONS_MAX}
      onChange={setText}
      onOptionSubmit={settle}
      onBlur={() => settle(text)}
      onKeyDown={({ key, nativeEvent }) => key === 'Enter' && !nativeEvent.isComposing && settle(text)}
      clearable
      onClear={() => settle('')}
      clearButtonProps={{ 'aria-label': t('common.clear') }}
    />
  )
}

function KeyField({
  account,
  value,
  change,
}: {
  readonly account: string | undefined
  readonly value: string | undefined
  readonly change: (key: string | null) => void
}): ReactNode {
  const { t } = useTranslation()
  const keys = useRead(
    'GET /admin/v1/accounts/:id/keys',
    { params: { id: account ?? '' }, query: { limit: KEYS_MAX } },
    { enabled: account !== undefined },
  )
  const known = (keys.data?.data ?? []).map(({ id, name, label }) => ({ value: id, label: `${name} · ${label}` }))
  if (account === undefined && value === undefined) return null
  return (
    <Select
      size="xs"
      aria-label={t('usage.key')}
      placeholder={t('usage.key')}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      limit={OPTIONS_MAX}
      value={value ?? null}
      data={withChosen(known, value)}
      onChange={change}
    />
  )
}

const FLAGGED = 'flagged'

/** How requests ended: a status, a cause of failures, or doubtful usage. */
function OutcomeField({
  search,
  change,
}: {
  readonly search: RequestSearch
  readonly change: (wish: Readonly<Partial<Record<RequestFilter, string | null>>>) => void
}): ReactNode {
  const { t } = useTranslation()
  const statuses: readonly string[] = STATUSES
  const chosen = search.error_type ?? search.status ?? (search.flagged === 'true' ? FLAGGED : null)
  const pick = (value: string | null): void =>
    change({
      status: value !== null && statuses.includes(value) ? value : null,
      flagged: value === FLAGGED ? 'true' : null,
      error_type: value !== null && value !== FLAGGED && !statuses.includes(value) ? value : null,
    })
  return (
    <Select
      size="xs"
      aria-label={t('log.status')}
      placeholder={t('log.status')}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      comboboxProps={{ width: 280, position: 'bottom-start' }}
      value={chosen}
      onChange={pick}
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
}
