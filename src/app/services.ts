import type { EventAction } from '../ledger/event-action.ts'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createAccess, type Access } from '../access/access.ts'
import { KeyLimiter } from '../access/key-limiter.ts'
import { ConsoleSessions } from '../access/console-sessions.ts'
import { SetupLinks } from '../api/admin/setup-links.ts'
import { ProviderBalances } from '../catalog/feeds/provider-balances.ts'
import { HeldPrices } from '../catalog/held-prices.ts'
import { PriceFeed } from '../catalog/price-feed.ts'
import { RateFeed } from '../catalog/feeds/rate-feed.ts'
import type { Config } from './config.ts'
import { StoredPictures } from '../api/public/stored-pictures.ts'
import { createIsSecure } from '../http/public-url.ts'
import { SseStreams } from '../http/sse.ts'
import { KeptResponses } from '../pay/responses/kept-responses.ts'
import { IdempotentCalls } from '../idempotency/idempotent-calls.ts'
import { EndJournal } from '../ledger/end-journal.ts'
import { Ledger } from '../ledger/ledger.ts'
import { failingNotice, keyRefusedNotice, serviceLowBalance } from '../ledger/notice.ts'
import { periodEndMs } from '../ledger/period.ts'
import type { Clock } from '../lib/clock.ts'
import type { SyncedClock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import { randomIds, type IdSource } from '../base/ids.ts'
import { uniform } from '../base/uniform.ts'
import { Nodes } from '../nodes/nodes.ts'
import { Notifier } from '../notices/notifier.ts'
import { Letters } from '../notices/letters.ts'
import { Mailer } from '../notices/mailer.ts'
import { sendDelivery, type SenderPorts } from '../notices/senders.ts'
import { UnwrittenNotices } from '../store/notices/unwritten-notices.ts'
import { openValkey } from '../nodes/valkey.ts'
import { createTokenCounter, type TokenCounter } from '../pay/plan/token-count.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import { AnswerBudget } from '../protocols/answer-budget.ts'
import { createAdapters } from '../protocols/index.ts'
import { patientAgent, publicConnector } from '../providers/wire/connections.ts'
import { upstreamLookup } from '../protocols/wire/guarded-lookup.ts'
import { UsageWatch } from '../pay/relay/usage-watch.ts'
import { DrainCount } from '../pay/relay/drain-count.ts'
import { EndpointHealthBook } from '../pay/relay/endpoint-health.ts'
import { KeyPools } from '../pay/relay/key-pools.ts'
import { ProviderSlots } from '../pay/relay/provider-slots.ts'
import { Relay } from '../pay/relay/relay.ts'
import { RetryBudget } from '../pay/relay/retry-budget.ts'
import { ExpirySweep } from '../store/ledger/expiry-sweep.ts'
import { openJournal, type Journal } from '../store/sqlite/journal-file.ts'
import { LogKeeper } from '../store/log/keeper.ts'
import { createVideos } from '../pay/jobs/account-videos.ts'
import type { Core } from './core.ts'
import { ownStream } from './stream-access.ts'

/**
 * Adds at most this to the end of an answer, and only when another ended just before; under load it makes a tenth as
 * many commits.
 */
const COMMIT_SPACING_MS = 5
/** Kept answers that are read at one time, on one node. */
const KEPT_BYTES_MAX = 128 * 1_048_576

/** Everything that runs behind the routes. */
export interface Services {
  readonly core: Core
  readonly clock: Clock
  readonly ids: IdSource
  readonly adapters: AdapterTable
  /** The node's budget for whole answers. */
  readonly answers: AnswerBudget
  readonly nodes: Nodes
  readonly ledger: Ledger
  readonly health: EndpointHealthBook
  readonly tokens: TokenCounter
  readonly relay: Relay
  readonly drains: DrainCount
  readonly watch: UsageWatch
  readonly slots: ProviderSlots
  readonly videos: ReturnType<typeof createVideos>
  readonly pictures: StoredPictures
  readonly idempotency: IdempotentCalls
  readonly responses: KeptResponses
  readonly rateFeed: RateFeed
  readonly notifier: Notifier
  readonly letters: Letters
  readonly balances: ProviderBalances
  readonly prices: PriceFeed
  readonly sessions: ConsoleSessions
  /** Whether a client reached us over TLS. */
  readonly isSecure: (request: IncomingMessage) => boolean
  readonly links: SetupLinks
  readonly access: Access
  readonly sse: SseStreams
  /** The number of a dead process's holds that were voided at the start. */
  readonly recovered: number
  /** Starts the background work. */
  start(): Promise<void>
  /** Lets running answers end within `drainMs`; `closed` = the edge has let go of its last connection. */
  stop(drainMs: number, closed: Promise<void>): Promise<void>
}

/** Constructs and connects the services; nothing listens yet. */
export async function createServices(
  core: Core,
  config: Config,
  clock: SyncedClock,
  notice: (message: string) => void,
): Promise<Services> {
  const { store, catalog, keyWrap } = core
  const ids = randomIds()
  const { adapters, answers, close: closeAdapters } = createAdapters({ clock })
  const { valkeyUrl: url, valkeyTimeoutMs: timeoutMs } = config
  const valkey = url === null ? null : await openValkey({ url, timeoutMs, clock, notice })
  const nodes = new Nodes({
    store: store.nodes,
    valkey,
    cipherKeys: keyWrap.derived('tollgate nodes'),
    clock,
    ids,
    refreshCatalog: () => catalog.refresh(),
  })
  const singleProcess = store.kind === 'embedded'
  const base = { core, config, clock, ids, nodes, singleProcess, notice }
  const journal = await journalOf(config)
  const ledger = ledgerOf(base, journal)
  const recovered = await ledger.start()
  if (singleProcess) await Promise.all([store.idempotency.releaseLost(), store.notices.releaseLost()])
  const { told, ...paid } = paidServices(base, { ledger, adapters, answers })
  const { relay, videos } = paid
  const upkeep = upkeepOf(base, paid.responses)
  const { rateFeed, sweep, logKeeper, notifier, letters, balances, prices } = upkeep
  const callers = callerServices(base)
  const { access } = callers
  return {
    core,
    clock,
    ids,
    adapters,
    answers,
    nodes,
    ledger,
    recovered,
    ...upkeep,
    ...paid,
    ...callers,
    start: async () => {
      await videos.runner.start()
      for (const part of [sweep, logKeeper, notifier]) part.start()
      await nodes.start({
        block: (ip, leftMs, blocks) => access.block(ip, leftMs, blocks),
        tellWindows: () => access.tellWindows(),
        findStream: (accountId, id) => ownStream(relay, accountId, id),
      })
      // Who leads is known now.
      for (const part of [balances, prices]) part.start()
    },
    stop: async (drainMs, closed) => {
      for (const part of [rateFeed, sweep, logKeeper, balances, prices]) await part.stop()
      await Promise.all([letters.stop(), notifier.stop()])
      await relay.close(drainMs)
      await closed
      await videos.runner.stop()
      await told.stop()
      await nodes.stop()
      await ledger.stop()
      await journal?.close()
      await access.close()
      await closeAdapters()
      await core.close()
    },
  }
}

/** The parts that every group of services needs. */
interface Base extends Pick<Services, 'core' | 'ids' | 'nodes'> {
  readonly config: Config
  readonly clock: SyncedClock
  readonly singleProcess: boolean
  readonly notice: (message: string) => void
}

function ledgerOf({ core, clock, nodes, singleProcess, notice }: Base, journal: Journal | null): Ledger {
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

/** The services that answer paid requests and work on video jobs. */
function paidServices(
  { core, clock, ids, nodes, singleProcess, notice }: Base,
  { ledger, adapters, answers }: Pick<Services, 'ledger' | 'adapters' | 'answers'>,
): Pick<
  Services,
  | 'health'
  | 'tokens'
  | 'relay'
  | 'drains'
  | 'watch'
  | 'slots'
  | 'videos'
  | 'pictures'
  | 'idempotency'
  | 'responses'
  | 'sse'
> & { readonly told: UnwrittenNotices } {
  const { store, catalog, keyWrap } = core
  const told = new UnwrittenNotices(store.notices, clock)
  const health = new EndpointHealthBook(clock, (endpointId) => told.tell(failingNotice(endpointId, clock.now())))
  const tokens = createTokenCounter()
  tokens.warm()
  const attempts = {
    clock,
    health,
    keyPools: new KeyPools(clock, notice, (refused) => told.tell(keyRefusedNotice(refused, clock.now()))),
    retries: new RetryBudget(clock, () => relay.running),
  }
  const drains = new DrainCount()
  const slots = new ProviderSlots(clock)
  const watch = new UsageWatch({ clock, event: systemEvents(store.events, clock) })
  const relay: Relay = new Relay({
    ...attempts,
    ledger,
    adapters,
    ids,
    tokens,
    catalog,
    drains,
    slots,
    watch,
    answers,
    copyStream: nodes.copyStream,
    keyLimits: new KeyLimiter(clock, nodes.keyLimits),
    random: uniform,
    limitResetsAtMs: (reset) =>
      reset === null ? null : periodEndMs(clock.now(), reset, catalog.current().settings.timezone),
  })
  const videos = createVideos({
    ...attempts,
    node: nodes.id,
    singleProcess,
    relay,
    jobs: store.jobs,
    files: store.files,
    ledger,
    catalog,
    adapters,
    cipher: keyWrap,
    notice,
  })
  const pictures = new StoredPictures({ files: store.files, clock, ids })
  const idempotency = new IdempotentCalls({ store: store.idempotency, keyWrap, clock, ids })
  const responses = new KeptResponses({
    store: store.responses,
    shared: !singleProcess,
    keyWrap,
    clock,
    settings: () => catalog.current().settings.keptResponses,
    room: new AnswerBudget(KEPT_BYTES_MAX),
  })
  const sse = new SseStreams(clock, answers)
  return { health, tokens, relay, drains, watch, slots, videos, pictures, idempotency, responses, sse, told }
}

/** The background work: exchange rates, expired rows, the retention of the usage log. */
function upkeepOf(
  base: Base,
  responses: KeptResponses,
): {
  readonly rateFeed: RateFeed
  readonly sweep: ExpirySweep
  readonly logKeeper: LogKeeper
  readonly notifier: Notifier
  readonly letters: Letters
  readonly balances: ProviderBalances
  readonly prices: PriceFeed
} {
  const {
    core: { store, catalog },
    config,
    clock,
    nodes,
    notice,
  } = base
  return {
    rateFeed: new RateFeed({
      catalog,
      events: store.events,
      clock,
      url: config.cbrUrl,
      log: notice,
      leads: () => nodes.leads,
    }),
    sweep: new ExpirySweep(
      {
        'Stored files': store.files,
        'Idempotency keys': store.idempotency,
        'Kept responses': responses,
        Notices: store.notices,
      },
      clock,
      notice,
    ),
    logKeeper: new LogKeeper({
      upkeep: store.logUpkeep,
      books: store.books,
      entries: store.entries,
      clock,
      retentionDays: config.logRetentionDays,
      log: notice,
    }),
    ...noticesOf(base),
  }
}

const WEBHOOK_CONNECT_MS = 3_000

/** Addresses that an operator chose may be private where providers' may; those of clouds' credentials never. */
function noticesOf({
  core: { store, catalog, keyWrap },
  config,
  clock,
  ids,
  nodes,
  notice,
}: Base): Pick<Services, 'notifier' | 'letters' | 'balances' | 'prices'> {
  const guarded = patientAgent(publicConnector(WEBHOOK_CONNECT_MS))
  const own = patientAgent({ timeout: WEBHOOK_CONNECT_MS, lookup: upstreamLookup })
  const { allowPrivateUpstreams, mail, telegram, publicUrl } = config
  const ports: SenderPorts = {
    store: store.notices,
    webhooks: { cipher: keyWrap, guarded, own: allowPrivateUpstreams ? own : null },
    mailer: mail === null ? null : new Mailer(mail),
    telegram: telegram === null ? null : { ...telegram, dispatcher: own },
    timezone: () => catalog.current().settings.timezone,
    publicUrl,
  }
  const notifier = new Notifier({
    store: store.notices,
    clock,
    leads: () => nodes.leads,
    send: (delivery, stop) => sendDelivery(ports, delivery, clock.now(), stop),
    random: uniform,
    log: notice,
    close: async () => {
      await Promise.all([guarded.destroy(), own.destroy()])
    },
  })
  const { mailer } = ports
  const letters = new Letters({
    mailer,
    telegram: ports.telegram,
    clock,
    log: notice,
    newId: () => `ltr_${ids.letters(24)}`,
  })
  const follow = { catalog, clock, dispatcher: own, leads: () => nodes.leads, log: notice }
  const balances = new ProviderBalances({ ...follow, store: store.notices })
  const book = new HeldPrices({ catalog, clock, events: store.events, usage: store.generations })
  const prices = new PriceFeed({ ...follow, book })
  return { notifier, letters, balances, prices }
}

/** The services that identify callers: API keys, console sessions, the operator. */
function callerServices({
  core: { store, catalog, keyWrap },
  config,
  clock,
  ids,
  nodes,
}: Base): Pick<Services, 'sessions' | 'isSecure' | 'links' | 'access'> {
  const isSecure = createIsSecure(config.publicUrl, config.trustedProxies)
  const sessions = new ConsoleSessions({ store: store.sessions, clock, ids, cipher: keyWrap, isSecure })
  const access = createAccess({
    keys: store.keys,
    managementKeys: store.managementKeys,
    clock,
    settings: () => catalog.current().settings,
    adminToken: config.adminToken,
    adminTokens: store.adminTokens,
    session: (request: IncomingMessage) => sessions.find(request),
    adminTotpRequired: config.adminTotpRequired,
    shared: nodes.access,
  })
  return { sessions, isSecure, access, links: new SetupLinks({ users: store.users, clock, ids }) }
}

/** Events that the server itself writes; they are lost while the store is down. */
function systemEvents(
  events: Store['events'],
  clock: Clock,
): (action: EventAction, object: string, detail: Readonly<Record<string, unknown>>) => void {
  return (action, object, detail) => {
    void events
      .append({
        atMs: clock.now(),
        actor: 'system',
        ip: null,
        action,
        object,
        before: null,
        after: JSON.stringify(detail),
      })
      .catch(() => undefined)
  }
}

/**
 * A network database may go away while answers end. The embedded store needs no journal: it would be on the same disk.
 */
function journalOf({ databaseUrl, dataDir }: Config): Promise<Journal | null> {
  return databaseUrl === null ? Promise.resolve(null) : openJournal(join(dataDir, 'journal'))
}

/**
 * Requests read from many sockets in one turn of the event loop are called one after another, without a microtask in
 * common.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
