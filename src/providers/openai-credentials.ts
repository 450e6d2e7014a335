import type { Endpoint } from '../catalog/catalog.ts'

/** The header that says who asks, as the service spells it. */
export function openaiCredentials({ apiKey, endpoint }: { readonly apiKey: string | null; readonly endpoint: Endpoint }): Readonly<Record<string, string>> {
  if (apiKey === null) return {}
  const { authHeader } = endpoint.provider.dialect
  return authHeader === null ? { authorization: `Bearer ${apiKey}` } : { [authHeader]: apiKey }
}
