/** The header that carries a key; none without a key. */
export function bearer(key: string | null | undefined): Readonly<Record<string, string>> {
  return key === null || key === undefined ? {} : { authorization: `Bearer ${key}` }
}
