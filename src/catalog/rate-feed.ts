import { request } from 'undici'
import type { Clock } from '../lib/clock.ts'
import type { CatalogService } from './catalog-service.ts'
import { parseDailyRates } from './feed-rates.ts'

const EVERY_MS = 6 * 3_600_000
const TIMEOUT_MS = 10_000
const BYTES_MAX = 1_048_576

export interface RateFeedPorts {
  readonly catalog: CatalogService
  readonly clock: Clock
  /** Address of the daily XML. */
  readonly url: string
  readonly log: (message: string) => void
  /** false = another node fetches, and what it finds comes with the catalogue. */
  readonly leads: () => boolean
}

/** Keeps the rates of a catalogue with `rates: { source: cbr }` up to date; a failed fetch leaves the last good ones. */
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

  /** Fetches now and from then on every six hours, while the catalogue asks for it; resolves after the first time. */
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

  /** A catalogue that has just been told to use the feed does not wait six hours for it. */
  #follow(): void {
    const isOn = this.#isOn()
    const begins = isOn && !this.#wasOn
    this.#wasOn = isOn
    // `#turn` never rejects; the timer that it sets replaces the one that runs.
    if (begins) void this.#turn()
  }

  #turn(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve()
    this.#cancel()
    this.#cancel = this.#ports.clock.after(EVERY_MS, () => void this.#turn())
    this.#running ??= this.#refresh().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #refresh(): Promise<void> {
    if (!this.#isOn() || !this.#ports.leads()) return
    const { catalog, log, url } = this.#ports
    try {
      const { refused } = await catalog.applyRates(await fetchRates(url, this.#stop.signal))
      for (const reason of refused) log(`Central Bank: ${reason}`)
    } catch (thrown) {
      // A server that stops does not wait for the Bank.
      if (this.#stop.signal.aborted) return
      log(`Central Bank: the rates could not be fetched, the last good ones stay: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    }
  }
}

/** A redirect is not followed: the answer must come from the address that was given. */
async function fetchRates(url: string, stop: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const answer = await request(url, { method: 'GET', headers: { accept: 'application/xml, text/xml', 'user-agent': 'tollgate' }, signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]) })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer.body) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > BYTES_MAX) throw new Error(`the answer is longer than ${BYTES_MAX} bytes`)
    chunks.push(part)
  }
  if (answer.statusCode !== 200) throw new Error(`it answered ${answer.statusCode}`)
  const rates = parseDailyRates(Buffer.concat(chunks).toString('latin1'))
  if (rates === null) throw new Error('the answer is not the daily list of rates')
  return rates
}
