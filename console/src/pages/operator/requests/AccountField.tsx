import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import type { Account } from '../../../../../src/api/admin/account-contract.ts'
import { useRead } from '../../../api/hooks.ts'
import { CompactChoice } from '../../../parts/Filters.tsx'
import { t } from '../../../parts/words.ts'

const TYPING_MS = 150
const FOUND_MAX = 20

interface AccountFieldProps {
  readonly value: string | null
  readonly change: (id: string | null) => void
  readonly size?: 'xs' | 'sm'
}

/** A field for an account, which is found by the beginning of its name, e-mail or id. */
export function AccountField({ value, change, size = 'xs' }: AccountFieldProps) {
  const [text, setText] = useState('')
  const [query] = useDebouncedValue(text, TYPING_MS)
  const chosen = useRead('GET /admin/v1/accounts/:id', { params: { id: value ?? '' } }, { enabled: value !== null })
  const chosenName = chosen.data === undefined ? (value ?? '') : nameOf(chosen.data)
  const found = useRead(
    'GET /admin/v1/accounts',
    { query: { limit: FOUND_MAX, ...(query === '' || query === chosenName ? {} : { query }) } },
    { keep: true },
  )
  const options = (found.data?.data ?? []).map((account) => ({ value: account.id, label: nameOf(account) }))
  const isListed = value === null || options.some((option) => option.value === value)
  return (
    <CompactChoice
      size={size}
      label={t('requests.account')}
      nothingFoundMessage={t('accounts.none')}
      comboboxProps={{ width: 320, position: 'bottom-start' }}
      // The server has filtered already.
      filter={({ options: all }) => all}
      value={value}
      data={isListed ? options : [{ value, label: chosenName }, ...options]}
      onChange={change}
      onSearchChange={setText}
    />
  )
}

function nameOf({ id, name, email }: Account): string {
  return [name === '' ? id : name, email].filter((part) => part !== null && part !== '').join(' · ')
}
