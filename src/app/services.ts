import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createAccess, type Access } from '../access/access.ts'
import { RefusalLog } from '../access/refusal-log.ts'
import { ConsoleSessions } from '../access/console-sessions.ts'
import { SetupLinks } from '../api/admin/setup-links.ts'
import { StoredPictures } from '../api/public/stored-pictures.ts'
import type { Clock, SyncedClock } from '../base/clock.ts'
import { randomIds, type IdSource } from '../base/ids.ts'
import { noFeeds, type Feeds } from '../catalog/feed-ports.ts'
import { openFeeds } from '../catalog/feeds/feeds.ts'
import { PriceNotices } from '../catalog/price-notices.ts'
import { HeldPrices } from '../catalog/held-prices.ts'
import { createIsSecure } from '../http/public-url.ts'
import { EndJournal, type Journal } from '../ledger/end-journal.ts'
import { Ledger } from '../ledger/ledger.ts'
import { serviceLowBalance } from '../ledger/notice.ts'
import { Nodes } from '../nodes/nodes.ts'
import { openValkey } from '../nodes/valkey/valkey.ts'
import { openNotices, type Notices } from '../notices/notices.ts'
import { openPay, type Pay } from '../pay/pay.ts'
import { createAdapters } from '../protocols/index.ts'
import { UpstreamAgents, patientAgent, publicConnector, upstreamLookup } from '../protocols/wire/connections.ts'
import { ExpirySweep } from '../store/ledger/expiry-sweep.ts'
import { LogKeeper } from '../store/log/upkeep.ts'
import { openJournal } from '../store/sqlite/journal-file.ts'
import type { Config } from './config.ts'
import type { Core } from './core.ts'
import { ownStream } from './stream-access.ts'

/**
 * Adds at most this much to the end of an answer, and only if another answer ended just before; under load it makes a
 * tenth as many commits.
 */
const COMMIT_SPACING_MS = 5
/** For connections to receivers of notices, price lists and balances. */
const CONNECT_MS = 3_000

/** Everything that runs behind the routes. */
export interface Services extends Omit<ReturnType<typeof createAdapters>, 'close'> {
  readonly core: Core
  readonly clock: Clock
  readonly ids: IdSource
  readonly nodes: Nodes
  readonly ledger: Ledger
  /** The number of a dead process's holds that were voided at the start. */
  readonly recovered: number
  readonly pay: Pay
  readonly pictures: StoredPictures
  /** Whether a client reached us over TLS. */
  readonly isSecure: (request: IncomingMessage) => boolean
  readonly sessions: ConsoleSessions
  readonly access: Access
  readonly refusals: RefusalLog
  readonly links: SetupLinks
  readonly notices: Notices
  readonly feeds: Feeds
  /** Starts the background work. */
  start(): Promise<void>
  /** Lets running answers end within `drainMs`; `closed` resolves when the edge has closed its last connection. */
  stop(drainMs: number, closed: Promise<void>): Promise<void>
}

/** The parts that every room needs. */
interface Base {
  readonly core: Core
  readonly config: Config
  readonly clock: SyncedClock
  readonly ids: IdSource
  /** No other process has the store. */
  readonly singleProcess: boolean
  /** Writes one sentence for the operator as a log line. */
  readonly notice: (message: string) => void
}

/** Constructs the rooms, each over those before it; nothing listens yet. */
export async function createServices(
  core: Core,
  config: Config,
  clock: SyncedClock,
  notice: (message: string) => void,
): Promise<Services> {
  const { store, catalog, keyWrap } = core
  const base = { core, config, clock, ids: randomIds(), singleProcess: store.kind === 'embedded', notice }
  const { ids, singleProcess } = base
  const nodes = await nodesOf(base)
  const { close: closeAdapters, ...upstreams } = createAdapters({
    clock,
    env: core.env,
    share: nodes.shared?.tokens ?? null,
  })
  const journal = await journalOf(config)
  const ledger = ledgerOf(base, nodes, journal)
  const recovered = await ledger.start()
  if (singleProcess) await Promise.all([store.idempotency.releaseLost(), store.notices.releaseLost()])
  const { copyStream = null } = nodes.shared ?? {}
  const pay = openPay({ ...base, store, catalog, keyWrap, ledger, ...upstreams, node: nodes, copyStream })
  const callers = callersOf(base, nodes)
  const { access } = callers
  const refusals = new RefusalLog({ store: store.refusals, tell: (told) => store.notices.raise(told), clock, notice })
  const connections = connectionsOf()
  const notices = noticesOf(base, nodes, connections, access)
  const feeds = feedsOf(base, nodes, connections)
  const upkeep = upkeepOf(base, pay)
  const prices = new PriceNotices({ ...base, catalog, store, leads: () => nodes.leads })
  return {
    core,
    clock,
    ids,
    nodes,
    ...upstreams,
    ledger,
    recovered,
    pay,
    pictures: new StoredPictures({ files: store.files, clock, ids }),
    ...callers,
    refusals,
    notices,
    feeds,
    start: async () => {
      await pay.start()
      for (const part of [...upkeep, notices]) part.start()
      await nodes.start({
        block: (ip, leftMs, blocks) => access.block(ip, leftMs, blocks),
        tellWindows: () => access.tellWindows(),
        findStream: (owner, id) => ownStream(pay.relay, owner, id),
      })
      // From here on it is known which node is the leader.
      feeds.start()
      prices.start()
    },
    stop: async (drainMs, closed) => {
      for (const part of [feeds, prices, ...upkeep, notices, connections]) await part.stop()
      await pay.stop(drainMs, closed)
      await refusals.stop()
      await nodes.stop()
      await ledger.stop()
      await journal?.close()
      await access.close()
      await closeAdapters()
      await core.close()
    },
  }
}

async function nodesOf(base: Base): Promise<Nodes> {
  const { store, catalog, keyWrap } = base.core
  const id = base.ids.letters(12)
  return new Nodes({
    id,
    store: store.nodes,
    shared: await openValkey({ ...base.config, ...base, node: id, cipherKeys: keyWrap.derived('tollgate nodes') }),
    clock: base.clock,
    refreshCatalog: () => catalog.refresh(),
  })
}

/**
 * The journal for ends of requests during an outage of a network database. The embedded store needs none: it would be
 * on the same disk.
 */
function journalOf({ databaseUrl, dataDir }: Config): Promise<Journal | null> {
  return databaseUrl === null ? Promise.resolve(null) : openJournal(join(dataDir, 'journal'))
}

function ledgerOf({ core, clock, singleProcess, notice }: Base, nodes: Nodes, journal: Journal | null): Ledger {
  return new Ledger({
    node: nodes.id,
    singleProcess,
    store: core.store.ledger,
    clock,
    timezone: () => core.catalog.current().settings.timezone,
    gather: nextTurn,
    commitSpacingMs: COMMIT_SPACING_MS,
    lowBalanceMicro: () => serviceLowBalance(core.catalog.current().settings),
    notice,
    ...(singleProcess ? {} : { nodes: () => nodes.live }),
    ...(journal === null ? {} : { journal: new EndJournal(journal) }),
  })
}

/**
 * The handlers of requests that were read from many sockets in one turn of the event loop run one after another, and
 * share no microtask. A wait for the next turn brings them together.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** What identifies callers: API keys, console sessions, the operator. */
function callersOf(
  { core: { store, catalog, keyWrap }, config, clock, ids }: Base,
  nodes: Nodes,
): Pick<Services, 'isSecure' | 'sessions' | 'access' | 'links'> {
  const isSecure = createIsSecure(config.publicUrl, config.trustedProxies)
  const sessions = new ConsoleSessions({
    store: store.sessions,
    clock,
    ids,
    cipher: keyWrap,
    isSecure,
    adminTotpRequired: config.adminTotpRequired,
  })
  const access = createAccess({
    keys: store.keys,
    managementKeys: store.managementKeys,
    adminToken: config.adminToken,
    adminTokens: store.adminTokens,
    adminTotpRequired: config.adminTotpRequired,
    clock,
    settings: () => catalog.current().settings,
    session: (request: IncomingMessage) => sessions.find(request),
    shared: nodes.access,
  })
  return { isSecure, sessions, access, links: new SetupLinks({ users: store.users, clock, ids }) }
}

/**
 * Connections by their trust. Addresses that an operator chose may be private if those of providers may; addresses that
 * serve credentials of clouds may not.
 */
function connectionsOf() {
  const guarded = patientAgent(publicConnector(CONNECT_MS))
  const own = patientAgent({ timeout: CONNECT_MS, lookup: upstreamLookup })
  const upstreams = new UpstreamAgents(CONNECT_MS)
  return {
    guarded,
    own,
    dispatcherOf: (provider: Parameters<UpstreamAgents['of']>[0]) => upstreams.of(provider),
    stop: async (): Promise<void> => {
      await Promise.all([guarded, own, upstreams].map((agents) => agents.destroy()))
    },
  }
}

type Connections = ReturnType<typeof connectionsOf>

function noticesOf(
  { core: { store, catalog, keyWrap }, config, clock, ids, notice }: Base,
  nodes: Nodes,
  { guarded, own }: Connections,
  access: Access,
): Notices {
  return openNotices({
    ...config,
    store: store.notices,
    cipher: keyWrap,
    clock,
    ids,
    leads: () => nodes.leads,
    timezone: () => catalog.current().settings.timezone,
    guarded,
    own,
    allowPrivate: config.allowPrivateUpstreams,
    has: (bound, of) => access.bounds.has(bound, of),
    log: notice,
  })
}

function feedsOf(
  { core: { store, catalog }, config, clock, notice }: Base,
  nodes: Nodes,
  connections: Connections,
): Feeds {
  const book = new HeldPrices({ catalog, clock, events: store.events, usage: store.generations })
  const ports = { ...config, ...connections, catalog, store, book, clock, leads: () => nodes.leads, log: notice }
  return {
    ...noFeeds(book),
    ...openFeeds(ports),
  }
}

/** Deletes rows whose time is over. */
function upkeepOf({ core: { store }, config, clock, notice }: Base, pay: Pay): readonly [ExpirySweep, LogKeeper] {
  const sweep = new ExpirySweep(
    {
      'Stored files': store.files,
      'Idempotency keys': store.idempotency,
      ...Object.fromEntries(pay.rooms.flatMap(({ expiring = {} }) => Object.entries(expiring))),
      Notices: store.notices,
      'Refused requests': store.refusals,
    },
    clock,
    notice,
  )
  const { logUpkeep: upkeep, entries } = store
  store.words.fill()
  return [sweep, new LogKeeper({ upkeep, entries, clock, retentionDays: config.logRetentionDays, log: notice })]
}
