/**
 * The value of a name that may be any word from a client, a provider or a file. A plain look-up would also find what
 * every object inherits, such as `constructor`.
 */
export function ownValue<T>(values: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
