import { Select, TextInput, type SelectProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { SearchIcon } from './icons.ts'

/** One value of a list, or none: a button clears the choice. */
export function ChoiceField(props: SelectProps): ReactNode {
  const { t } = useTranslation()
  return (
    <Select placeholder={t('log.any')} clearable clearButtonProps={{ 'aria-label': t('common.clear') }} {...props} />
  )
}

export interface SearchFieldProps {
  readonly value: string
  readonly change: (value: string) => void
  readonly description?: string
}

export function SearchField({ change, ...props }: SearchFieldProps): ReactNode {
  const { t } = useTranslation()
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

/** A value from a link is shown even if the list does not have it. */
export function withChosen(
  data: readonly { readonly value: string; readonly label: string }[],
  chosen: string | undefined,
): { value: string; label: string }[] {
  const known = chosen === undefined || data.some(({ value }) => value === chosen)
  return [...data, ...(known ? [] : [{ value: chosen, label: chosen }])]
}
