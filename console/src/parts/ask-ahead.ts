import { useQueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useSearch, type AnyRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Answer, Input, ReadEndpoint } from '../api/endpoint.ts'
import { readOptions, useRead, type ReadOptions } from '../api/hooks.ts'

/** The parameters of an address. */
export type Search = Readonly<Record<string, string | undefined>>

/** The parameters of the newest address, which the page is perhaps not yet drawn for. */
export function wishedSearch({ latestLocation }: AnyRouter): Search {
  // The router's type has no parameters; ours keeps them all as texts.
  return latestLocation.search as Search
}

const asks = new Set<(search: Search) => void>()

/** Asks the server for the lists of the page at the click, so that the answer comes while the page is drawn. */
export function askAhead(search: Search): void {
  for (const ask of asks) ask(search)
}

/** Reads a list whose filters, order and page are in the address. The old rows stay until the new ones come. */
export function useListRead<E extends ReadEndpoint>(
  endpoint: E,
  inputOf: (search: Search) => Input<E>,
  options: Omit<ReadOptions, 'keep'> = {},
): UseQueryResult<Answer<E>> {
  const search: Search = useSearch({ strict: false })
  const client = useQueryClient()
  useEffect(() => {
    const ask = (wish: Search): void => void client.prefetchQuery(readOptions(endpoint, inputOf(wish), client))
    asks.add(ask)
    return () => void asks.delete(ask)
  })
  return useRead(endpoint, inputOf(search), { ...options, keep: true })
}
