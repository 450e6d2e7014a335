import { ownValue } from '../../../src/base/own-value.ts'

const STORED = 'tollgate-colours'
/** The number of chart colours in `base.css`; the last one, a grey, is for what has no name. */
const COLOURS = 8
const NAMED = COLOURS - 1
const KEPT_MAX = 200

export function colourOf(number: number): string {
  return `var(--chart-${(number % COLOURS) + 1})`
}

export const REST_COLOUR = NAMED

/** The colours of models, keys or apps, the same on every page and day: this browser remembers them. */
export function thingColours(kind: string, ids: readonly string[]): readonly number[] {
  const all = stored()
  const known = new Map(Object.entries(ownValue(all, kind) ?? {}))
  const shown = new Set(ids.flatMap((id) => known.get(id) ?? []))
  for (const id of ids) {
    if (known.has(id)) continue
    const colour = freeColour(id, known.size < NAMED ? new Set(known.values()) : shown)
    known.set(id, colour)
    shown.add(colour)
  }
  const kept = [...known].slice(-KEPT_MAX)
  try {
    localStorage.setItem(STORED, JSON.stringify({ ...all, [kind]: Object.fromEntries(kept) }))
  } catch {
    // Without storage the colours are chosen on each page anew.
  }
  return ids.map((id) => known.get(id) ?? 0)
}

/** What another browser would choose too, unless something else has that colour. */
function freeColour(id: string, taken: ReadonlySet<number>): number {
  const wish = [...id].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % NAMED
  for (let step = 0; step < NAMED; step += 1) if (!taken.has((wish + step) % NAMED)) return (wish + step) % NAMED
  return wish
}

type Colours = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Another release or a person may have written it. */
function stored(): Colours {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORED) ?? '{}')
    if (value === null || typeof value !== 'object') return {}
    const kinds = Object.entries(value).filter(([, kind]) => kind !== null && typeof kind === 'object')
    return Object.fromEntries(
      kinds.map(([kind, ids]) => [
        kind,
        // An object, by the filter above.
        Object.fromEntries(Object.entries(ids as object).filter(([, colour]) => Number.isInteger(colour))),
      ]),
    )
  } catch {
    return {}
  }
}
