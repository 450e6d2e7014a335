import type { Principal } from '../access/principal.ts'
import { nodeMetrics } from '../api/admin/node-metrics.ts'
import type { ApiError } from '../base/errors.ts'
import type { Route, Edge } from '../http/edge.ts'
import type { Metric, MetricReading, WorkerReadings } from '../base/prometheus.ts'
import { uniform } from '../base/rendezvous.ts'
import { Shedding, type LoadReading } from '../pay/relay/shedding.ts'
import type { Services } from './services.ts'

/** Facts that only the process knows about itself. */
export interface Machine {
  /** The load since the last read. */
  read(): LoadReading
  readonly metrics: readonly Metric[]
  /** The name of the process in the metrics of several. */
  readonly worker: string
  /** The other processes behind the same port; absent = there are none. */
  readonly others?: {
    /** Sets the function that gives this process's metrics to the others. */
    provide(own: () => readonly MetricReading[]): void
    /** The metrics of each process, this one included. */
    all(): Promise<readonly WorkerReadings[]>
  }
}

/** A node that cannot measure its load never refuses requests because of it. */
const IDLE: Machine = { read: () => ({ utilisation: 0, delayMs: 0, memory: 0 }), metrics: [], worker: '0' }

/** The load of a node: which requests it accepts, and the metrics that it reports. */
export class Load {
  readonly #services: Services
  readonly #shedding: Shedding
  readonly #machine: Machine

  constructor(services: Services, machine: Machine = IDLE) {
    const { clock } = services
    const { relay } = services.pay
    this.#services = services
    this.#machine = machine
    this.#shedding = new Shedding({ clock, random: uniform, inFlight: relay.inFlight, read: () => machine.read() })
  }

  /** Sets the function that gives this process's metrics to the worker that serves `/metrics`. */
  provide(own: () => readonly MetricReading[]): void {
    this.#machine.others?.provide(own)
  }

  /** The metrics of every process behind the port. */
  async everybody(own: () => readonly MetricReading[]): Promise<readonly WorkerReadings[]> {
    return (await this.#machine.others?.all()) ?? [{ worker: this.#machine.worker, metrics: own() }]
  }

  start(): void {
    if (this.#machine !== IDLE) this.#shedding.start()
  }

  stop(): void {
    this.#shedding.stop()
  }

  /** The refusal of a request: first by its caps, then by the load (guarantees.md 5). Both precede the body. */
  refusal({ priority }: Route<Principal>, { accountId, keyId }: Principal): ApiError | null {
    if (priority === undefined) return null
    const capped = priority === 'paid' ? this.#services.pay.relay.inFlight.refusal(accountId, keyId) : null
    return capped ?? this.#shedding.refusal(priority, accountId)
  }

  metrics(version: string, unready: () => string | null, edge: () => Edge): readonly Metric[] {
    const { ledger, core, answers, pay, notices, feeds } = this.#services
    const { relay, slots, drains, watch, sse, health } = pay
    const providers = (): Iterable<string> => core.catalog.current().providers.keys()
    const own = nodeMetrics({
      version,
      ready: () => unready() === null,
      inFlight: () => relay.inFlight.count,
      providers: () => slots.report(),
      drains: () => drains.running,
      flagged: () => watch.flagged(providers()),
      shortfalls: () => watch.shortfalls(providers()),
      openStreams: () => sse.size,
      bodyBytes: () => edge().bodyBytes,
      answerBytes: () => answers.bytes,
      sockets: () => edge().sockets,
      shedding: () => this.#shedding.levels,
      ledger: () => ledger.load,
      notices: () => notices.notifier.counts,
      balances: () => feeds.balances.readings(),
      priceVersion: () => core.catalog.current().priceVersion,
      unhealthyEndpoints: () =>
        [...core.catalog.current().models.values()].reduce(
          (sum, { endpoints }) => sum + endpoints.filter(({ id }) => health.unhealthy(id)).length,
          0,
        ),
    })
    return [...own, ...this.#machine.metrics]
  }
}
