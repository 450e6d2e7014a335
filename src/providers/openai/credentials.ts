import type { Provider } from '../../catalog/catalog.ts'

/** The header that carries a key of an OpenAI-compatible provider. */
export function openaiCredentials(
  { dialect: { authHeader } }: Provider,
  apiKey: string | null,
): Readonly<Record<string, string>> {
  if (apiKey === null) return {}
  return authHeader === null ? { authorization: `Bearer ${apiKey}` } : { [authHeader]: apiKey }
}
