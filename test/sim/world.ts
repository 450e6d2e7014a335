import { FRESH_MS } from '../../src/ledger/allowances.ts'
import { periodStarts } from '../../src/ledger/period.ts'
import type { IdSource } from '../../src/base/ids.ts'
import type { TokenCounter } from '../../src/pay/plan/token-count.ts'
import type { Database } from '../../src/store/database.ts'
import { EntryStore } from '../../src/store/ledger/entry-store.ts'
import { readRecords } from '../../src/store/sqlite/row-journal.ts'
import { KeyStore } from '../../src/store/accounts/key-store.ts'
import { WordStore } from '../../src/store/search/word-store.ts'
import type { NewEntry } from '../../src/store/ledger/entry-store.ts'
import { SimCatalog } from './catalog.ts'
import { Client, drawHabits } from './client.ts'
import { drawWish } from './conditions.ts'
import { createCustomers, type Customer } from './customers.ts'
import type { Disk } from './disk.ts'
import type { LedgerStore } from '../../src/ledger/ledger-store.ts'
import type { RequestFacts } from './facts.ts'
import { JournalSlot, SimJournal } from './journal.ts'
import { Link, type FaultRates } from './link.ts'
import { SimNode, type Intent } from './node.ts'
import { seededIds, type Random } from './random.ts'
import { REQUESTS } from './requests.ts'
import { Scheduler, type Owner } from './scheduler.ts'
import { RowDisk, SimRowJournal } from './row-journal.ts'
import { EmbeddedDatabase, sharedDatabase, SharedLedger, SIM_SEAL } from './sim-stores.ts'
import { Statements } from './statements.ts'

const QUIET: FaultRates = { before: 0, after: 0, stall: 0, slowRead: 0 }
/** Share of the writes into the journal of the embedded store that its process does not outlive by more than some ms. */
const DEATH_AT_WRITE = 0.04

export interface Payment {
  readonly entry: NewEntry
  /** The store has answered. */
  known: boolean
  /** It is in the books. */
  counted: boolean
}

/** The whole universe: nodes, clients, providers, money, and the faults between them. */
export class World {
  readonly random: Random
  readonly scheduler: Scheduler
  readonly owner: Owner = { name: 'world', dead: false }
  readonly disk: Disk
  readonly embedded: boolean
  /** It is about leases that run out: a node loses its store for longer than a lease. */
  readonly aboutLeases: boolean
  /** It is about keys near their limits, and requests that share a commit. */
  readonly aboutLimits: boolean
  /** Its nodes have a journal for outages of the store. */
  readonly journaled: boolean
  /** Its nodes decide holds against allowances. */
  readonly allowances: boolean
  /** Its accounts have limits. */
  readonly accountLimits: boolean
  /** For prices under conditions, and the tiers that clients wish and providers serve; null = there are none. */
  readonly conditions: Random | null
  /** Nodes that stood still for a while. */
  readonly stopped = new Set<string>()
  /** Some of its accounts have used up the free amount of an hour. */
  readonly guards: boolean
  readonly guarded = new Set<string>()
  readonly catalog: SimCatalog
  readonly tokens: TokenCounter
  readonly beginMs: number
  readonly nodes: SimNode[] = []
  readonly customers: Customer[] = []
  readonly requests: RequestFacts[] = []
  readonly intents: Intent[] = []
  readonly payments: Payment[] = []
  readonly statements = new Statements(this)
  readonly violations: string[] = []
  readonly schedule: string[] = []
  /** Nodes that died or were stopped, by name → virtual ms. */
  readonly deaths = new Map<string, number>()
  /** Nodes that were told to stop, by name → virtual ms. */
  readonly stopsMs = new Map<string, number>()
  /** Nodes whose journal was on a machine that is lost for good. */
  readonly lost = new Set<string>()
  /** Keys that were disabled, by the virtual ms of that. */
  readonly closedKeys = new Map<string, number>()
  /** The wall clock of the embedded store's machine is ahead of the true time by this, ms. */
  skewMs = 0
  rates: FaultRates = QUIET
  readonly #ids: IdSource
  readonly #clients: { readonly client: Client; readonly facts: RequestFacts }[] = []
  readonly #traced: boolean
  readonly #slots: JournalSlot[] = []
  readonly #rowDisk = new RowDisk()
  readonly #checkpointCharges: number | undefined
  #nodeCount = 0

  constructor(parts: {
    readonly random: Random
    readonly guards: boolean
    readonly allowances: boolean
    readonly accountLimits: boolean
    readonly conditions: Random | null
    /** Of the embedded store; undefined = the product's own number. */
    readonly checkpointCharges: number | undefined
    readonly disk: Disk
    readonly tokens: TokenCounter
    readonly traced: boolean
  }) {
    this.random = parts.random
    this.guards = parts.guards
    this.allowances = parts.allowances
    this.accountLimits = parts.accountLimits
    this.conditions = parts.conditions
    this.#checkpointCharges = parts.checkpointCharges
    this.disk = parts.disk
    this.tokens = parts.tokens
    this.#traced = parts.traced
    this.scheduler = new Scheduler(parts.random.fork())
    this.#ids = seededIds(parts.random.fork())
    this.embedded = parts.random.chance(0.4) && !parts.allowances
    this.aboutLeases = !this.embedded && parts.random.chance(0.3)
    this.aboutLimits = !this.aboutLeases && parts.random.chance(0.25)
    this.journaled = !this.embedded && (parts.allowances || parts.random.chance(0.5))
    this.catalog = new SimCatalog(parts.random.fork(), this.conditions)
    // Shortly before a midnight, the end of a Sunday or of a month, in some zone, or at any time.
    this.beginMs = parts.random.chance(0.4)
      ? this.catalog.monthEndMs - parts.random.below(25_000)
      : parts.random.pick([
          Date.UTC(2026, 10, 29, 20, 59, 40),
          Date.UTC(2026, 10, 30, 23, 59, 30),
          Date.UTC(2026, 2, 8, 4, 59, 0),
          Date.UTC(2026, 5, 3, 11),
        ])
  }

  get nowMs(): number {
    return this.scheduler.nowMs
  }

  trace = (text: string): void => {
    if (this.#traced) this.schedule.push(`${this.nowMs.toFixed(1).padStart(9)} ${text}`)
  }

  violation = (text: string): void => {
    if (!this.violations.includes(text)) this.violations.push(text)
    this.trace(`VIOLATION ${text}`)
  }

  moveClock(aheadMs: number): void {
    this.skewMs += aheadMs
    for (const node of this.nodes) node.skewMs = this.skewMs
    this.trace(`the clock jumps ahead to +${this.skewMs} ms`)
  }

  /** A node that answers. */
  liveNode(): SimNode | null {
    const live = this.nodes.filter((node) => !node.owner.dead && !this.isStanding(node))
    return live.length === 0 ? null : this.random.pick(live)
  }

  async begin(nodes: number): Promise<void> {
    await createCustomers(this)
    for (let index = 0; index < nodes; index += 1) this.start()
  }

  /** Starts a process; on the embedded store there is one at a time. */
  start(): void {
    if (this.embedded && this.nodes.some(({ owner }) => !owner.dead)) return
    this.#nodeCount += 1
    const name = `n${this.#nodeCount}`
    const owner: Owner = { name, dead: false }
    const random = this.random.fork()
    const link = new Link({
      scheduler: this.scheduler,
      random: this.random.fork(),
      node: owner,
      world: this.owner,
      rates: () => this.rates,
    })
    const failed = (thrown: unknown): void => {
      this.trace(`${name} does not start: ${String(thrown)}`)
      owner.dead = true
      this.deaths.set(name, this.nowMs)
      this.scheduler.after(1_000, this.owner, () => this.start())
    }
    try {
      const journal = this.journaled
        ? new SimJournal(this.#takeSlots(), {
            scheduler: this.scheduler,
            random: this.random.fork(),
            node: owner,
            world: this.owner,
          })
        : null
      const embedded = this.embedded ? new EmbeddedDatabase(this.disk, link, this.#rowJournal(name, link)) : null
      const node = new SimNode({
        name,
        owner,
        link,
        random,
        scheduler: this.scheduler,
        ids: this.#ids,
        store: this.#witnessed(
          name,
          embedded?.ledger(this.#checkpointCharges) ??
            new SharedLedger(this.disk, link, { nowMs: () => this.beginMs + this.nowMs, violation: this.violation }),
        ),
        database: embedded ?? sharedDatabase(this.disk),
        singleProcess: this.embedded,
        nodes: this.allowances ? () => this.nodes.filter((one) => !one.owner.dead).length : null,
        journal,
        catalog: this.catalog,
        tokens: this.tokens,
        beginMs: this.beginMs,
        longAnswers: this.aboutLeases,
        empties: this.journaled && this.guards,
        conditions: this.conditions,
        closing: () => this.nodes.some((node) => node.name === name && node.closed),
        note: (end, node) => this.#note(end, node),
        trace: this.trace,
      })
      node.skewMs = this.skewMs
      this.nodes.push(node)
      this.trace(`${name} starts`)
      node.ledger.start().then(() => {
        node.closed = false
        if (embedded !== null) void this.#checkRecovered(embedded, name)
      }, failed)
    } catch (thrown) {
      failed(thrown)
    }
  }

  /** A node must not give up a hold whose request runs on it, whatever the clock says of its lease. */
  #witnessed(name: string, store: LedgerStore): LedgerStore {
    const commit = store.commit.bind(store)
    store.commit = (operations, decide, durable) => {
      for (const { op, generationId } of operations)
        if (op === 'expire' && this.#runsOn(name, generationId))
          this.violation(`I14 ${name} gave up hold ${generationId}, and its request ran there`)
      return commit(operations, decide, durable)
    }
    return store
  }

  #runsOn(name: string, generationId: string): boolean {
    const facts = this.requests.find((one) => one.generationId === generationId)
    return facts?.node === name && !this.intents.some((intent) => intent.generationId === generationId)
  }

  /** Now and then the process dies, or its machine loses power, just after it has written. */
  #rowJournal(name: string, link: Link): SimRowJournal {
    const random = this.random.fork()
    return new SimRowJournal(this.#rowDisk, link, random, () => {
      if (this.rates.before === 0 || !random.chance(DEATH_AT_WRITE)) return
      this.scheduler.after(random.between(0, 5), this.owner, () => {
        const node = this.nodes.find((one) => one.name === name)
        if (node !== undefined) this.kill(node, random.between(50, 4_000))
      })
    })
  }

  async #checkRecovered(embedded: EmbeddedDatabase, name: string): Promise<void> {
    const query = "SELECT id FROM hold WHERE state = 'open' AND node <> ?"
    // A disk that is full just now shows nothing.
    const left = await embedded.all(query, [name]).catch(() => [])
    if (left.length > 0) this.violation(`I10 ${name} started and left ${left.length} holds of a dead process open`)
  }

  /** kill -9: the memory is gone. */
  kill(node: SimNode, restartMs: number | null): void {
    if (node.owner.dead) return
    this.trace(`${node.name} is killed${restartMs === null ? ' for good' : ''}`)
    node.owner.dead = true
    if (node.database instanceof EmbeddedDatabase) node.database.die()
    this.deaths.set(node.name, this.nowMs)
    if (this.embedded && this.random.chance(0.5)) this.#rowDisk.losePower(this.random)
    for (const { client, facts } of this.#clients) if (facts.node === node.name) client.cutOff()
    if (restartMs === null) this.#lose(node)
    else this.scheduler.after(restartMs, this.owner, () => this.start())
  }

  /** SIGSTOP, and SIGCONT after `lastsMs`: nothing happens in it, and the time goes on. */
  stand(node: SimNode, lastsMs: number): void {
    if (node.owner.dead || node.closed) return
    // Where the grace of a client ends meanwhile, the order of two late timers decides who pays: both are right.
    const isGraceOver = ({ facts }: { readonly facts: RequestFacts }): boolean =>
      facts.node === node.name &&
      facts.doneMs === null &&
      facts.graceUntilMs > this.nowMs &&
      facts.graceUntilMs <= this.nowMs + lastsMs
    if (this.#clients.some(isGraceOver)) return
    this.trace(`${node.name} stands still for ${Math.round(lastsMs)} ms`)
    this.stopped.add(node.name)
    node.owner.stoppedUntilMs = this.nowMs + lastsMs
    node.link.note()
    this.scheduler.after(lastsMs, this.owner, () => node.link.note())
  }

  isStanding(node: SimNode): boolean {
    return (node.owner.stoppedUntilMs ?? 0) > this.nowMs
  }

  /** SIGTERM: running answers may end within `limitMs`, then a new process takes over. */
  stop(node: SimNode, limitMs: number): void {
    if (node.owner.dead || node.closed) return
    this.trace(`${node.name} is told to stop`)
    node.closed = true
    this.stopsMs.set(node.name, this.nowMs)
    const gone = (): void => {
      if (node.owner.dead) return
      this.trace(`${node.name} has stopped`)
      if (node.relay.running > 0) this.violation(`${node.name} stopped with ${node.relay.running} answers running`)
      this.kill(node, 50)
    }
    void node.relay
      .close(limitMs)
      .then(() => node.ledger.stop())
      .then(() => node.database.close())
      .then(gone, gone)
  }

  /** Slots of dead processes, or a new one. */
  #takeSlots(): readonly JournalSlot[] {
    const alive = (name: string): boolean => this.nodes.some((node) => node.name === name && !node.owner.dead)
    const left = this.#slots.filter(({ lost, holder }) => !lost && !alive(holder))
    if (left.length > 0) return left
    const made = new JournalSlot()
    this.#slots.push(made)
    return [made]
  }

  /** Journals with records of dead processes that another process will take over. */
  orphans(): readonly string[] {
    return this.#slots
      .filter(
        ({ lost, holder, bytes }) =>
          !lost &&
          this.nodes.some(({ name, owner }) => name === holder && owner.dead) &&
          readRecords(bytes).payloads.length > 0,
      )
      .map(({ holder }) => `the journal of ${holder}`)
  }

  #lose({ name }: SimNode): void {
    for (const slot of this.#slots) {
      if (slot.holder !== name) continue
      slot.lost = true
      for (const writer of slot.writers) this.lost.add(writer)
    }
  }

  /** The operator lets the database decide each hold of the account. */
  decideExactly({ accountId }: Customer): void {
    this.disk.run('UPDATE account SET exact_holds = 1 WHERE id = ?', [accountId])
    this.trace(`the database decides for ${accountId}`)
  }

  ask(whose: Customer | null = null): void {
    const open = this.nodes.filter((node) => !node.owner.dead && !node.closed && !this.isStanding(node))
    if (open.length === 0) return
    const node = this.random.pick(open)
    const { accountId, keyId } = whose ?? this.random.pick(this.customers)
    const plain = this.random.pick(REQUESTS)
    const tier = this.conditions === null ? null : drawWish(this.conditions)
    const request = tier === null ? plain : (plain.inTier?.(tier) ?? plain)
    const facts: RequestFacts = {
      number: this.requests.length,
      askedMs: this.nowMs,
      arrivedAtMs: Math.floor(this.beginMs + this.nowMs + node.skewMs),
      node: node.name,
      accountId,
      keyId,
      request,
      generationId: null,
      plan: null,
      attempts: [],
      present: true,
      left: false,
      goneMs: null,
      graceUntilMs: 0,
      cancelled: false,
      doneMs: null,
      sight: { kind: 'nothing' },
      excused: false,
      received: '',
    }
    this.requests.push(facts)
    this.trace(
      `r${facts.number}: ${accountId} ${keyId} asks ${node.name} for ${request.type}${request.stream ? ' in a stream' : ''}, ${request.inputs} × ${request.answers}, max_tokens ${request.maxTokens ?? '-'}`,
    )
    const admitted = (admittedFacts: RequestFacts): void => {
      const closedMs = this.closedKeys.get(admittedFacts.keyId)
      const boundMs = this.allowances ? FRESH_MS : 0
      if (closedMs !== undefined && closedMs + boundMs < admittedFacts.askedMs)
        this.violation(`r${admittedFacts.number}: admitted with a key that was closed at ${closedMs}`)
      this.trace(
        `r${admittedFacts.number}: admitted as ${admittedFacts.generationId}, holds ${admittedFacts.plan?.holdMicro}`,
      )
    }
    const { scheduler, owner } = this
    const client = new Client(
      {
        scheduler,
        random: this.random.fork(),
        world: owner,
        trace: this.trace,
        admitted,
        violation: this.violation,
      },
      node,
      facts,
      drawHabits(this.random),
    )
    this.#clients.push({ client, facts })
    void client.ask()
  }

  pay(entry: Pick<NewEntry, 'accountId' | 'kind' | 'amountMicro'>): Payment {
    const payment: Payment = {
      entry: { ...entry, reason: 'sim', reference: `pay_${this.payments.length}`, actor: 'sim', atMs: this.beginMs },
      known: false,
      counted: false,
    }
    this.payments.push(payment)
    return payment
  }

  /** Sends a payment, or repeats it: its reference makes the repeat harmless. */
  async send(payment: Payment): Promise<void> {
    const node = this.liveNode()
    if (node === null || (!this.embedded && node.link.out)) return
    const fault = this.embedded ? null : node.link.fault()
    if (fault === 'before') return
    try {
      const outcome = await new EntryStore(node.database, SIM_SEAL).post({
        ...payment.entry,
        atMs: Math.floor(this.beginMs + this.nowMs + node.skewMs),
      })
      this.trace(
        `${payment.entry.kind} ${payment.entry.reference} of ${payment.entry.amountMicro}: ${outcome.status}${fault === 'after' ? ', answer lost' : ''}`,
      )
      if (outcome.status === 'conflict' || outcome.status === 'no_account')
        this.violation(`I9 payment ${payment.entry.reference} ended as ${outcome.status}`)
      if (outcome.status === 'created' && payment.counted)
        this.violation(`I9 payment ${payment.entry.reference} was counted twice`)
      if (outcome.status === 'created') payment.counted = true
      if (outcome.status === 'existing' && !payment.counted)
        this.violation(`I9 payment ${payment.entry.reference} stands and was never made`)
      if (fault === null) payment.known = true
    } catch (thrown) {
      this.trace(`payment ${payment.entry.reference} failed: ${String(thrown)}`)
      if (node.link.faultsMs.at(-1) !== this.nowMs)
        this.violation(`payment ${payment.entry.reference} failed on a healthy store: ${String(thrown)}`)
    }
  }

  /** Changes a key as its owner would; if the store fails, the key stays unchanged. */
  async changeKey(
    change: (keys: KeyStore, node: SimNode, keyId: string) => Promise<unknown>,
    what: string,
    open: boolean | null = null,
    whose: Customer | null = null,
  ): Promise<void> {
    const node = this.liveNode()
    if (node === null || node.link.out) return
    const { keyId } = whose ?? this.random.pick(this.customers)
    this.trace(`${keyId}: ${what}`)
    try {
      await change(new KeyStore(node.database, SIM_SEAL, new WordStore(node.database)), node, keyId)
    } catch {
      return
    }
    if (open === true) this.closedKeys.delete(keyId)
    if (open === false) this.closedKeys.set(keyId, this.closedKeys.get(keyId) ?? this.nowMs)
  }

  database(): Database {
    return this.embedded
      ? (this.nodes.find(({ owner }) => !owner.dead)?.database ?? sharedDatabase(this.disk))
      : sharedDatabase(this.disk)
  }

  periodsNow(node: SimNode): ReturnType<typeof periodStarts> {
    return periodStarts(Math.floor(this.beginMs + this.nowMs + node.skewMs), this.catalog.current().settings.timezone)
  }

  #note(end: Intent['end'], node: string): Intent {
    const intent: Intent = {
      generationId: end.request.generationId,
      node,
      end,
      askedMs: this.nowMs,
      answeredMs: null,
      outcome: null,
    }
    this.intents.push(intent)
    return intent
  }
}
