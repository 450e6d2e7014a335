import { KeyLimiter } from '../access/key-limiter.ts'
import { uniform } from '../base/rendezvous.ts'
import { SseStreams } from '../http/sse.ts'
import type { EventAction } from '../ledger/event-action.ts'
import { failingNotice, keyRefusedNotice } from '../ledger/notice.ts'
import { periodEndMs } from '../ledger/period.ts'
import { UnwrittenNotices } from '../store/notices/unwritten-notices.ts'
import { IdempotentCalls } from './idempotency/idempotent-calls.ts'
import type { PaidRoom, PayPorts } from './paid-room.ts'
import { createTokenCounter, type TokenCounter } from './plan/token-count.ts'
import { PAID_ROOMS } from './rooms.ts'
import { DrainCount } from './relay/generation-input.ts'
import { EndpointHealthBook } from './relay/endpoint-health.ts'
import { KeyPools } from './relay/key-pools.ts'
import { ProviderSlots } from './relay/provider-slots.ts'
import { Relay } from './relay/relay.ts'
import { RetryBudget } from './relay/attempt-queue.ts'
import { UsageWatch } from './relay/usage-watch.ts'

/** What answers paid requests, and works on jobs. */
export interface Pay {
  readonly relay: Relay
  readonly health: EndpointHealthBook
  readonly tokens: TokenCounter
  readonly drains: DrainCount
  readonly watch: UsageWatch
  readonly slots: ProviderSlots
  readonly idempotency: IdempotentCalls
  readonly rooms: readonly PaidRoom[]
  readonly sse: SseStreams
  /** Continues the jobs in the store. */
  start(): Promise<void>
  /** Lets running answers end within `drainMs`; `closed` resolves when the edge has closed its last connection. */
  stop(drainMs: number, closed: Promise<void>): Promise<void>
}

/** Constructs the paid path; no job runs before `start`. */
export function openPay(ports: PayPorts): Pay {
  const { store, catalog, ledger, adapters, answers, keyWrap, clock, ids, node, copyStream, notice } = ports
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
  const idempotency = new IdempotentCalls({ store: store.idempotency, keyWrap, clock, ids })
  const sse = new SseStreams(clock, answers)
  const rooms = PAID_ROOMS.map(({ open }) => open({ ...ports, ...attempts, relay, idempotency, sse }))
  return {
    relay,
    health,
    tokens,
    ...measures,
    idempotency,
    rooms,
    sse,
    start: async () => {
      for (const room of rooms) await room.start?.()
    },
    stop: async (drainMs, closed) => {
      await relay.close(drainMs)
      await closed
      for (const room of rooms) await room.stop?.()
      await told.stop()
    },
  }
}

/** Writes events whose author is the server itself; they are lost while the store is down. */
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
