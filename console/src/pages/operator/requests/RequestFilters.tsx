import { Autocomplete, Select } from '@mantine/core'
import { useRouter } from '@tanstack/react-router'
import { memo, useCallback, useMemo, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Answer } from '../../../api/endpoint.ts'
import { useRead } from '../../../api/hooks.ts'
import { useCan } from '../../../parts/Can.tsx'
import { wishedSearch } from '../../../parts/ask-ahead.ts'
import { withChosen } from '../../../parts/ChoiceField.tsx'
import { DayField } from '../../../parts/DayField.tsx'
import { errorNames } from '../../../parts/failure-text.ts'
import { FilterPanel } from '../../../parts/FilterPanel.tsx'
import { AccountField } from './AccountField.tsx'
import { STATUSES, type RequestFilter, type RequestSearch } from './request-search.ts'

const OPTIONS_MAX = 60
const KEYS_MAX = 200
const FLAGGED = 'flagged'
const UNKNOWN: Answer<'GET /admin/v1/endpoints/health'>['data'] = []
const NO_NAMES: string[] = []

export interface RequestFiltersProps {
  readonly search: RequestSearch
  readonly go: (search: RequestSearch) => void
}

type Change = (wish: Readonly<Partial<Record<RequestFilter, string | null>>>) => void

/** Filters by picking; each applies at once, and starts at the first page. Only the field that changed is drawn again. */
export function RequestFilters({ search, go }: RequestFiltersProps): ReactNode {
  const { t } = useTranslation()
  const router = useRouter()
  const change = useCallback<Change>(
    (wish) =>
      go({
        ...wishedSearch(router),
        offset: undefined,
        ...Object.fromEntries(
          Object.entries(wish).map(([name, value]) => [name, value === '' ? undefined : (value ?? undefined)]),
        ),
      }),
    [go, router],
  )
  // Names of the catalogue; others are typed. An operator without this scope types all of them.
  const known = useCan()('GET /admin/v1/endpoints/health')
  const health = useRead('GET /admin/v1/endpoints/health', {}, { enabled: known }).data?.data ?? UNKNOWN
  const models = useMemo(() => sorted(health.map(({ model }) => model)), [health])
  const providers = useMemo(() => sorted(health.map(({ provider }) => provider)), [health])
  const { account, key, model, provider, id, status, flagged, error_type: cause, from, to } = search
  return (
    <FilterPanel compact>
      <AccountFilter value={account ?? null} change={change} />
      <KeyField account={account} value={key} change={change} />
      <NameField name="model" label={t('usage.model')} value={model ?? ''} names={models} change={change} />
      <NameField
        name="provider"
        label={t('log.filter_provider')}
        value={provider ?? ''}
        names={providers}
        change={change}
      />
      <OutcomeField chosen={cause ?? status ?? (flagged === 'true' ? FLAGGED : null)} change={change} />
      <NameField name="id" label={t('log.filter_id')} value={id ?? ''} names={NO_NAMES} change={change} />
      <DayFilter name="from" label={t('range.from')} value={from ?? ''} change={change} />
      <DayFilter name="to" label={t('range.to')} value={to ?? ''} change={change} />
    </FilterPanel>
  )
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted()
}

const AccountFilter = memo(function AccountFilter({
  value,
  change,
}: {
  readonly value: string | null
  readonly change: Change
}): ReactNode {
  return <AccountField value={value} change={(account) => change({ account, key: null })} />
})

const DayFilter = memo(function DayFilter({
  name,
  label,
  value,
  change,
}: {
  readonly name: 'from' | 'to'
  readonly label: string
  readonly value: string
  readonly change: Change
}): ReactNode {
  return <DayField label={label} compact value={value} onChange={(day) => change({ [name]: day })} />
})

/** One of the names that are known, or any other that is typed. */
const NameField = memo(function NameField({
  name,
  label,
  value,
  names,
  change,
}: {
  readonly name: 'model' | 'provider' | 'id'
  readonly label: string
  readonly value: string
  readonly names: string[]
  readonly change: Change
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
      clearButtonProps={{ 'aria-label': t('common.clear') }}
    />
  )
})

const KeyField = memo(function KeyField({
  account,
  value,
  change,
}: {
  readonly account: string | undefined
  readonly value: string | undefined
  readonly change: Change
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
      onChange={(wish) => change({ key: wish })}
    />
  )
})

/** How requests ended: a status, a cause of failures, or doubtful usage. */
const OutcomeField = memo(function OutcomeField({
  chosen,
  change,
}: {
  readonly chosen: string | null
  readonly change: Change
}): ReactNode {
  const { t } = useTranslation()
  const statuses: readonly string[] = STATUSES
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
})
