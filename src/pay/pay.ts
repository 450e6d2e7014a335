import { KeyLimiter, type LimitShare } from '../access/key-limiter.ts'
import type { SyncedClock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import { uniform } from '../base/rendezvous.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import { SseStreams } from '../http/sse.ts'
import type { EventAction } from '../ledger/event-action.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { failingNotice, keyRefusedNotice } from '../ledger/notice.ts'
import { periodEndMs } from '../ledger/period.ts'
import { AnswerBudget } from '../protocols/answer-budget.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import { UnwrittenNotices } from '../store/notices/unwritten-notices.ts'
import type { Store } from '../store/store.ts'
import { IdempotentCalls } from './idempotency/idempotent-calls.ts'
import { createVideos, type AccountVideos } from './videos/account-videos.ts'
import { createTokenCounter, type TokenCounter } from './plan/token-count.ts'
import { KeptResponses } from './responses/kept-responses.ts'
import { DrainCount } from './relay/generation-input.ts'
import { EndpointHealthBook } from './relay/endpoint-health.ts'
import type { CopyStream } from './relay/event-buffer.ts'
import { KeyPools } from './relay/key-pools.ts'
import { ProviderSlots } from './relay/provider-slots.ts'
import { Relay } from './relay/relay.ts'
import { RetryBudget } from './relay/attempt-queue.ts'
import { UsageWatch } from './relay/usage-watch.ts'

/** Kept answers that are read at one time, on one node. */
const KEPT_BYTES_MAX = 128 * 1_048_576

export interface PayPorts {
  readonly store: Store
  readonly catalog: CatalogService
  readonly ledger: Ledger
  readonly adapters: AdapterTable
  /** The node's budget for whole answers. */
  readonly answers: AnswerBudget
  readonly keyWrap: KeyWrap
  readonly clock: SyncedClock
  readonly ids: IdSource
  /** This process among those that share its store. */
  readonly node: { readonly id: string; readonly keyLimits: LimitShare }
  /** null = no other node reads a copy of this one's streams. */
  readonly copyStream: CopyStream | null
  readonly singleProcess: boolean
  /** A sentence for the operator. */
  readonly notice: (message: string) => void
}

/** What answers paid requests and works on video jobs. */
export interface Pay {
  readonly relay: Relay
  readonly health: EndpointHealthBook
  readonly tokens: TokenCounter
  readonly drains: DrainCount
  readonly watch: UsageWatch
  readonly slots: ProviderSlots
  readonly videos: AccountVideos
  readonly idempotency: IdempotentCalls
  readonly responses: KeptResponses
  readonly sse: SseStreams
  /** Goes on with the jobs of the store. */
  start(): Promise<void>
  /** Lets running answers end within `drainMs`; `closed` = the edge has let go of its last connection. */
  stop(drainMs: number, closed: Promise<void>): Promise<void>
}

/** Constructs the paid path; no job runs before `start`. */
export function openPay(ports: PayPorts): Pay {
  const { store, catalog, ledger, adapters, answers, keyWrap, clock, ids, node, copyStream, singleProcess, notice } =
    ports
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
  const measures = {
    drains: new DrainCount(),
    slots: new ProviderSlots(clock),
    watch: new UsageWatch({ clock, event: systemEvents(ports) }),
  }
  const relay: Relay = new Relay({
    ...attempts,
    ...measures,
    ledger,
    adapters,
    ids,
    tokens,
    catalog,
    answers,
    copyStream,
    keyLimits: new KeyLimiter(clock, node.keyLimits),
    random: uniform,
    limitResetsAtMs: (reset) =>
      reset === null ? null : periodEndMs(clock.now(), reset, catalog.current().settings.timezone),
  })
  const { jobs, files } = store
  const own = { ledger, catalog, adapters, cipher: keyWrap, notice }
  const videos = createVideos({ ...attempts, ...own, node: node.id, singleProcess, relay, jobs, files })
  const responses = new KeptResponses({
    store: store.responses,
    generations: store.generations,
    shared: !singleProcess,
    keyWrap,
    clock,
    settings: () => catalog.current().settings.keptResponses,
    room: new AnswerBudget(KEPT_BYTES_MAX),
  })
  return {
    relay,
    health,
    tokens,
    ...measures,
    videos: videos.ofAccounts,
    idempotency: new IdempotentCalls({ store: store.idempotency, keyWrap, clock, ids }),
    responses,
    sse: new SseStreams(clock, answers),
    start: () => videos.runner.start(),
    stop: async (drainMs, closed) => {
      await relay.close(drainMs)
      await closed
      await videos.runner.stop()
      await told.stop()
    },
  }
}

/** Events that the server itself writes; they are lost while the store is down. */
function systemEvents({
  store,
  clock,
}: PayPorts): (action: EventAction, object: string, detail: Readonly<Record<string, unknown>>) => void {
  return (action, object, detail) => {
    const after = JSON.stringify(detail)
    const event = { atMs: clock.now(), actor: 'system', ip: null, action, object, before: null, after }
    void store.events.append(event).catch(() => undefined)
  }
}
