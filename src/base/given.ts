export type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], null | undefined> }

/** The fields that have a value: one that is null or undefined is left out. */
export function given<T extends Readonly<Record<string, unknown>>>(fields: T): Given<T> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== null && value !== undefined) kept[name] = value
  // Exactly the values that Given takes out of the type are left out.
  return kept as Given<T>
}
