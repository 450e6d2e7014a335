import type { LedgerLoad } from '../../ledger/ledger.ts'
import { gauge, type Metric, type Sample } from '../../base/prometheus.ts'

/** The state that a node's metrics are read from. */
export interface NodeState {
  readonly version: string
  readonly ready: () => boolean
  readonly inFlight: () => number
  readonly providers: () => readonly { readonly slug: string; readonly running: number; readonly waiting: number }[]
  readonly drains: () => number
  readonly flagged: () => readonly { readonly provider: string; readonly count: number }[]
  readonly shortfalls: () => readonly { readonly provider: string; readonly micro: bigint }[]
  readonly openStreams: () => number
  readonly bodyBytes: () => number
  readonly answerBytes: () => number
  readonly sockets: () => { readonly open: number; readonly refused: number; readonly replaced: number }
  readonly shedding: () => {
    readonly busy: number
    readonly lagging: number
    readonly reading: { readonly utilisation: number; readonly delayMs: number; readonly memory: number } | null
  }
  readonly ledger: () => LedgerLoad
  /** Messages since the start, by the end of their attempts. */
  readonly notices: () => Readonly<Record<'sent' | 'failed' | 'dead', number>>
  /** The balance left with each provider that reports one. */
  readonly balances: () => readonly {
    readonly provider: string
    readonly key: number
    readonly currency: string
    readonly amount: number
  }[]
  readonly priceVersion: () => number
  readonly unhealthyEndpoints: () => number
}

/** The metrics of this process. */
export function nodeMetrics(state: NodeState): readonly Metric[] {
  return [...answerMetrics(state), ...clientMetrics(state), ...loadMetrics(state), ...storeMetrics(state)]
}

/** Metrics of paid requests and of the providers' answers. */
function answerMetrics(state: NodeState): readonly Metric[] {
  const byProvider = (pick: (provider: { running: number; waiting: number }) => number) => (): readonly Sample[] =>
    state.providers().map((provider) => ({ labels: { provider: provider.slug }, value: pick(provider) }))
  return [
    {
      name: 'tollgate_info',
      help: 'The version that runs.',
      type: 'gauge',
      over: 'max',
      samples: () => [{ labels: { version: state.version }, value: 1 }],
    },
    gauge('tollgate_ready', '1 while the node takes requests, 0 while it stops.', () => Number(state.ready()), 'min'),
    gauge('tollgate_in_flight', 'Paid requests that run now.', state.inFlight),
    {
      name: 'tollgate_provider_in_flight',
      help: 'Attempts that run at a provider now.',
      type: 'gauge',
      samples: byProvider(({ running }) => running),
    },
    {
      name: 'tollgate_provider_waiting',
      help: 'Requests that wait for a place at a provider.',
      type: 'gauge',
      samples: byProvider(({ waiting }) => waiting),
    },
    gauge('tollgate_drains', 'Answers read to their end after their client left.', state.drains),
    {
      name: 'tollgate_usage_flagged_total',
      help: 'Answers whose provider reported more than there can be, or no number that can be read.',
      type: 'counter',
      samples: () => state.flagged().map(({ provider, count }) => ({ labels: { provider }, value: count })),
    },
    {
      name: 'tollgate_shortfall_rub_total',
      help: 'What answers cost beyond their holds and the balances behind them, in rubles.',
      type: 'counter',
      samples: () =>
        state.shortfalls().map(({ provider, micro }) => ({ labels: { provider }, value: Number(micro) / 1e6 })),
    },
  ]
}

/** Metrics of the clients' connections and of the bytes held for them. */
function clientMetrics(state: NodeState): readonly Metric[] {
  return [
    gauge('tollgate_open_streams', 'Event streams that clients read now.', state.openStreams),
    gauge('tollgate_connections', 'Connections of clients that are open.', () => state.sockets().open),
    {
      name: 'tollgate_connections_beyond_share_total',
      help: 'Connections beyond the share of their address: refused, or made room for by closing an idle one of it.',
      type: 'counter',
      samples: () => [
        { labels: { outcome: 'refused' }, value: state.sockets().refused },
        { labels: { outcome: 'replaced' }, value: state.sockets().replaced },
      ],
    },
    gauge('tollgate_body_bytes', 'Bytes of request bodies held now.', state.bodyBytes),
    gauge(
      'tollgate_answer_bytes',
      'Bytes of whole answers of providers held now, while they come and are read, and of replies that wait for their clients.',
      state.answerBytes,
    ),
  ]
}

/** Metrics of the node's load, which decides when it refuses requests. */
function loadMetrics(state: NodeState): readonly Metric[] {
  const reading = (pick: (reading: { utilisation: number; delayMs: number; memory: number }) => number): number => {
    const newest = state.shedding().reading
    return newest === null ? 0 : pick(newest)
  }
  return [
    gauge(
      'tollgate_shedding_busy',
      'Probability that a request of an account above its share is refused since the node is busy.',
      () => state.shedding().busy,
      'max',
    ),
    gauge(
      'tollgate_shedding_lagging',
      'Probability that a new paid request is refused since the node lags or is short of memory.',
      () => state.shedding().lagging,
      'max',
    ),
    gauge(
      'tollgate_event_loop_utilisation',
      'Share of the last second in which the event loop worked.',
      () => reading(({ utilisation }) => utilisation),
      'max',
    ),
    gauge(
      'tollgate_event_loop_delay_seconds',
      'How late timers were in the last second, p99.',
      () => reading(({ delayMs }) => delayMs / 1_000),
      'max',
    ),
    gauge(
      'tollgate_memory_share',
      'Share of the memory that the process may take.',
      () => reading(({ memory }) => memory),
      'max',
    ),
  ]
}

/** Metrics of the ledger, the store and the catalogue. */
function storeMetrics(state: NodeState): readonly Metric[] {
  return [
    {
      name: 'tollgate_notice_attempts_total',
      help: 'Attempts to send notices: sent, failed and tried again, or dead.',
      type: 'counter',
      samples: () => Object.entries(state.notices()).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      name: 'tollgate_provider_balance',
      help: 'What is left of the money with a provider that tells it, in its currency.',
      type: 'gauge',
      samples: () =>
        state.balances().map(({ provider, key, currency, amount }) => ({
          labels: { provider, key: String(key), currency },
          value: amount,
        })),
    },
    gauge('tollgate_ledger_waiting', 'Holds and ends of holds that wait for the store.', () => state.ledger().waiting),
    gauge(
      'tollgate_ledger_drawn',
      'Running requests whose holds are taken out of an allowance of this node.',
      () => state.ledger().drawn,
    ),
    gauge('tollgate_store_down', '1 while the store does not answer.', () => Number(state.ledger().down), 'max'),
    gauge(
      'tollgate_journal_open',
      'Ends of holds in the journal that the database does not have yet.',
      () => state.ledger().journaled,
    ),
    gauge('tollgate_price_version', 'Version of the catalogue in use.', state.priceVersion, 'min'),
    gauge(
      'tollgate_unhealthy_endpoints',
      'Endpoints that failed lately and are asked last.',
      state.unhealthyEndpoints,
      'max',
    ),
  ]
}
