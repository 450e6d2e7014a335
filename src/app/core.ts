import { providerKeys, readBundledRelease, type BundledRelease } from '../catalog/bundled.ts'
import { CatalogService } from '../catalog/catalog-service.ts'
import type { Config } from './config.ts'
import { rewrapSeeds } from '../access/identities.ts'
import { rewrapContents } from '../store/rewrap.ts'
import { auditNotice } from '../ledger/notice.ts'
import { KeyWrap } from '../ledger/key-wrap.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import type { Meter } from '../tables/meter-table.ts'
import { chargeMicro, providerCostMicro } from '../tables/meters.ts'
import { KNOWN_ADAPTERS } from '../protocols/index.ts'
import { recheckedCharge, type PricedCatalog } from '../ledger/recheck.ts'
import { openStore } from '../store/open.ts'
import type { Replay } from '../store/audit/replay.ts'
import type { Store } from '../store/store.ts'

export interface CoreOptions {
  readonly config: Config
  readonly wrappingKeys: readonly Buffer[]
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * In a server, the keys in its environment decide which bundled providers are on; a command changes nothing about
   * them.
   */
  readonly server?: boolean
  /** The bundled models; absent = those beside the code. */
  readonly release?: BundledRelease
}

/** The store and its catalogue, which every command needs. */
export interface Core {
  readonly store: Store
  readonly catalog: CatalogService
  readonly keyWrap: KeyWrap
  readonly env: CoreOptions['env']
  audit(sinceMs: number): ReturnType<Store['audit']['run']>
  /** Recalculates from the log the charges of requests that arrived from `fromMs` on and before `toMs`. */
  replay(fromMs: number, toMs: number): ReturnType<Store['audit']['replay']>
  /**
   * Encrypts credentials, two-step sign-in seeds, job prompts and kept answers with the first wrapping key; returns the
   * number of credentials and seeds.
   */
  rewrap(): Promise<number>
  close(): Promise<void>
}

/** Opens only the store and the catalogue, for commands that need no server. */
export async function openCore(options: CoreOptions, clock: Clock = systemClock): Promise<Core> {
  const { config, env } = options
  const keyWrap = new KeyWrap(options.wrappingKeys)
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, keyWrap, clock })
  const catalog = new CatalogService({
    store: store.catalogs,
    clock,
    cipher: keyWrap,
    adapters: KNOWN_ADAPTERS,
    env,
    release: options.release ?? readBundledRelease(),
    allowPrivateUpstreams: config.allowPrivateUpstreams,
    providerKeys: options.server === true ? providerKeys(env) : null,
  })
  await catalog.load()
  return {
    store,
    catalog,
    keyWrap,
    env,
    audit: async (sinceMs) => {
      const nowMs = clock.now()
      const checks = await store.audit.run({ sinceMs, nowMs, replay: checkedReplay(catalog) })
      const notice = auditNotice(checks, nowMs)
      if (notice !== null) await store.notices.raise(notice)
      return checks
    },
    replay: (fromMs, toMs) => store.audit.replay({ fromMs, toMs, replay: checkedReplay(catalog) }),
    rewrap: async () => {
      await catalog.rewrap()
      await store.books.rewrap()
      await rewrapContents(store, keyWrap)
      return catalog.credentialCount() + (await rewrapSeeds(store.users, keyWrap))
    },
    close: () => store.close(),
  }
}

/**
 * Recalculates a charge with the code that makes charges and, if the result agrees, a second time with independent
 * arithmetic (`ledger/recheck.ts`).
 */
export function checkedReplay(
  catalog: Pick<CatalogService, 'pricesOf'> & { pricedCatalog(version: number): Promise<PricedCatalog | null> },
): Replay {
  const replay = replayBy(catalog)
  return async (row) => {
    const own = await replay(row)
    if (
      own === null ||
      own.costMicro !== row.costMicro + row.shortfallMicro ||
      own.providerCostMicro !== row.providerCostMicro
    )
      return own
    const document = await catalog.pricedCatalog(row.priceVersion)
    return document === null ? null : recheckedCharge<Meter>(document, row)
  }
}

/** Uses the price version that the row names, with its exchange rates, and the markup of its customer. */
export function replayBy(catalog: Pick<CatalogService, 'pricesOf'>): Replay {
  return async (row) => {
    const prices = await catalog.pricesOf(row)
    if (prices === null) return null
    return {
      costMicro: chargeMicro(row.usage, prices.charged.sheet),
      providerCostMicro: providerCostMicro(row.reportedUsage ?? row.usage, prices.billed.sheet),
    }
  }
}
