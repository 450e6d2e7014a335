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

export type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], null | undefined> }

/** The fields that have a value: one that is null or undefined is left out. */
export function given<T extends Readonly<Record<string, unknown>>>(fields: T): Given<T> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== null && value !== undefined) kept[name] = value
  // Exactly the values that Given takes out of the type are left out.
  return kept as Given<T>
}

/** `list` itself if `changed` has the same items, so that whoever asks what has changed compares one value. */
export function unlessChanged<T>(list: readonly T[], changed: readonly T[]): readonly T[] {
  return changed.length === list.length && changed.every((item, index) => item === list[index]) ? list : changed
}
