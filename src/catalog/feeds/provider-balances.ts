import type { Dispatcher } from 'undici'
import { balanceIn, balanceUrls, type LeftMoney } from './balance-api.ts'
import type { CatalogService } from '../catalog-service.ts'
import type { Provider } from '../catalog.ts'
import type { BalanceReading } from '../feed-ports.ts'
import { providerBalanceNotice, providerBalanceSubject } from '../../ledger/notice.ts'
import type { Clock } from '../../base/clock.ts'
import { fetchedJson } from '../../base/fetched.ts'
import type { NoticeStore } from '../../store/notices/notice-store.ts'
import { thrownMessage } from '../../base/text.ts'
import { keyHeaders } from '../dialect.ts'

const EVERY_MS = 15 * 60_000
const TIMEOUT_MS = 10_000
const BYTES_MAX = 65_536

export interface ProviderBalancesPorts {
  readonly catalog: Pick<CatalogService, 'current' | 'onChange'>
  readonly store: Pick<NoticeStore, 'raise' | 'clear'>
  readonly clock: Clock
  /** Connects as to the provider. */
  readonly dispatcherOf: (provider: Provider) => Dispatcher
  readonly leads: () => boolean
  readonly log: (message: string) => void
}

/** A provider whose API tells it. */
type Telling = Provider & Required<Pick<Provider, 'balance'>>

/** Asks providers that tell it every 15 minutes, one key after another, what is left of the money with them. */
export class ProviderBalances {
  readonly #ports: ProviderBalancesPorts
  readonly #stop = new AbortController()
  readonly #unread = new Set<string>()
  #readings: readonly BalanceReading[] = []
  #asked = ''
  #running: Promise<void> | null = null
  #cancel: () => void = () => undefined

  constructor(ports: ProviderBalancesPorts) {
    this.#ports = ports
    ports.catalog.onChange(() => {
      // A key that has just come is asked at once.
      if (wishOf(this.#providers()) !== this.#asked) void this.#turn()
    })
  }

  start(): void {
    void this.#turn()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancel()
    await this.#running
  }

  /** For the metrics; empty on nodes that do not ask. */
  readings(): readonly BalanceReading[] {
    return this.#ports.leads() ? this.#readings : []
  }

  #providers(): readonly Telling[] {
    return [...this.#ports.catalog.current().providers.values()].filter(isTelling)
  }

  #turn(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve()
    this.#cancel()
    this.#cancel = this.#ports.clock.after(EVERY_MS, () => void this.#turn())
    this.#running ??= this.#askAll().finally(() => {
      this.#running = null
      // The catalogue may have changed meanwhile.
      if (this.#ports.leads() && wishOf(this.#providers()) !== this.#asked) void this.#turn()
    })
    return this.#running
  }

  async #askAll(): Promise<void> {
    const providers = this.#providers()
    if (!this.#ports.leads()) return
    this.#asked = wishOf(providers)
    const readings: BalanceReading[] = []
    for (const provider of providers)
      for (const [index, apiKey] of provider.apiKeys.entries()) {
        if (this.#stop.signal.aborted) return
        const left = await this.#ask(provider, apiKey, index + 1)
        if (left !== null) readings.push({ ...left, provider: provider.slug, key: index + 1 })
      }
    this.#readings = readings
  }

  /** null = it could not be read. */
  async #ask(provider: Telling, apiKey: string, key: number): Promise<LeftMoney | null> {
    const name = `${provider.slug} ${key}`
    try {
      const left = await this.#fetch(provider, apiKey)
      await this.#tell(provider, key, left)
      this.#unread.delete(name)
      return left
    } catch (thrown) {
      const reason = thrownMessage(thrown)
      if (!this.#stop.signal.aborted && !this.#unread.has(name))
        this.#ports.log(`The balance of provider ${provider.slug}, key ${key}, could not be read: ${reason}`)
      this.#unread.add(name)
      return null
    }
  }

  async #fetch(provider: Telling, apiKey: string): Promise<LeftMoney> {
    const { balance, baseUrl, dialect } = provider
    let failure: unknown = new Error('the answer does not tell it')
    for (const url of balanceUrls(balance.api, baseUrl)) {
      try {
        const body = await fetchedJson(url, {
          headers: { ...keyHeaders(dialect, apiKey), ...dialect.headers },
          dispatcher: this.#ports.dispatcherOf(provider),
          timeoutMs: TIMEOUT_MS,
          bytesMax: BYTES_MAX,
          stop: this.#stop.signal,
        })
        const left = balanceIn(balance.api, body)
        if (left !== null) return left
      } catch (thrown) {
        failure = thrown
      }
    }
    throw failure
  }

  async #tell({ slug, apiKeys, balance }: Telling, key: number, { amount, currency }: LeftMoney): Promise<void> {
    const { store, clock } = this.#ports
    const threshold = balance.low
    if (threshold > 0 && amount < threshold)
      await store.raise(
        providerBalanceNotice(
          { provider: slug, key, keys: apiKeys.length, balance: amount, threshold, currency },
          clock.now(),
        ),
      )
    else if (amount >= threshold * 1.1) await store.clear(providerBalanceSubject(slug, key))
  }
}

function isTelling(provider: Provider): provider is Telling {
  return provider.balance !== undefined
}

/** The same while the same keys are asked of the same addresses. */
function wishOf(providers: readonly Telling[]): string {
  return JSON.stringify(providers.map(({ slug, baseUrl, apiKeys, balance }) => [slug, baseUrl, apiKeys, balance]))
}
