import type { Snapshot } from '../catalog/catalog.ts'

/** `GET /v1/providers`: whom `provider.order`, `only` and `ignore` may name, so those that serve a listed model. */
export function providersBody(snapshot: Snapshot): { readonly data: readonly Record<string, unknown>[] } {
  const serving = new Set<string>()
  for (const model of snapshot.models.values()) {
    if (!model.hidden) for (const endpoint of model.endpoints) serving.add(endpoint.provider.slug)
  }
  const data = [...snapshot.providers.values()]
    .filter(({ slug }) => serving.has(slug))
    .toSorted((left, right) => (left.slug < right.slug ? -1 : 1))
    .map(({ name, slug }) => ({
      name,
      slug,
      privacy_policy_url: null,
      terms_of_service_url: null,
      status_page_url: null,
    }))
  return { data }
}
