import type { Access } from '../access/access.ts'
import type { Principal } from '../access/principal.ts'
import type { SetupLinks } from '../api/admin/setup-links.ts'
import { openCore, type Core } from './core.ts'
import { allRoutes, createConsole } from './routes.ts'
import { Load, type Machine } from './load.ts'
import { createServices, type Services } from './services.ts'
import { StallSign, StoreSign } from './signs.ts'
import type { Feeds } from '../catalog/feed-ports.ts'
import type { Config } from './config.ts'
import { metricsRoute } from '../api/public/metrics.ts'
import { offeredInstead } from '../api/public/not-offered.ts'
import { referenceRoutes, type Reference } from '../api/reference/page.ts'
import type { Edge, EdgeOptions, Route } from '../http/edge.ts'
import { type LogFields, type RequestListener, RequestMetrics, type RequestStory } from '../http/request-log.ts'
import { createEdge } from '../http/server.ts'
import { systemClock, type Clock, SyncedClock } from '../base/clock.ts'
import { readMetrics, type MetricReading } from '../base/prometheus.ts'

/** Receives the application's messages; main passes pino. */
export interface AppLog {
  line(fields: LogFields, failed: boolean, story: RequestStory): void
  bug(thrown: unknown, requestId: string): void
  /** Writes one sentence for the operator as a log line. */
  notice(message: string): void
}

export interface AppOptions {
  readonly config: Config
  readonly version: string
  readonly wrappingKeys: readonly Buffer[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: AppLog
  /** Called with each request, as the log is. */
  readonly listeners?: readonly RequestListener[]
  /** The directory of the built console; if it is absent or empty, the start page is served. */
  readonly consoleDir?: string
  /** Whether the console is still being built beside this start. */
  readonly consoleBuilding?: () => boolean
  /** The clock, which a test moves. */
  readonly clock?: Clock
  /** Facts that only the process knows about itself; absent = the node never refuses requests because of its load. */
  readonly machine?: Machine
}

/** The running service. */
export interface App extends Core {
  readonly edge: Edge
  readonly access: Access
  readonly links: SetupLinks
  readonly rateFeed: Feeds['rates']
  /** Every route there is. */
  readonly routes: readonly Route<Principal>[]
  /** The number of a dead process's holds that were voided at the start. */
  readonly recovered: number
  /** The number of answers that are running. */
  readonly running: number
  /** Lets running answers end, then stops everything. */
  stop(): Promise<void>
  /** During a stop: cuts the answers that still run. */
  cut(): void
}

const DRAIN_MS = 120_000
/** How long a cut answer has to send its error and end its hold. */
const CUT_MS = 3_000
/** How long a stopping node still accepts requests, so that balancers see that it is not ready (guarantees.md 5). */
const BALANCERS_MS = 5_000

/** What the edge does with the principal of a request. */
function ofPrincipal({ refusals }: Services): Pick<EdgeOptions<Principal>, 'accountOf' | 'describe' | 'refused'> {
  return {
    accountOf: ({ accountId }) => accountId,
    describe: ({ accountId, keyId }) => ({ account_id: accountId, key_id: keyId }),
    refused: (call, route, principal, error) => refusals.note(call, route, principal, error),
  }
}

/** Wires the whole service; it listens when `edge.listen` is called. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, version, log, listeners = [] } = options
  const clock = new SyncedClock(options.clock ?? systemClock)
  const core = await openCore({ ...options, server: true }, clock)
  const services = await createServices(core, config, clock, (message) => log.notice(message))
  const { access, links, recovered, ids, pay } = services
  const closing = { now: false }
  const cut = Promise.withResolvers<void>()
  const web = createConsole(services, options, (message) => log.notice(message))
  const stall = new StallSign(clock)
  const database = databaseSign(core, clock, log)
  const unready = (): string | null => unreadyFor(services, closing.now, database, stall)
  const load = new Load(services, options.machine)
  const signs = [load, stall, database]
  const requests = new RequestMetrics(log, listeners)
  const own = (): readonly MetricReading[] =>
    readMetrics([...requests.metrics, ...load.metrics(version, unready, () => edge)])
  load.provide(own)
  const routes: readonly Route<Principal>[] = [
    ...allRoutes(services, web.routes, config, version, unready),
    metricsRoute(access, () => load.everybody(own)),
    ...referenceRoutes(() => makeReference(routes, version)),
  ]
  const edge: Edge = createEdge<Principal>({
    routes,
    access,
    clock,
    ids,
    log: requests,
    refuse: (route, principal) => load.refusal(route, principal),
    maintenance: () => core.catalog.current().settings.maintenance,
    trustedProxies: config.trustedProxies,
    isSecure: services.isSecure,
    unmatched: (request, path) => web.unmatched(request, path),
    instead: offeredInstead,
    replyRoom: services.answers,
    notice: (message) => log.notice(message),
    ...ofPrincipal(services),
  })
  await services.start()
  for (const sign of signs) sign?.start()
  for (const listener of listeners) listener.start(own)
  const stop = async (): Promise<void> => {
    closing.now = true
    if (core.store.nodes !== null) await Promise.race([pause(clock, BALANCERS_MS), cut.promise])
    await web.stop()
    for (const sign of signs) sign?.stop()
    await services
      .stop(DRAIN_MS, edge.close(DRAIN_MS + CUT_MS))
      .finally(() => Promise.all(listeners.map((listener) => listener.stop())))
  }
  return {
    ...core,
    edge,
    access,
    links,
    rateFeed: services.feeds.rates,
    routes,
    recovered,
    stop,
    get running() {
      return pay.relay.running
    },
    cut: () => {
      cut.resolve()
      pay.relay.hurry()
      clock.after(CUT_MS, () => edge.server.closeAllConnections())
    },
  }
}

/** The reason why requests should go to other nodes; null = this one is ready. */
function unreadyFor(
  { ledger }: Services,
  closing: boolean,
  database: StoreSign | null,
  stall: StallSign,
): string | null {
  if (closing) return 'Service is shutting down'
  if (database?.shown === true) return 'The database cannot be reached'
  return ledger.unwritable ?? (stall.shown ? 'The event loop stood still' : null)
}

/** Watches whether the database can be reached; null = nodes share none. */
function databaseSign({ store: { nodes } }: Core, clock: Clock, log: AppLog): StoreSign | null {
  if (nodes === null) return null
  return new StoreSign({ clock, reach: () => nodes.reach(), notice: (message) => log.notice(message) })
}

/** The reference is loaded with the first request for it: no other request needs it. */
async function makeReference(routes: readonly Route<Principal>[], version: string): Promise<Reference> {
  const [{ openApiDocument }, { referencePage, STYLE }] = await Promise.all([
    import('../api/reference/openapi.ts'),
    import('../api/reference/page.ts'),
  ])
  const document = openApiDocument(routes, version)
  return { document: JSON.stringify(document), page: referencePage(document), style: STYLE }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}
