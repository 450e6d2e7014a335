import { reachName, type Principal } from '../../access/principal.ts'
import { type KeyLimiter, type LimitGrant, limitExceededError } from '../../access/key-limiter.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { snapshotFor } from '../../catalog/customer-prices.ts'
import { ApiError, overloaded } from '../../base/errors.ts'
import { freeHourEndMs } from '../../ledger/free-hour.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { HoldOutcome, HoldRequest } from '../../ledger/ledger-store.ts'
import { Bag, type BagItem } from '../../base/bag.ts'
import type { Clock } from '../../base/clock.ts'
import { timedId, type IdSource } from '../../base/ids.ts'
import { AMOUNT_MICRO_MAX, type Micro } from '../../base/money.ts'
import { conversationAffinity, sessionAffinity, type Affinity } from '../plan/endpoint-order.ts'
import { InsufficientBalanceError, type Plan } from '../plan/plan.ts'
import { BufferBudget, EventBuffer, type CopyStream, type StreamCopy } from './event-buffer.ts'
import { Generation } from './generation.ts'
import type { GenerationPorts, PaidCall } from './generation-input.ts'
import type { Operation } from './operation.ts'
import { Streams } from './streams.ts'

const HOLD_TRIES_MAX = 4
const TICK_MS = 1_000

/** A request whose work continues after it has ended: the facts for its hold. */
export interface JobCall {
  /** The id of the job; absent = a new one is made. */
  readonly id?: string
  readonly principal: Principal
  readonly operation: Pick<Operation, 'type' | 'delivery' | 'atOnce' | 'fitsFunds' | 'plan' | 'recounted' | 'bounded'>
  readonly requestId: string
  readonly arrivedAtMs: number
  /** The job's row, created in the commit of its hold. */
  readonly job: (id: string, plan: Plan) => NonNullable<HoldRequest['job']>
}

export interface RelayPorts extends GenerationPorts {
  readonly catalog: Catalog
  readonly ids: IdSource
  readonly clock: Clock
  /** Uniform in [0, 1), for the price-weighted choice. */
  readonly random: () => number
  /** The node's memory budget for plain answers. */
  readonly answers: { readonly isFull: boolean }
  /** null = there is no other node that could resume a stream. */
  readonly copyStream: CopyStream | null
  /** Used only for keys with limits. */
  readonly keyLimits: Pick<KeyLimiter, 'take'>
  /** The end of a spending limit's period, Unix ms; null = the limit has no period. */
  readonly limitResetsAtMs: (reset: 'daily' | 'weekly' | 'monthly' | null) => number | null
}

/** The facts for a hold. */
type Held = Pick<JobCall, 'principal' | 'operation' | 'requestId' | 'arrivedAtMs'> & {
  readonly affinity?: Affinity | null
  /** Whether others look for the hold: a repetition of its Idempotency-Key, or a request for its kept answer. */
  readonly isShared?: boolean
}

interface Admission extends BagItem {
  readonly generation: Promise<Generation>
}

interface Funds {
  availableMicro: Micro
  keyRoomMicro: Micro | null
}

/** The plan of a request that passed the limits of its key, made without regard to funds. */
interface Limited {
  readonly plan: Plan
  readonly grant: LimitGrant
}

/** The paid path: plan → hold → attempt → settle. Only this class knows the order. */
export class Relay {
  readonly streams: Streams
  readonly #ports: RelayPorts
  readonly inFlight: InFlight
  readonly #running = new Bag<Generation>()
  /** Requests whose hold is being placed. */
  readonly #admitting = new Bag<Admission>()
  readonly #budget = new BufferBudget()
  #stopTick: (() => void) | null = null
  #closing = false
  readonly #hurried = Promise.withResolvers<void>()

  constructor(ports: RelayPorts) {
    this.#ports = ports
    this.inFlight = new InFlight(ports.random)
    this.streams = new Streams(ports.clock)
  }

  get running(): number {
    return this.#running.size
  }

  /** Prices the request and holds its worst case; the returned generation waits for `start`. */
  async admit(call: PaidCall): Promise<Generation> {
    if (this.#closing) throw shuttingDown()
    const admission: Admission = { bagPlace: 0, generation: this.#admit(call) }
    this.#admitting.add(admission)
    try {
      return await admission.generation
    } finally {
      this.#admitting.delete(admission)
    }
  }

  async #admit(call: PaidCall): Promise<Generation> {
    const { accountId, keyId, limits } = call.principal
    const { catalog } = this.#ports
    // A price counts exactly from its time on: nothing is planned with the one before.
    if (catalog.isDue()) await catalog.refresh()
    // A new plain answer is refused while it still costs nothing: later it would be paid for, and wait for memory.
    if ((call.operation.delivery === 'whole' || call.operation.atOnce === true) && this.#ports.answers.isFull)
      throw overloaded(this.#ports.random(), 'answer_budget')
    this.inFlight.enter(accountId, keyId)
    let limited: Limited | null = null
    try {
      const generationId = call.claim?.generationId ?? timedId('gen', call.arrivedAtMs, this.#ports.ids)
      const affinity = affinityOf(call)
      const { principal, operation, requestId, arrivedAtMs } = call
      const isShared = call.claim !== null || call.keeper !== null
      const held = { principal, operation, requestId, arrivedAtMs, affinity, isShared }
      if (limits !== null) limited = await this.#limited(held)
      const plan = await this.#hold(held, generationId, null, limited?.plan)
      const outlives = call.keeper?.background === true
      const isResumable =
        operation.delivery === 'events' && operation.contentType === null && (call.requestIdGiven || outlives)
      const buffer = isResumable ? new EventBuffer(this.#budget, this.#copyOf(call, generationId)) : null
      const generation = new Generation(this.#ports, {
        ...call,
        generationId,
        plan,
        affinity,
        buffer,
        limitHeaders: limited?.grant.headers ?? null,
      })
      this.#track(generation)
      if (limited !== null) this.#endLimited(limited, generation)
      return generation
    } catch (thrown) {
      this.inFlight.leave(accountId, keyId)
      limited?.grant.end(null)
      throw thrown
    }
  }

  #endLimited({ grant }: Limited, generation: Generation): void {
    void generation.done.then(({ record }) => grant.end(usedOf(record)))
  }

  /** Prices a job and holds the money for it; returns its id. The job runners find the job in the store. */
  async admitJob(call: JobCall): Promise<string> {
    if (this.#closing) throw shuttingDown()
    const { accountId, keyId } = call.principal
    const { catalog } = this.#ports
    if (catalog.isDue()) await catalog.refresh()
    this.inFlight.enter(accountId, keyId)
    let limited: Limited | null = null
    try {
      const id = call.id ?? timedId('gen-vid', call.arrivedAtMs, this.#ports.ids)
      limited = await this.#limited(call)
      await this.#hold(call, id, call.job, limited?.plan)
      return id
    } finally {
      this.inFlight.leave(accountId, keyId)
      limited?.grant.end(null)
    }
  }

  /** Waits for running answers up to `limitMs`, then cuts the others, free of charge (guarantees.md F10). */
  async close(limitMs: number): Promise<void> {
    this.#closing = true
    // Requests that were admitted before this count as running too, once their holds are placed.
    await Promise.allSettled([...this.#admitting].map(({ generation }) => generation))
    const all = Promise.all([...this.#running].map((generation) => generation.done))
    let stop = (): void => undefined
    const deadline = new Promise<void>((resolve) => {
      stop = this.#ports.clock.after(limitMs, resolve)
    })
    await Promise.race([all, deadline, this.#hurried.promise])
    stop()
    for (const generation of this.#running) generation.cut(shuttingDown())
    await all
    this.#stopTick?.()
    this.streams.stop()
  }

  /** Ends the wait of `close`. */
  hurry(): void {
    this.#hurried.resolve()
  }

  #copyOf({ principal, requestId }: PaidCall, generationId: string): StreamCopy | null {
    return this.#ports.copyStream?.({ generationId, owner: reachName(principal), requestId }) ?? null
  }

  #track(generation: Generation): void {
    const { principal, operation, plan, keeper } = generation.input
    this.#running.add(generation)
    if (operation.delivery === 'events' || keeper?.background === true)
      this.streams.add(generation, plan.snapshot.settings.streamResume.retention)
    if (this.#stopTick === null) this.#scheduleTick()
    void generation.done.then(() => {
      this.#running.delete(generation)
      this.inFlight.leave(principal.accountId, principal.keyId)
    })
  }

  #scheduleTick(): void {
    this.#stopTick = this.#ports.clock.after(TICK_MS, () => {
      const nowMs = this.#ports.clock.monotonic()
      for (const generation of this.#running) generation.tick(nowMs)
      this.#stopTick = null
      if (this.#running.size > 0) this.#scheduleTick()
    })
  }

  /** Counts the request in the limits of its key, before anything is held. */
  async #limited(call: Held): Promise<Limited | null> {
    const { limits, keyId } = call.principal
    if (limits === null) return null
    const plan = this.#plan(call, endlessFunds())
    const models = plan.candidates.map(({ model }) => model.id)
    return { plan, grant: await this.#ports.keyLimits.take({ keyId, limits, models, tokens: reservedTokens(plan) }) }
  }

  /**
   * Holds the plan's worst case. The funds are not read before. An omitted max_tokens is first planned without regard
   * to funds; only if that hold is refused, it is planned again within the funds that the refusal reports.
   */
  async #hold(
    call: Held,
    generationId: string,
    jobOf: JobCall['job'] | null = null,
    first: Plan | null = null,
  ): Promise<Plan> {
    const funds = endlessFunds()
    let plan = first ?? this.#plan(call, funds)
    let isBounded = false
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#ports.ledger.hold({
        generationId,
        accountId: call.principal.accountId,
        keyId: call.principal.keyId,
        amountMicro: plan.holdMicro,
        priceVersion: plan.snapshot.priceVersion,
        subject: {
          type: call.operation.type,
          model: plan.candidates[0]?.model.id ?? '',
          requestId: call.requestId,
          streamed: call.operation.delivery === 'events',
        },
        ...(plan.mayExceed ? { mayExceed: true } : {}),
        ...(jobOf === null ? {} : { job: jobOf(generationId, plan) }),
        ...(call.isShared === undefined ? {} : { isShared: call.isShared }),
      })
      if (outcome.status === 'held') return plan
      const reason = outcome.status === 'refused' ? outcome.reason : isBounded ? 'free_hour_used_up' : null
      if (reason !== null) {
        const bounded = reason === 'free_hour_used_up' && !isBounded ? (call.operation.bounded?.(plan) ?? null) : null
        if (bounded === null) throw refusal(reason, call.principal, this.#ports.clock.now())
        plan = bounded
        isBounded = true
        continue
      }
      const smaller = tries < HOLD_TRIES_MAX ? this.#smallerPlan(call, plan, funds, outcome) : null
      if (smaller === null)
        throw this.#unaffordable(outcome, plan.holdMicro, {
          tokens: plan.maxTokens > 0,
          reason: plan.holdReason ?? null,
        })
      plan = smaller
    }
  }

  #plan(call: Held, funds: Funds): Plan {
    const { principal, operation, affinity = null } = call
    return operation.plan({
      defaultModel: principal.defaultModel,
      allowedModels: principal.allowedModels,
      snapshot: snapshotFor(this.#ports.catalog.current(), principal.markup),
      atMs: call.arrivedAtMs,
      funds,
      health: this.#ports.health,
      random: this.#ports.random,
      affinity,
      tokens: this.#ports.tokens,
      adapters: this.#ports.adapters,
    })
  }

  #smallerPlan(call: Held, plan: Plan, funds: Funds, outcome: HoldOutcome): Plan | null {
    if (outcome.status === 'insufficient_balance') funds.availableMicro = outcome.availableMicro
    if (outcome.status === 'limit_exceeded') funds.keyRoomMicro = room(outcome)
    const smaller =
      call.operation.fitsFunds && plan.holdMicro > 0n
        ? this.#affordablePlan(call, funds, outcome)
        : call.operation.recounted(plan, this.#ports.tokens)
    return smaller !== null && smaller.holdMicro < plan.holdMicro ? smaller : null
  }

  #affordablePlan(call: Held, funds: Funds, outcome: HoldOutcome): Plan {
    try {
      return this.#plan(call, funds)
    } catch (thrown) {
      // The plan names what the smallest answer needs; if a limit is the bound, the refusal names the limit.
      if (outcome.status === 'limit_exceeded' && thrown instanceof InsufficientBalanceError)
        throw this.#unaffordable(outcome, thrown.requiredMicro, { tokens: true, reason: null })
      throw thrown
    }
  }

  /** `tokens`: whether a smaller max_tokens would make the request cheaper. */
  #unaffordable(
    outcome: HoldOutcome,
    requiredMicro: Micro,
    remedy: { readonly tokens: boolean; readonly reason: string | null },
  ): ApiError {
    if (outcome.status === 'insufficient_balance')
      return new InsufficientBalanceError(requiredMicro, outcome.availableMicro, remedy)
    if (outcome.status === 'limit_exceeded')
      return limitExceededError(outcome, requiredMicro, this.#ports.limitResetsAtMs(outcome.limitReset))
    throw new Error(`A hold that is '${outcome.status}' is not unaffordable.`)
  }
}

function endlessFunds(): Funds {
  return { availableMicro: AMOUNT_MICRO_MAX, keyRoomMicro: null }
}

/**
 * The tokens of the input, plus those of the answer if the client limits it: an answer as long as the model allows is
 * not reserved.
 */
function reservedTokens({ inputTokensBound, maxTokens, maxTokensComputed }: Plan): number {
  return inputTokensBound + (maxTokensComputed ? 0 : maxTokens)
}

function usedOf({ model, inputTokens, outputTokens }: GenerationRecord): { model: string; tokens: number } {
  return { model, tokens: inputTokens + outputTokens }
}

/** The affinity by the session that the client names, else by the beginning of the conversation (clients.md D-14.7). */
function affinityOf({ principal: { accountId }, operation, session }: PaidCall): Affinity | null {
  const named = operation.sessionId ?? session
  if (named !== null) return sessionAffinity(accountId, named)
  return operation.conversation === undefined ? null : conversationAffinity(accountId, operation.conversation)
}

function room(outcome: Extract<HoldOutcome, { status: 'limit_exceeded' }>): Micro {
  const left = outcome.limitMicro - outcome.spentMicro - outcome.heldMicro
  return left > 0n ? left : 0n
}

function refusal(
  reason: Extract<HoldOutcome, { status: 'refused' }>['reason'],
  principal: Principal,
  nowMs: number,
): ApiError {
  switch (reason) {
    case 'free_hour_used_up': {
      const retryAfterSeconds = Math.ceil((freeHourEndMs(nowMs) - nowMs) / 1_000)
      return new ApiError(
        'rate_limit_exceeded',
        `Answers of this account cost more than it had in this hour: tools that the provider runs are off until the next one. So are pictures, files and sound, whose price only the provider knows. Leave them out, or retry after ${retryAfterSeconds} seconds`,
        { retryAfterSeconds },
      )
    }
    case 'account_deactivated':
      return new ApiError(reason, 'Account is deactivated')
    case 'api_locked':
      return new ApiError(reason, 'API access is blocked for this account')
    case 'key_deactivated':
      return new ApiError(reason, 'API key is deactivated')
    case 'key_expired':
      return new ApiError(reason, `API key expired: ${principal.keyLabel}`)
    case 'invalid_api_key':
      return new ApiError(reason, 'Invalid API key')
  }
}

function shuttingDown(): ApiError {
  return overloaded(0, 'shutdown')
}

export const NODE_MAX = 2_000
const ACCOUNT_MAX = 200
const KEY_MAX = 100
const SHARE_SLACK_MIN = 8

/** Caps on paid requests running at once (guarantees.md 5): a caller's own cap is a 429, the node's a 503. */
export class InFlight {
  readonly #random: () => number
  readonly #byCaller = new Map<string, number>()
  #accounts = 0
  #used = 0

  /** `random` is uniform in [0, 1). */
  constructor(random: () => number) {
    this.#random = random
  }

  get count(): number {
    return this.#used
  }

  /**
   * Whether an account uses clearly more of the node than its share while several accounts use the node; equal users
   * are never exactly equal.
   */
  isAboveFairShare(accountId: string): boolean {
    const fair = this.#used / Math.max(1, this.#accounts)
    return (this.#byCaller.get(accountId) ?? 0) > fair + Math.max(SHARE_SLACK_MIN, fair / 2)
  }

  /** The refusal of a further request of the caller, or null. */
  refusal(accountId: string, keyId: string): ApiError | null {
    if (this.#used >= NODE_MAX) return overloaded(this.#random(), 'in_flight')
    if ((this.#byCaller.get(accountId) ?? 0) < ACCOUNT_MAX && (this.#byCaller.get(keyId) ?? 0) < KEY_MAX) return null
    return new ApiError('rate_limit_exceeded', 'Too many requests running at once. Retry after 1 seconds', {
      retryAfterSeconds: 1,
    })
  }

  /** Counts a request, or returns its refusal. Each success must be paired with one `leave`. */
  enter(accountId: string, keyId: string): void {
    const refusal = this.refusal(accountId, keyId)
    if (refusal !== null) throw refusal
    this.#used += 1
    if (!this.#byCaller.has(accountId)) this.#accounts += 1
    this.#add(accountId, 1)
    this.#add(keyId, 1)
  }

  leave(accountId: string, keyId: string): void {
    this.#used -= 1
    this.#add(accountId, -1)
    this.#add(keyId, -1)
    if (!this.#byCaller.has(accountId)) this.#accounts -= 1
  }

  #add(caller: string, change: number): void {
    const count = (this.#byCaller.get(caller) ?? 0) + change
    if (count === 0) this.#byCaller.delete(caller)
    else this.#byCaller.set(caller, count)
  }
}
