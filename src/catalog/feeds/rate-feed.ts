import type { Clock } from '../../base/clock.ts'
import { fetchedBytes } from '../../base/http-request.ts'
import type { CatalogService } from '../catalog-service.ts'
import type { EventStore } from '../../store/events/event-store.ts'
import { type RateTrouble, noteRates, parseDailyRates, refusalText } from '../feed-rates.ts'
import { HOUR_MS } from '../../base/time.ts'
import { thrownMessage } from '../../base/text.ts'

const EVERY_MS = 6 * HOUR_MS
/** Rates that did not arrive, or were not trusted, are fetched again sooner. */
const RETRY_MS = 15 * 60_000
const TIMEOUT_MS = 10_000
const BYTES_MAX = 1_048_576
const REASON_MAX = 300

export interface RateFeedPorts {
  readonly catalog: CatalogService
  /** Events show the operator that the rates are not the Bank's, and later that they are again. */
  readonly events: Pick<EventStore, 'append' | 'newest'>
  readonly clock: Clock
  /** The address of the daily XML. */
  readonly url: string
  readonly log: (message: string) => void
  /** Whether this node is the leader, which fetches; the other nodes get the rates with the catalogue. */
  readonly leads: () => boolean
}

/**
 * Keeps the rates of a catalogue with `rates: { source: cbr }` up to date; a failed fetch leaves the last good ones.
 */
export class RateFeed {
  readonly #ports: RateFeedPorts
  #cancel: () => void = () => undefined
  #running: Promise<void> | null = null
  #wasOn = false
  readonly #stop = new AbortController()

  constructor(ports: RateFeedPorts) {
    this.#ports = ports
    ports.catalog.onChange(() => this.#follow())
  }

  /**
   * Fetches now and then every six hours (every quarter of an hour after a failure) while the catalogue asks for it;
   * resolves after the first fetch.
   */
  start(): Promise<void> {
    this.#wasOn = this.#isOn()
    return this.#turn()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancel()
    await this.#running
  }

  #isOn(): boolean {
    return this.#ports.catalog.ratesSource() === 'cbr'
  }

  /** A catalogue that has just been switched to the feed must not wait six hours for rates. */
  #follow(): void {
    const isOn = this.#isOn()
    const begins = isOn && !this.#wasOn
    this.#wasOn = isOn
    // `#turn` never rejects; its timer replaces the running one.
    if (begins) void this.#turn()
  }

  #turn(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve()
    this.#again(EVERY_MS)
    this.#running ??= this.#refresh().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  #again(afterMs: number): void {
    this.#cancel()
    this.#cancel = this.#ports.clock.after(afterMs, () => void this.#turn())
  }

  async #refresh(): Promise<void> {
    if (!this.#isOn() || !this.#ports.leads()) return
    const { events, clock, log } = this.#ports
    const trouble = await this.#fetch()
    // A server that stops does not wait for the Bank's answer.
    if (this.#stop.signal.aborted) return
    if (trouble !== null) this.#again(RETRY_MS)
    await noteRates(events, clock, trouble).catch((thrown: unknown) =>
      log(`Central Bank: the event could not be written: ${String(thrown)}`),
    )
  }

  async #fetch(): Promise<RateTrouble | null> {
    const { catalog, log, url } = this.#ports
    try {
      const { refused } = await catalog.applyRates(await fetchRates(url, this.#stop.signal))
      for (const rate of refused) log(`Central Bank: ${refusalText(rate)}`)
      return refused.length === 0 ? null : { kind: 'rates_refused', rates: refused }
    } catch (thrown) {
      const reason = thrownMessage(thrown)
      if (!this.#stop.signal.aborted)
        log(`Central Bank: the rates could not be fetched, the last good ones stay: ${reason}`)
      return { kind: 'rates_failed', reason: reason.slice(0, REASON_MAX) }
    }
  }
}

async function fetchRates(url: string, stop: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const bytes = await fetchedBytes(url, {
    headers: { accept: 'application/xml, text/xml' },
    timeoutMs: TIMEOUT_MS,
    bytesMax: BYTES_MAX,
    stop,
  })
  const rates = parseDailyRates(bytes.toString('latin1'))
  if (rates === null) throw new Error('the answer is not the daily list of rates')
  return rates
}
