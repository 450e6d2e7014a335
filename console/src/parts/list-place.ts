import { useDebouncedCallback } from '@mantine/hooks'
import { useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useState } from 'react'
import { ownValue } from '../../../src/base/own-value.ts'
import type { Answer, Input, ReadEndpoint } from '../api/endpoint.ts'
import { type ReadOptions, readOptions, useRead } from '../api/hooks.ts'
import { useIsHere } from './is-here.ts'

const TYPING_MS = 250

/** The order of a list and its first row. Both are in the address of the page. */
interface ListPlace {
  /** The id of a column, with `-` before it for the largest first; null = the list's default order. */
  readonly sort: string | null
  readonly offset: number
  readonly go: (wish: { readonly sort?: string | null; readonly offset: number }) => void
}

/** The place of the page's list. Further lists of a page use a prefix for their names. */
export function useListPlace(prefix = ''): ListPlace {
  const search: Search = useSearch({ strict: false })
  const change = useChange()
  return {
    ...placeOf(search, prefix),
    go: (wish) =>
      change({
        [`${prefix}offset`]: wish.offset === 0 ? null : String(wish.offset),
        ...(wish.sort === undefined ? {} : { [`${prefix}sort`]: wish.sort }),
      }),
  }
}

/** The order and first row of a list at an address. */
export function placeOf(search: Search, prefix = ''): Omit<ListPlace, 'go'> {
  const offset = ownValue(search, `${prefix}offset`) ?? ''
  return { sort: ownValue(search, `${prefix}sort`) ?? null, offset: /^\d{1,12}$/.test(offset) ? Number(offset) : 0 }
}

/** The filters of the page's list. They are in the address, and a change goes back to the first row. */
export function useFilters<const Name extends string>(): {
  readonly filters: Readonly<Partial<Record<Name, string>>>
  readonly filter: (name: Name, value: string | null) => void
  /** Removes all filters. */
  readonly clear: () => void
} {
  const search: Search = useSearch({ strict: false })
  const change = useChange()
  return {
    // The other parameters of the address do not matter here.
    filters: search as Readonly<Partial<Record<Name, string>>>,
    filter: (name, value) => change({ [name]: value, offset: null }),
    clear: () => change(Object.fromEntries(Object.keys(search).map((name) => [name, null]))),
  }
}

/** What a page shows, of several choices, the first of which is shown if its address names none. */
export function useChoice<const Value extends string>(
  name: string,
  values: readonly [Value, ...Value[]],
): readonly [Value, (value: Value) => void] {
  const search: Search = useSearch({ strict: false })
  const change = useChange()
  const wish = ownValue(search, name)
  return [
    values.find((value) => value === wish) ?? values[0],
    (value) => change({ [name]: value === values[0] ? null : value, offset: null }, false),
  ]
}

/**
 * Changes parameters of the address; null or an empty text removes one. Each change is made to the latest address, even
 * if that is not drawn yet. The lists of the page send their queries at the click, so that the answer arrives while the
 * page is drawn.
 */
export function useChange(): (wish: Readonly<Record<string, string | null>>, replace?: boolean) => void {
  const router = useRouter()
  const navigate = useNavigate()
  return useCallback(
    (wish, replace = true) => {
      const changes = Object.entries(wish).map(([name, value]) => [
        name,
        value === '' ? undefined : (value ?? undefined),
      ])
      // The router's type has no parameters; our router keeps them all as texts.
      const next: Search = { ...(router.latestLocation.search as Search), ...Object.fromEntries(changes) }
      for (const ask of asks) ask(next)
      void navigate({ to: '.', search: next, replace, resetScroll: false })
    },
    [router, navigate],
  )
}

/** The text of a field that changes a filter as soon as typing pauses. */
export function useTyped(value: string, change: (value: string) => void): readonly [string, (text: string) => void] {
  const [text, setText] = useState(value)
  const [sent, setSent] = useState(value)
  const [seen, setSeen] = useState(value)
  // The address changed: by the text that was typed here, or by a link.
  if (value !== seen) {
    setSeen(value)
    if (value !== sent) setText(value)
  }
  const isHere = useIsHere()
  const later = useDebouncedCallback((wish: string) => {
    if (!isHere()) return
    setSent(wish)
    change(wish)
  }, TYPING_MS)
  return [
    text,
    (wish) => {
      setText(wish)
      later(wish)
    },
  ]
}

/** The order in the address as a parameter of the query, if the server has it. */
export function sortOf<const Name extends string>(
  names: readonly Name[],
  sort: string | null,
): { readonly sort?: Name | `-${Name}` } {
  const name = names.find((known) => known === sort?.replace(/^-/, ''))
  if (name === undefined || sort === null) return {}
  return { sort: sort.startsWith('-') ? `-${name}` : name }
}

/** The parameters of an address. */
export type Search = Readonly<Record<string, string | undefined>>

const asks = new Set<(search: Search) => void>()

/** Loads the data that a page will show at another address, as soon as the user goes there. */
export function useAsk(ask: (search: Search) => void): void {
  useEffect(() => {
    asks.add(ask)
    return () => void asks.delete(ask)
  })
}

/** Reads a list whose filters, order and page are in the address. The old rows stay until the new ones arrive. */
export function useListRead<E extends ReadEndpoint>(
  endpoint: E,
  inputOf: (search: Search) => Input<E>,
  options: Omit<ReadOptions, 'keep'> = {},
): UseQueryResult<Answer<E>> {
  const search: Search = useSearch({ strict: false })
  const client = useQueryClient()
  useAsk((wish) => void client.prefetchQuery(readOptions(endpoint, inputOf(wish), client)))
  return useRead(endpoint, inputOf(search), { ...options, keep: true })
}

/**
 * The query for which the shown rows were loaded. While the answer to a new query loads, the old rows and everything
 * that belongs to them stay as they are, and are not drawn again.
 *
 * @param asked compared by identity
 * @param isOld whether the rows still belong to the previous query
 */
export function useShown<Question>(asked: Question, isOld: boolean): Question {
  const [shown, setShown] = useState(asked)
  if (isOld || shown === asked) return shown
  setShown(asked)
  return asked
}
