/** The facts of an adapter that the catalogue needs. */
export interface AdapterFacts {
  /**
   * The base address of a provider that gives no `base_url`; null = each provider must give one, empty = the adapter
   * uses no network.
   */
  readonly baseUrl: string | null
  /** The most web searches that a hold for one chat covers; absent = chat never asks this adapter for searches. */
  readonly searchesMax?: number
}

/** The adapters of this version, by their names in the catalogue; the rows are in src/protocols/index.ts. */
export type KnownAdapters = ReadonlyMap<string, AdapterFacts>
