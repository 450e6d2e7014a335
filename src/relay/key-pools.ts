import type { Provider } from '../catalog/catalog.ts'

/** Takes the credentials of each provider in turn, so that a second pick after a refusal is another key. */
export class KeyPools {
  readonly #next = new Map<string, number>()

  /** null when the provider needs no credential. */
  pick(provider: Provider): string | null {
    const { apiKeys, slug } = provider
    if (apiKeys.length <= 1) return apiKeys[0] ?? null
    const index = this.#next.get(slug) ?? 0
    this.#next.set(slug, (index + 1) % apiKeys.length)
    return apiKeys[index % apiKeys.length] ?? null
  }
}
