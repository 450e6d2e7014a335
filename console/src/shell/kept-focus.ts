const PLACES_MAX = 12

interface Place {
  readonly element: HTMLElement
  /** What it was in, the innermost first. */
  readonly around: readonly HTMLElement[]
}

/**
 * Keeps the focus in the page. What had it may go, as a row that is deleted, a dialog, or an entry of a menu, or may be
 * disabled while its call runs; the browser then forgets it, and whoever uses the keyboard or a screen reader starts
 * anew. It returns to what had it before and still stands, or to what that was in, such as its list; at last to the
 * page.
 */
export function keepFocus(): void {
  /** The newest first. */
  let places: readonly Place[] = []
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return
    const around: HTMLElement[] = []
    for (let outer = target.parentElement; outer !== null && outer !== document.body; outer = outer.parentElement)
      around.push(outer)
    places = [{ element: target, around }, ...places.filter(({ element }) => element !== target)].slice(0, PLACES_MAX)
  })
  /** It is disabled while its call runs. */
  let waits: HTMLElement | null = null
  const look = (): void => {
    const [last] = places
    if (last === undefined) return
    if (last.element.isConnected) {
      const isDisabled = last.element.matches(':disabled')
      if (!isDisabled && waits === last.element && document.activeElement === document.body) last.element.focus(STILL)
      waits = isDisabled ? last.element : null
      return
    }
    if (document.activeElement !== document.body) return
    const page = document.querySelector('main')
    const left = places.flatMap(({ element, around }) => [element, ...around])
    for (const one of page === null ? left : [...left, page]) if (takes(one)) return
  }
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled'],
  })
}

const STILL = { preventScroll: true }

function takes(element: HTMLElement): boolean {
  if (!element.isConnected || element.getClientRects().length === 0) return false
  element.focus(STILL)
  return document.activeElement === element
}
