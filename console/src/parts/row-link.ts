import type { MouseEvent } from 'react'
import { given } from '../api/endpoint.ts'

/** The attribute by which a row's link names its record. */
const NAME = 'record'

/**
 * The attribute of a plain link in each row; the router's link takes as long to draw as the rest of the row.
 *
 * @param id the record that the link opens
 */
export function rowLink(id: string): { readonly 'data-record': string } {
  return { 'data-record': id }
}

/** Opens the record whose link was clicked. For a new tab or window the browser follows the link itself. */
export function onRowLink(open: (id: string) => void): (event: MouseEvent) => void {
  return (event) => {
    const id = event.target instanceof Element ? event.target.closest('a')?.dataset[NAME] : undefined
    if (id === undefined || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return
    event.preventDefault()
    open(id)
  }
}

/** The page of a model, as links have it. */
export function modelAt(id: string) {
  return { to: '/model/$', params: { _splat: id } } as const
}

/** The operator's page of an account, or one of its tabs. */
export function accountAt(id: string, tab?: string) {
  return { to: '/operator/accounts/$id', params: { id }, search: given({ tab }) } as const
}

/** The page of a request, for its customer or for the operator. */
export function requestAt(id: string, isOwn: boolean) {
  if (isOwn) return { to: '/log/$id', params: { id } } as const
  return { to: '/operator/requests', search: { request: id } } as const
}
