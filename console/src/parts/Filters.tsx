import { Button, Select, type SelectProps, TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { isValidElement, type ReactNode, useState } from 'react'
import { ownValue } from '../../../src/base/own-value.ts'
import { given } from '../api/endpoint.ts'
import { SearchIcon } from './icons.ts'
import { type Search, useFilters, useTyped } from './list-place.ts'
import { t } from './words.ts'

/** A choice of one value or none: a button clears the choice. */
export function ChoiceField(props: SelectProps) {
  return <Select placeholder={t('log.any')} allowDeselect clearable {...props} />
}

/** The same, small and searchable, with its label inside the field. */
export function CompactChoice({ label, ...props }: SelectProps & { readonly label: string }) {
  return <ChoiceField size="xs" aria-label={label} placeholder={label} searchable {...props} />
}

interface SearchFieldProps {
  readonly value: string
  readonly change: (value: string) => void
  readonly label?: string
  readonly description?: string
}

export function SearchField({ change, ...props }: SearchFieldProps) {
  return (
    <TextInput
      type="search"
      label={t('common.search')}
      leftSection={<SearchIcon size={16} />}
      {...props}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  )
}

export interface Choice {
  readonly value: string
  readonly label: string
}

/** A value from a link is shown even if the list does not have it. */
export function withChosen(data: readonly Choice[], chosen: string | undefined): { value: string; label: string }[] {
  const known = chosen === undefined || data.some(({ value }) => value === chosen)
  return [...data, ...(known ? [] : [{ value: chosen, label: chosen }])]
}

interface FilterPanelProps {
  readonly children: ReactNode
  /** Small fields in one line, each with its label inside. */
  readonly compact?: boolean
}

/** Filters side by side; on a phone they are behind a button, so that the list comes first. */
export function FilterPanel({ children, compact = false }: FilterPanelProps) {
  const isNarrow = useMediaQuery('(max-width: 700px)') === true
  const [opened, setOpened] = useState(false)
  return (
    <>
      {isNarrow && (
        <div>
          <Button size="xs" variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
            {t('common.filters')}
          </Button>
        </div>
      )}
      {(!isNarrow || opened) && <div className={compact ? 'filters' : 'fields'}>{children}</div>}
    </>
  )
}

export interface Filter {
  /** The name of its parameter in the address. */
  readonly name: string
  /** Absent = a text search. */
  readonly label?: string
  readonly description?: string
  /** The choices; absent = a text field. */
  readonly data?: readonly Choice[]
  /** A value from a link is shown even if `data` does not have it. */
  readonly open?: boolean
  /** The state of the text field, if the page filters its list while the user types. */
  readonly typed?: ReturnType<typeof useTyped>
}

/** The values of the filters at an address, without values that are not among their choices. */
export function filtersAt(filters: readonly Filter[], at: Search): Search {
  const isKnown = ({ name, data, open = false }: Filter): boolean =>
    data === undefined || open || data.some(({ value }) => value === ownValue(at, name))
  return Object.fromEntries(filters.filter(isKnown).map(({ name }) => [name, ownValue(at, name)]))
}

/** The filters of the page's list, side by side; their values are in the address. */
export function Filters({ of, children }: { readonly of: readonly Filter[]; readonly children?: ReactNode }) {
  if (of.length === 0 && !isValidElement(children)) return null
  return (
    <div className="fields">
      {of.map((one) => (
        <FilterField key={one.name} {...one} />
      ))}
      {children}
    </div>
  )
}

export function FilterField(one: Filter) {
  return one.data === undefined ? <TextFilter {...one} /> : <ChoiceFilter {...one} />
}

function ChoiceFilter({ name, label, data = [], open = false }: Filter) {
  const { filters, filter } = useFilters<string>()
  const chosen = ownValue(filters, name)
  const isKnown = open || data.some(({ value }) => value === chosen)
  return (
    <ChoiceField
      label={label}
      searchable={open}
      limit={60}
      value={isKnown ? (chosen ?? null) : null}
      onChange={(value) => filter(name, value)}
      data={withChosen(data, open ? chosen : undefined)}
    />
  )
}

function TextFilter({ name, label, description, typed }: Filter) {
  const { filters, filter } = useFilters<string>()
  const own = useTyped(ownValue(filters, name) ?? '', (value) => filter(name, value))
  const [text, setText] = typed ?? own
  return <SearchField value={text} change={setText} {...given({ label, description })} />
}
