import { Loader, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { Icon } from '@tabler/icons-react'
import { type NavigateOptions, useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { isFound } from '../../../src/base/search-words.ts'
import { useRead } from '../api/hooks.ts'
import { useCan } from '../parts/Can.tsx'
import { Note } from '../parts/cells.tsx'
import { errorName } from '../parts/failure-text.ts'
import * as icons from '../parts/icons.ts'
import { accountAt, modelAt } from '../parts/row-link.ts'
import { format, t } from '../parts/words.ts'
import { useMay, useProfile } from '../session.tsx'
import { ACTIONS, CUSTOMER, isAllowed, openedBy, OPERATOR } from './navigation.ts'
import css from './shell.module.css'

const TYPING_MS = 120
/** Of each kind. */
const FOUND_MAX = 6
const REQUEST = /^(?:gen|req)-\S+$/
const PAYMENT = /^pay_\S+$/

interface Found {
  readonly id: string
  /** What it is: a page, an account, a key. */
  readonly kind: string
  readonly name: string
  readonly more?: string | null
  readonly icon: Icon
  readonly go: {
    readonly to: string
    readonly params?: Readonly<Record<string, string>>
    readonly search?: Readonly<Record<string, string | undefined>>
  }
}

const STEPS: ReadonlyMap<string, number> = new Map([
  ['ArrowDown', 1],
  ['ArrowUp', -1],
])

/** Finds pages, actions, accounts, keys, models and whatever has an id. It is used with the keyboard alone. */
export function Finder({ close }: { readonly close: () => void }) {
  const [text, setText] = useState('')
  const [settled] = useDebouncedValue(text.trim(), TYPING_MS)
  const [at, setAt] = useState(0)
  // Enter was pressed before everything was found.
  const [waits, setWaits] = useState(false)
  const listId = useId()
  const router = useRouter()
  const records = useRecords(settled)
  const all = [...usePlaces(text.trim()), ...records.found]
  const busy = records.busy || settled !== text.trim()
  const chosen = all[Math.min(at, all.length - 1)]
  const open = ({ go }: Found): void => {
    close()
    // Each is an address of the router, whose own type knows only one at a time.
    void router.navigate(go as unknown as NavigateOptions)
  }
  useEffect(() => {
    if (!waits || busy) return
    setWaits(false)
    if (chosen !== undefined) open(chosen)
  })
  const press = (event: KeyboardEvent): void => {
    const step = STEPS.get(event.key)
    if (step !== undefined && all.length > 0) setAt((Math.min(at, all.length - 1) + step + all.length) % all.length)
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing) setWaits(true)
    else return
    event.preventDefault()
  }
  return (
    <>
      <TextInput
        data-autofocus
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={chosen && `${listId}-${chosen.id}`}
        aria-label={t('find.open')}
        placeholder={t('find.hint')}
        leftSection={busy ? <Loader size={16} /> : <icons.SearchIcon size={17} />}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <Options id={listId} all={all} chosen={chosen} choose={(one) => setAt(all.indexOf(one))} open={open} />
      {all.length === 0 && !busy && <Note role="status">{t('find.none', { text })}</Note>}
    </>
  )
}

interface OptionsProps {
  readonly id: string
  readonly all: readonly Found[]
  readonly chosen: Found | undefined
  readonly choose: (one: Found) => void
  readonly open: (one: Found) => void
}

function Options({ id: listId, all, chosen, choose, open }: OptionsProps) {
  return (
    <div role="listbox" id={listId} aria-label={t('find.open')} className={css.found}>
      {all.map((one) => {
        const { id, kind, name, more = null, icon: OwnIcon } = one
        return (
          <div
            key={id}
            id={`${listId}-${id}`}
            role="option"
            aria-selected={one === chosen}
            ref={one === chosen ? (element) => element?.scrollIntoView({ block: 'nearest' }) : undefined}
            onMouseMove={() => choose(one)}
            onClick={() => open(one)}
          >
            <OwnIcon size={17} stroke={1.7} aria-hidden />
            <span>
              {name} {more !== null && more !== '' && <small>{more}</small>}
            </span>
            <small>{kind}</small>
          </div>
        )
      })}
    </div>
  )
}

/** Pages and actions, by their names here and in their addresses; models by name. */
function usePlaces(text: string): readonly Found[] {
  const profile = useProfile()
  const models = useRead('GET /cabinet/v1/models', {}, { enabled: text !== '' }).data?.data ?? []
  const providers = new Map(
    models.flatMap(({ endpoints }) => endpoints.map((one) => [one.provider, one.provider_name])),
  )
  const isOperator = profile.role === 'admin'
  const pages = [false, true].flatMap((ofOperator) =>
    ofOperator && !isOperator
      ? []
      : openedBy(profile, ofOperator ? OPERATOR : CUSTOMER)
          .flatMap(({ items }) => items)
          .map(({ to, name, icon }) => ({
            id: to,
            kind: ofOperator ? t('shell.operator') : t('find.page'),
            name: t(`nav.${name}`),
            icon,
            go: { to },
          })),
  )
  const actions = ACTIONS.filter((one) => isAllowed(profile, one)).map(({ to, name, icon, search }) => ({
    id: name,
    kind: t('find.action'),
    name: t(`find.do.${name}`),
    icon,
    go: { to, ...(search === undefined ? {} : { search }) },
  }))
  const places = [...actions, ...pages].filter(({ name, go }) => isFound(text, name, go.to.replaceAll(/[/-]/g, ' ')))
  if (text === '') return places
  return [
    ...places,
    ...models
      .filter(({ id, name, aliases }) => isFound(text, id, name, ...aliases))
      .slice(0, FOUND_MAX)
      .map(({ id, name }) => ({
        id,
        kind: t('find.model'),
        name,
        more: id,
        icon: icons.ModelsIcon,
        go: modelAt(id),
      })),
    ...[...providers]
      .filter(([slug, name]) => isFound(text, slug, name))
      .slice(0, FOUND_MAX)
      .map(([slug, name]) => ({
        id: `provider ${slug}`,
        kind: t('find.provider'),
        name,
        icon: icons.ProviderIcon,
        go: { to: '/models', search: { provider: slug } },
      })),
  ]
}

/** What the server finds: of all accounts for operators whose roles allow it, of their own account for others. */
function useRecords(text: string): { readonly found: readonly Found[]; readonly busy: boolean } {
  const own = useOwnRecords(text)
  const all = useAllRecords(text)
  const known = new Set(all.found.map(({ id }) => id))
  return { found: [...all.found, ...own.found.filter(({ id }) => !known.has(id))], busy: own.busy || all.busy }
}

function useOwnRecords(text: string): ReturnType<typeof useRecords> {
  const may = useMay()
  const isRequest = REQUEST.test(text)
  const words = { search: text, limit: FOUND_MAX }
  const keys = useRead('GET /cabinet/v1/keys', { query: words }, { enabled: text !== '' && may('keys:read') })
  const requests = useRead('GET /cabinet/v1/log', { query: { id: text } }, { enabled: isRequest })
  const refusals = useRead('GET /cabinet/v1/refusals', { query: { request_id: text } }, { enabled: isRequest })
  const isPayment = PAYMENT.test(text) && may('money:read')
  const payment = useRead('GET /cabinet/v1/payments/:id', { params: { id: text } }, { enabled: isPayment })
  return {
    busy: [keys, requests, refusals, payment].some(({ isLoading }) => isLoading),
    found: [
      ...(keys.data?.data ?? []).map(({ id, name, label }) => ({
        ...keyFound(id, name, label),
        go: { to: '/keys', search: { search: id } },
      })),
      ...(requests.data?.data ?? []).map((row) => ({
        ...requestFound(row.generation_id, row.model, row.at),
        go: { to: '/log/$id', params: { id: row.generation_id } },
      })),
      ...(refusals.data?.data ?? []).map((row) => ({
        ...refusalFound(row),
        go: { to: '/log/refused', search: { request_id: text } },
      })),
      ...(payment.data === undefined ? [] : [payment.data]).map(({ id, amount }) => ({
        ...paymentFound(id, amount),
        go: { to: '/top-up', search: { payment: id } },
      })),
    ],
  }
}

function useAllRecords(text: string): ReturnType<typeof useRecords> {
  const can = useCan()
  const isOperator = useProfile().role === 'admin'
  const [isRequest, isPayment] = [REQUEST.test(text), PAYMENT.test(text)]
  const enabled = (route: Parameters<typeof can>[0], so = text !== '') => ({ enabled: so && isOperator && can(route) })
  const words = { query: { query: text, limit: FOUND_MAX } }
  const accounts = useRead('GET /admin/v1/accounts', words, enabled('GET /admin/v1/accounts'))
  const users = useRead('GET /admin/v1/users', words, enabled('GET /admin/v1/users'))
  const keys = useRead('GET /admin/v1/keys', words, enabled('GET /admin/v1/keys'))
  const id = text.startsWith('gen-') ? { generation_id: text } : { request_id: text }
  const requests = useRead('GET /admin/v1/generations', { query: id }, enabled('GET /admin/v1/generations', isRequest))
  const refusals = useRead(
    'GET /admin/v1/refusals',
    { query: { request_id: text } },
    enabled('GET /admin/v1/refusals', isRequest),
  )
  const payments = useRead(
    'GET /admin/v1/payments',
    { query: { id: text } },
    enabled('GET /admin/v1/payments', isPayment),
  )
  return {
    busy: [accounts, users, keys, requests, refusals, payments].some(({ isLoading }) => isLoading),
    found: [
      ...(accounts.data?.data ?? []).map(({ id: account, name, email }) => ({
        id: account,
        kind: t('find.account'),
        name: name === '' ? account : name,
        more: email,
        icon: icons.AccountsIcon,
        go: accountAt(account),
      })),
      ...(keys.data?.data ?? []).map((key) => ({
        ...keyFound(key.id, key.name, key.label),
        go: accountAt(key.account, 'keys'),
      })),
      ...(users.data?.data ?? []).map(({ id: user, email, account }) => ({
        id: user,
        kind: t('find.person'),
        name: email,
        icon: icons.AdministratorsIcon,
        go: account === null ? { to: '/operator/users', search: { query: email } } : accountAt(account, 'people'),
      })),
      ...(requests.data?.data ?? []).map((row) => ({
        ...requestFound(row.generation_id, row.model_name, row.timestamp),
        go: { to: '/operator/requests', search: { id: text, request: row.generation_id } },
      })),
      ...(refusals.data?.data ?? []).map((row) => ({
        ...refusalFound(row),
        go: { to: '/operator/refusals', search: { request_id: text } },
      })),
      ...(payments.data?.data ?? []).map((row) => ({
        ...paymentFound(row.id, row.amount),
        go: { to: '/operator/payments', search: { id: row.id } },
      })),
    ],
  }
}

const keyFound = (id: string, name: string, label: string) => ({
  id,
  kind: t('find.key'),
  name,
  more: label,
  icon: icons.KeyIcon,
})
const requestFound = (id: string, model: string, iso: string) => ({
  id,
  kind: t('find.request'),
  name: model,
  more: format.dateTime(iso),
  icon: icons.LogIcon,
})
const refusalFound = ({
  id,
  error_type: type,
  at,
}: {
  readonly id: string
  readonly error_type: Parameters<typeof errorName>[0]
  readonly at: string
}) => ({
  id,
  kind: t('find.refusal'),
  name: errorName(type),
  more: format.dateTime(at),
  icon: icons.BlocksIcon,
})
const paymentFound = (id: string, amount: number) => ({
  id,
  kind: t('find.payment'),
  name: format.money(amount),
  more: id,
  icon: icons.PaymentsIcon,
})
