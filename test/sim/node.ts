import { KeyLimiter } from '../../src/access/key-limiter.ts'
import type { Principal } from '../../src/access/principal.ts'
import { EndJournal } from '../../src/ledger/end-journal.ts'
import { Ledger, type LedgerPorts } from '../../src/ledger/ledger.ts'
import { periodEndMs } from '../../src/ledger/period.ts'
import type { Clock } from '../../src/base/clock.ts'
import type { IdSource } from '../../src/base/ids.ts'
import type { TokenCounter } from '../../src/pay/plan/token-count.ts'
import { UsageWatch } from '../../src/pay/relay/usage-watch.ts'
import { DrainCount } from '../../src/pay/relay/generation-input.ts'
import { EndpointHealthBook } from '../../src/pay/relay/endpoint-health.ts'
import { KeyPools } from '../../src/pay/relay/key-pools.ts'
import { Relay } from '../../src/pay/relay/relay.ts'
import { ProviderSlots } from '../../src/pay/relay/provider-slots.ts'
import { RetryBudget } from '../../src/pay/relay/attempt-queue.ts'
import type { AdapterTable } from '../../src/protocols/ports/adapter.ts'
import type { LedgerStore } from '../../src/ledger/ledger-store.ts'
import type { Database } from '../../src/store/database.ts'
import type { SimCatalog } from './catalog.ts'
import type { SimJournal } from './journal.ts'
import type { Link } from './link.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import { Upstream } from './upstream.ts'

const COMMIT_SPACING_MS = 5
const TURN_MS = 0.05

type Settle = Parameters<Ledger['settle']>[0]
type Void = Parameters<Ledger['void']>[0]

/** One end of a hold as the gateway requested it, and its outcome. */
export interface Intent {
  readonly generationId: string
  readonly node: string
  readonly end: { readonly op: 'settle'; readonly request: Settle } | { readonly op: 'void'; readonly request: Void }
  readonly askedMs: number
  answeredMs: number | null
  /** null = no answer yet. */
  outcome: Awaited<ReturnType<Ledger['settle'] | Ledger['void']>> | 'failed' | null
}

/** The product's ledger, which records its calls. */
class WitnessedLedger extends Ledger {
  readonly #note: (end: Intent['end']) => Intent
  readonly #nowMs: () => number

  constructor(ports: LedgerPorts, note: (end: Intent['end']) => Intent, nowMs: () => number) {
    super(ports)
    this.#note = note
    this.#nowMs = nowMs
  }

  override settle(request: Settle): ReturnType<Ledger['settle']> {
    return this.#witness(this.#note({ op: 'settle', request }), super.settle(request))
  }

  override void(request: Void): ReturnType<Ledger['void']> {
    return this.#witness(this.#note({ op: 'void', request }), super.void(request))
  }

  async #witness<T extends Awaited<ReturnType<Ledger['settle'] | Ledger['void']>>>(
    intent: Intent,
    answer: Promise<T>,
  ): Promise<T> {
    try {
      const outcome = await answer
      intent.outcome = outcome
      return outcome
    } catch (thrown) {
      intent.outcome = 'failed'
      throw thrown
    } finally {
      intent.answeredMs = this.#nowMs()
    }
  }
}

export interface NodePorts {
  readonly name: string
  readonly scheduler: Scheduler
  readonly random: Random
  readonly ids: IdSource
  readonly link: Link
  readonly owner: Owner
  readonly store: LedgerStore
  /** Its access to the tables of the store outside the ledger. */
  readonly database: Database
  readonly singleProcess: boolean
  /** Live nodes, where holds are decided against allowances. */
  readonly nodes: (() => number) | null
  /** null = an end that the store does not accept in time is refused. */
  readonly journal: SimJournal | null
  readonly catalog: SimCatalog
  readonly tokens: TokenCounter
  /** The universe's beginning, Unix ms. */
  readonly beginMs: number
  readonly closing: () => boolean
  readonly longAnswers: boolean
  readonly empties: boolean
  readonly conditions: Random | null
  readonly note: (end: Intent['end'], node: string) => Intent
  readonly trace: (text: string) => void
}

/**
 * One process of the gateway: the product's ledger and relay on the universe's clock, randomness, store and providers.
 */
export class SimNode {
  readonly name: string
  readonly owner: Owner
  readonly link: Link
  readonly database: Database
  readonly ledger: Ledger
  readonly journal: SimJournal | null
  readonly relay: Relay
  readonly upstream: Upstream
  readonly adapters: AdapterTable
  readonly drains = new DrainCount()
  readonly slots: ProviderSlots
  /** Its wall clock is ahead of the true time by this, ms. */
  skewMs = 0
  /** It takes no requests: it is starting, or has been told to stop. */
  closed = true

  constructor(ports: NodePorts) {
    const { scheduler, catalog, owner, random, journal } = ports
    this.journal = journal
    this.name = ports.name
    this.owner = owner
    this.link = ports.link
    this.database = ports.database
    const clock: Clock = {
      now: () => Math.floor(ports.beginMs + scheduler.nowMs + this.skewMs),
      monotonic: () => scheduler.nowMs,
      after: (delayMs, task) => scheduler.after(delayMs, owner, task),
    }
    this.slots = new ProviderSlots(clock)
    const timezone = (): string => catalog.current().settings.timezone
    this.ledger = new WitnessedLedger(
      {
        store: ports.store,
        clock,
        node: ports.name,
        timezone,
        singleProcess: ports.singleProcess,
        gather: () => scheduler.wait(TURN_MS, owner),
        commitSpacingMs: COMMIT_SPACING_MS,
        notice: ports.trace,
        ...(ports.nodes === null ? {} : { nodes: ports.nodes }),
        ...(journal === null ? {} : { journal: new EndJournal(journal) }),
      },
      (end) => ports.note(end, ports.name),
      () => scheduler.nowMs,
    )
    this.upstream = new Upstream({
      scheduler,
      random,
      node: owner,
      takesList: catalog.takesList,
      closing: ports.closing,
      longAnswers: ports.longAnswers,
      empties: ports.empties,
      conditions: ports.conditions,
      trace: ports.trace,
    })
    this.adapters = new Map([[this.upstream.adapter.name, this.upstream.adapter]])
    this.relay = new Relay({
      answers: { isFull: false },
      ledger: this.ledger,
      clock,
      catalog,
      adapters: this.adapters,
      ids: ports.ids,
      health: new EndpointHealthBook(clock),
      tokens: ports.tokens,
      keyPools: new KeyPools(clock, () => undefined),
      retries: new RetryBudget(clock, () => this.relay.running),
      drains: this.drains,
      watch: new UsageWatch({ clock, event: () => undefined }),
      slots: this.slots,
      copyStream: null,
      keyLimits: new KeyLimiter(clock, { nodes: () => 1, shared: null }),
      random: () => random.next(),
      limitResetsAtMs: (reset) => (reset === null ? null : periodEndMs(clock.now(), reset, timezone())),
    })
  }

  principal(accountId: string, keyId: string): Principal {
    return {
      accountId,
      keyId,
      keyName: 'sim',
      keyLabel: 'sk-tg-…sim',
      limitMicro: null,
      limitReset: null,
      allowedModels: null,
      defaultModel: null,
      rateLimit: null,
      limits: null,
    }
  }
}
