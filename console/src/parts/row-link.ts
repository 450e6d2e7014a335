import type { MouseEvent } from 'react'

/** A link of a row names its record with this attribute. */
const NAME = 'record'

/**
 * Of a plain link in each row, instead of the router's, which costs as much as the rest of the row.
 *
 * @param id of the record that the link opens
 */
export function rowLink(id: string): { readonly 'data-record': string } {
  return { 'data-record': id }
}

/** Opens the record whose link was clicked. A new tab or window is opened by the browser itself. */
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

/** The operator's page of an account. */
export function accountAt(id: string) {
  return { to: '/operator/accounts/$id', params: { id } } as const
}
