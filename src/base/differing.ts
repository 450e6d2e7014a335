import { isDeepStrictEqual } from 'node:util'

/** The fields of a change whose values differ from the current ones; a field that is undefined changes nothing. */
export function differing<C extends object>(current: object, change: C): C {
  const now = new Map(Object.entries(current))
  // Fields of a change may be left out.
  return Object.fromEntries(
    Object.entries(change).filter(([name, value]) => value !== undefined && !isDeepStrictEqual(now.get(name), value)),
  ) as C
}

export function isEmpty(change: object): boolean {
  return Object.keys(change).length === 0
}
