import { readFileSync } from 'node:fs'
import type { EndpointEntry, ModelEntry } from './document.ts'

/**
 * The models that this version of Tollgate bundles, for all providers, with the day when the data set was published.
 */
export interface BundledRelease {
  readonly published: string
  readonly models: readonly ModelEntry[]
}

/**
 * The output of `npm run catalog:bundle`: entries of the catalogue file, each endpoint with the source and date of its
 * price.
 */
interface BundledFile {
  readonly published: string
  readonly models: readonly (Omit<ModelEntry, 'endpoints'> & {
    readonly endpoints: readonly (EndpointEntry & { readonly source: string; readonly date: string })[]
  })[]
}

/** Reads the generated file beside this one. */
export function readBundledRelease(): BundledRelease {
  // A test checks that nobody has edited the script's output.
  const { published, models } = JSON.parse(
    readFileSync(new URL('./bundled-models.json', import.meta.url), 'utf8'),
  ) as BundledFile
  return {
    published,
    models: models.map((model) => ({
      ...model,
      endpoints: model.endpoints.map(({ source: _source, date: _date, ...endpoint }) => endpoint),
    })),
  }
}
