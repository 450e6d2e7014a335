import type { Cipher } from '../base/cipher.ts'
import type { Clock } from '../base/clock.ts'
import type { CatalogStore } from '../store/catalog/catalog-store.ts'
import type { KnownAdapters } from './catalog.ts'
import type { ProviderKeys, BundledRelease } from './bundled.ts'

/** What the catalogue needs. */
export interface CatalogPorts {
  readonly store: Pick<CatalogStore, keyof CatalogStore>
  readonly clock: Clock
  readonly cipher: Cipher
  readonly adapters: KnownAdapters
  readonly env: Readonly<Record<string, string | undefined>>
  readonly release: BundledRelease
  /** Keys from the environment, which decide which bundled providers are on. null = the stored ones stay. */
  readonly providerKeys: ProviderKeys | null
  /** Whether addresses that the API sets may be private too. */
  readonly allowPrivateUpstreams: boolean
}
