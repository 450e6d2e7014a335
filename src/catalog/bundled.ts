import { isDeepStrictEqual } from 'node:util'
import type { CatalogDocument } from './document.ts'

/** What every installation has unless its file says `bundled: false`: the provider that needs no network. */
export const BUNDLED = Object.freeze<CatalogDocument>({
  bundled: true,
  settings: {},
  providers: { sandbox: { name: 'Sandbox', adapter: 'sandbox', cancel_stops_billing: true } },
  models: [
    {
      id: 'sandbox/chat',
      type: 'chat',
      name: 'Sandbox: Chat',
      description: 'Answers deterministically without any provider. A line "sandbox: key=value" in the last user text asks for delays, failures, tool calls and odd usage.',
      created: '2026-11-01',
      context_length: 128_000,
      max_completion_tokens: 16_384,
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      tokenizer: 'o200k_base',
      endpoints: [{ provider: 'sandbox', model: 'chat', price: { currency: 'RUB', prompt: '15', completion: '60', input_cache_read: '7.5' } }],
    },
  ],
})

/** The file's entries over the bundled ones, by provider slug and model id. */
export function withBundled(document: CatalogDocument): CatalogDocument {
  if (!document.bundled) return document
  const own = new Set(document.models.map(({ id }) => id))
  return {
    bundled: true,
    settings: document.settings,
    providers: { ...BUNDLED.providers, ...document.providers },
    models: [...BUNDLED.models.filter(({ id }) => !own.has(id)), ...document.models],
  }
}

/** The document without entries that say the same as the bundled ones, which would else hide what a later release bundles. */
export function withoutBundled(document: CatalogDocument): CatalogDocument {
  if (!document.bundled) return document
  const models = document.models.filter((model) => !isDeepStrictEqual(model, BUNDLED.models.find(({ id }) => id === model.id)))
  const providers = Object.fromEntries(Object.entries(document.providers).filter(([slug, entry]) => !isDeepStrictEqual(entry, BUNDLED.providers[slug])))
  return { ...document, providers, models }
}

/** The document ready for the removal of an entry: a bundled one can go only when the rest of the bundle stands in the document itself. */
export function withExplicit(document: CatalogDocument, removed: { readonly provider?: string; readonly model?: string }): CatalogDocument {
  const bundled = (removed.provider !== undefined && BUNDLED.providers[removed.provider] !== undefined) || BUNDLED.models.some(({ id }) => id === removed.model)
  return document.bundled && bundled ? { ...withBundled(document), bundled: false } : document
}
