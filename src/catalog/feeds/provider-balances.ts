import type { Dispatcher } from 'undici'
import type { CatalogService } from '../catalog-service.ts'
import type { Provider } from '../catalog.ts'
import type { BalanceReading } from '../feed-ports.ts'
import { providerBalanceNotice, providerBalanceSubject } from '../../ledger/notice.ts'
import type { Clock } from '../../base/clock.ts'
import { fetchedJson } from '../../base/http-request.ts'
import type { NoticeStore } from '../../store/notices/notice-store.ts'
import { thrownMessage } from '../../base/text.ts'
import { keyHeaders } from '../dialect.ts'
import { fieldsOf, type JsonObject } from '../../base/json-text.ts'
import type { BalanceApi } from '../provider-feeds.ts'

const EVERY_MS = 15 * 60_000
const TIMEOUT_MS = 10_000
const BYTES_MAX = 65_536

export interface ProviderBalancesPorts {
  readonly catalog: Pick<CatalogService, 'current' | 'onChange'>
  readonly store: Pick<NoticeStore, 'raise' | 'clear'>
  readonly clock: Clock
  /** Returns a connection like those of requests to the provider. */
  readonly dispatcherOf: (provider: Provider) => Dispatcher
  readonly leads: () => boolean
  readonly log: (message: string) => void
}

/** A provider whose API reports the balance of a key. */
type Telling = Provider & Required<Pick<Provider, 'balance'>>

/** Every 15 minutes, asks the providers that report balances for the balance of each key, one after another. */
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
      // A new key is asked about at once.
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

  /** The balances for the metrics; empty on nodes that do not ask. */
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

  /** null = the balance could not be read. */
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

/** A text that changes if other keys, addresses or providers are to be asked. */
function wishOf(providers: readonly Telling[]): string {
  return JSON.stringify(providers.map(({ slug, baseUrl, apiKeys, balance }) => [slug, baseUrl, apiKeys, balance]))
}

/** The balance left with a provider. */
export interface LeftMoney {
  readonly amount: number
  readonly currency: string
}

interface BalanceRow {
  /**
   * Paths after the base address or, with a leading slash, on its host. If a key may not ask one, the next is asked.
   */
  readonly paths: readonly string[]
  /** The balance in the currency that has the most; null = the answer has none. */
  readonly read: (body: JsonObject) => LeftMoney | null
}

/** Services that report the balance of an API key, each by its documentation. */
const BALANCE_APIS: Readonly<Record<BalanceApi, BalanceRow>> = {
  // Keys of some accounts may not read the credits, but each may read its own limit.
  openrouter: {
    paths: ['credits', 'key'],
    read: ({ data }) => {
      const { total_credits: credits, total_usage: usage, limit_remaining: left } = fieldsOf(data)
      const given = finite(credits)
      const used = finite(usage)
      return dollars(given !== null && used !== null ? given - used : finite(left))
    },
  },
  deepseek: { paths: ['/user/balance'], read: deepseekBalance },
  moonshot: { paths: ['users/me/balance'], read: ({ data }) => dollars(finite(fieldsOf(data)['available_balance'])) },
}

/** The addresses to ask, in this order. */
export function balanceUrls(api: BalanceApi, baseUrl: string): readonly string[] {
  return BALANCE_APIS[api].paths.map((path) => new URL(path, `${baseUrl}/`).href)
}

/** null = the answer has no balance. */
export function balanceIn(api: BalanceApi, body: unknown): LeftMoney | null {
  return BALANCE_APIS[api].read(fieldsOf(body))
}

/** There is one balance for each currency; a provider that says it takes no more requests counts as empty. */
function deepseekBalance({ is_available: available, balance_infos: infos }: JsonObject): LeftMoney | null {
  const found = (Array.isArray(infos) ? infos : []).flatMap((info: unknown) => {
    const { currency, total_balance: total } = fieldsOf(info)
    const amount = finite(total)
    return amount !== null && typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? [{ amount, currency }] : []
  })
  const most = found.toSorted((one, other) => other.amount - one.amount)[0]
  if (most === undefined) return null
  return available === false ? { ...most, amount: Math.min(most.amount, 0) } : most
}

function dollars(amount: number | null): LeftMoney | null {
  return amount === null ? null : { amount, currency: 'USD' }
}

/** A number, or a text that is one. */
function finite(value: unknown): number | null {
  const number = typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
