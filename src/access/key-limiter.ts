import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import { limitsOfModel, type KeyLimits } from '../store/accounts/key-store.ts'
import { MINUTE_SECONDS, MinuteLog, type MinuteState, type MinuteWish } from './sliding-window.ts'
import type { SharedKeyLimits } from './shared-access.ts'
import type { HoldOutcome } from '../ledger/ledger-store.ts'
import { kopeckText, rubles, type Micro } from '../base/money.ts'
import { isoSeconds } from '../base/time.ts'

const SWEEP_START = 1_024
/** A third of the lease that Valkey gives a running request. */
const RENEW_MS = 20_000
/** A guess: a running request may end at any moment. */
const RUNNING_RETRY_SECONDS = 1
/** The name of the window for the whole key; no model has an empty id. */
const WHOLE_KEY = ''

type Headers = Readonly<Record<string, string>>

/** A paid request that passed its key's limits. */
export interface LimitGrant {
  readonly headers: Headers
  /** Frees the request's place among the running ones, and replaces the reserved tokens by those used. */
  end(used: { readonly model: string; readonly tokens: number } | null): void
}

export interface LimitedRequest {
  readonly keyId: string
  readonly limits: KeyLimits
  /** Every model that may answer the request, the first choice first. */
  readonly models: readonly string[]
  /** The most tokens that the request may use, as far as known. */
  readonly tokens: number
}

interface Window extends MinuteWish {
  /** A model, or empty for the whole key. */
  readonly name: string
}

interface Taken {
  readonly windows: readonly Window[]
  readonly second: number
  readonly member: string
  /** null = other nodes have not counted it. */
  readonly sharedSecond: number | null
}

/** The number of live processes that take requests, this one included, and their shared limits; null = not shared. */
export interface LimitShare {
  nodes(): number
  readonly shared: SharedKeyLimits | null
}

/**
 * The limits of keys: requests and tokens in any minute, for the whole key and for its models, and the number of
 * running requests. With Valkey they hold over all nodes; while Valkey cannot be reached, each node allows its share,
 * rounded up.
 */
export class KeyLimiter {
  readonly #clock: Clock
  readonly #share: LimitShare
  /** By key and window. */
  readonly #logs = new Map<string, MinuteLog>()
  readonly #running = new Map<string, Set<string>>()
  #requests = 0
  #sweepAt = SWEEP_START
  #stopRenewal: (() => void) | null = null

  constructor(clock: Clock, share: LimitShare) {
    this.#clock = clock
    this.#share = share
  }

  /** Counts the request in every window of its key, or throws the refusal of one window and counts it in none. */
  async take(request: LimitedRequest): Promise<LimitGrant> {
    const { shared } = this.#share
    const windows = windowsOf(request)
    // The requests that this node alone accepted stay below the limit too.
    if (shared?.available !== true) return this.#grant(request, this.#takeHere(request, windows, this.#share.nodes()))
    const here = this.#takeHere(request, windows, 1)
    const { keyId, limits } = request
    const answer = await shared.take({
      keyId,
      windows,
      runningMost: limits.runningRequests,
      member: here.taken.member,
      seconds: MINUTE_SECONDS,
    })
    if (answer === null) {
      this.#undo(request, here.taken)
      return this.#grant(request, this.#takeHere(request, windows, this.#share.nodes()))
    }
    if (answer.allowed)
      return this.#grant(request, {
        taken: { ...here.taken, sharedSecond: answer.second },
        states: answer.windows,
      })
    this.#undo(request, here.taken)
    throw (
      refusalOf(request, windows, answer.windows, answer.running, this.#clock.now()) ??
      tooManyRunning(limits.runningRequests ?? 0)
    )
  }

  /** Counts the request by what this node knows, within its share: the limit divided by `shares`. */
  #takeHere(
    request: LimitedRequest,
    windows: readonly Window[],
    shares: number,
  ): { readonly taken: Taken; readonly states: readonly MinuteState[] } {
    const { keyId, limits } = request
    const second = Math.floor(this.#clock.monotonic() / 1_000)
    const states = windows.map((window) => this.#logOf(keyId, window.name).look(shareOf(window, shares), second))
    const running = this.#running.get(keyId)?.size ?? 0
    const runningMost = limits.runningRequests === null ? null : Math.ceil(limits.runningRequests / shares)
    const refusal = refusalOf(
      { ...request, limits: { ...limits, runningRequests: runningMost } },
      windows,
      states,
      running,
      this.#clock.now(),
    )
    if (refusal !== null) throw refusal
    for (const { name, tokens } of windows) this.#logOf(keyId, name).add(second, 1, tokens)
    this.#requests += 1
    const member = String(this.#requests)
    if (limits.runningRequests !== null) this.#enter(keyId, member)
    return { taken: { windows, second, member, sharedSecond: null }, states }
  }

  #grant(
    request: LimitedRequest,
    { taken, states }: { readonly taken: Taken; readonly states: readonly MinuteState[] },
  ): LimitGrant {
    let ended = false
    return {
      headers: headersOf(taken.windows, states, true),
      end: (used) => {
        if (ended) return
        ended = true
        this.#leave(request, taken)
        for (const window of taken.windows) this.#correct(request.keyId, taken, window, used)
      },
    }
  }

  #correct(
    keyId: string,
    { second, sharedSecond }: Taken,
    { name, tokens }: Window,
    used: { readonly model: string; readonly tokens: number } | null,
  ): void {
    const answered = used !== null && (name === WHOLE_KEY || name === used.model)
    const change = (answered ? used.tokens : 0) - tokens
    if (change === 0) return
    this.#logs.get(logName(keyId, name))?.correct(second, change)
    if (sharedSecond !== null) void this.#share.shared?.correct(keyId, name, sharedSecond, change)
  }

  /** Removes every trace of the request. */
  #undo(request: LimitedRequest, taken: Taken): void {
    this.#leave(request, taken)
    for (const { name, tokens } of taken.windows)
      this.#logs.get(logName(request.keyId, name))?.takeBack(taken.second, tokens)
  }

  #enter(keyId: string, member: string): void {
    const running = this.#running.get(keyId)
    if (running === undefined) this.#running.set(keyId, new Set([member]))
    else running.add(member)
    if (this.#stopRenewal === null && this.#share.shared !== null) this.#renewLater()
  }

  #leave({ keyId, limits }: LimitedRequest, { member }: Taken): void {
    if (limits.runningRequests === null) return
    const running = this.#running.get(keyId)
    running?.delete(member)
    if (running?.size === 0) this.#running.delete(keyId)
    void this.#share.shared?.leave(keyId, member)
    if (this.#running.size > 0) return
    this.#stopRenewal?.()
    this.#stopRenewal = null
  }

  #renewLater(): void {
    this.#stopRenewal = this.#clock.after(RENEW_MS, () => {
      for (const [keyId, members] of this.#running) void this.#share.shared?.renew(keyId, [...members])
      this.#renewLater()
    })
  }

  #logOf(keyId: string, window: string): MinuteLog {
    const name = logName(keyId, window)
    const known = this.#logs.get(name)
    if (known !== undefined) return known
    if (this.#logs.size >= this.#sweepAt) this.#sweep()
    const made = new MinuteLog()
    this.#logs.set(name, made)
    return made
  }

  /** Removes empty logs. The cost is spread over the inserts. */
  #sweep(): void {
    const second = Math.floor(this.#clock.monotonic() / 1_000)
    for (const [name, log] of this.#logs) if (log.isEmpty(second)) this.#logs.delete(name)
    this.#sweepAt = Math.max(SWEEP_START, this.#logs.size * 2)
  }
}

/** The key's own window, and one for each model with limits. */
function windowsOf({ limits, models, tokens }: LimitedRequest): readonly Window[] {
  const limited = [...new Set(models)].map((name) => ({ name, limits: limitsOfModel(limits, name) }))
  return [{ name: WHOLE_KEY, limits }, ...limited].flatMap(({ name, limits: own }): readonly Window[] => {
    const { requestsPerMinute: requestsMost = null, tokensPerMinute: tokensMost = null } = own ?? {}
    if (requestsMost === null && tokensMost === null) return []
    // A request that may need more than the limit waits for an empty minute instead of for ever.
    return [{ name, requestsMost, tokensMost, tokens: Math.min(Math.max(1, tokens), tokensMost ?? tokens) }]
  })
}

function shareOf({ requestsMost, tokensMost, tokens }: Window, shares: number): MinuteWish {
  const part = (most: number | null): number | null => (most === null ? null : Math.ceil(most / shares))
  const tokensPart = part(tokensMost)
  return { requestsMost: part(requestsMost), tokensMost: tokensPart, tokens: Math.min(tokens, tokensPart ?? tokens) }
}

/** The first limit without room, or null. */
function refusalOf(
  { limits: { runningRequests } }: LimitedRequest,
  windows: readonly Window[],
  states: readonly MinuteState[],
  running: number,
  nowMs: number,
): ApiError | null {
  for (const [index, window] of windows.entries()) {
    const state = states[index]
    if (state === undefined) continue
    const { requestsWait, tokensWait } = state
    const wait = Math.max(requestsWait, tokensWait)
    if (wait === 0) continue
    const most = requestsWait > 0 ? `${window.requestsMost} requests` : `${window.tokensMost} tokens`
    const who = window.name === WHOLE_KEY ? 'This key' : `This key with model '${window.name}'`
    return new ApiError('rate_limit_exceeded', `${who} may use ${most} per minute. Retry after ${wait} seconds`, {
      retryAfterSeconds: wait,
      refusedBy: requestsWait > 0 ? 'key_requests' : 'key_tokens',
      headers: {
        ...headersOf(windows, states, false),
        ...(requestsWait > 0 ? ownHeaders(window.requestsMost ?? 0, nowMs + wait * 1_000) : {}),
      },
    })
  }
  return runningRequests !== null && running >= runningRequests ? tooManyRunning(runningRequests) : null
}

/** The account's three headers (wire.md D-7.1), with the figures of the window that refused. */
function ownHeaders(most: number, resetMs: number): Headers {
  return {
    'x-ratelimit-limit': String(most),
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.ceil(resetMs / 1_000)),
  }
}

function tooManyRunning(most: number): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `This key may run ${most} requests at once. Retry after ${RUNNING_RETRY_SECONDS} seconds, or when one has ended`,
    { retryAfterSeconds: RUNNING_RETRY_SECONDS, refusedBy: 'key_running' },
  )
}

/** OpenAI's headers, for the window with the least room; `isTaken`: the request is counted, but not in the states. */
function headersOf(windows: readonly Window[], states: readonly MinuteState[], isTaken: boolean): Headers {
  const headers: Record<string, string> = {}
  for (const unit of ['requests', 'tokens'] as const) {
    const least = windows
      .flatMap((window, index) => {
        const most = unit === 'requests' ? window.requestsMost : window.tokensMost
        const state = states[index]
        if (most === null || state === undefined) return []
        const own = unit === 'requests' ? 1 : window.tokens
        return [{ most, left: Math.max(0, most - state[unit] - (isTaken ? own : 0)), reset: state.resetSeconds }]
      })
      .toSorted((one, other) => one.left - other.left)[0]
    if (least === undefined) continue
    headers[`x-ratelimit-limit-${unit}`] = String(least.most)
    headers[`x-ratelimit-remaining-${unit}`] = String(least.left)
    // If the window was empty, this request is its oldest.
    headers[`x-ratelimit-reset-${unit}`] = `${least.reset === 0 ? MINUTE_SECONDS : least.reset}s`
  }
  return headers
}

function logName(keyId: string, window: string): string {
  return `${keyId} ${window}`
}

type LimitExceeded = Extract<HoldOutcome, { readonly status: 'limit_exceeded' }>

/**
 * 429 `limit_exceeded` (wire.md D-9.3), for a limit of the key or of its account. `resetsAtMs` is the end of the
 * period, null for a fixed limit.
 */
export function limitExceededError(outcome: LimitExceeded, requiredMicro: Micro, resetsAtMs: number | null): ApiError {
  const { limitMicro, limitReset, spentMicro, heldMicro, ofAccount = false } = outcome
  const resetsAt = isoSeconds(resetsAtMs)
  const limit = kopeckText(limitMicro, 'down')
  const spent = kopeckText(spentMicro, 'up')
  // Without this part, a refusal caused by running requests would look like an arithmetic error.
  const held = heldMicro > 0n ? ` (${kopeckText(heldMicro, 'up')} RUB more is reserved by running requests)` : ''
  const reset = resetsAt === null ? '' : ` The limit resets at ${resetsAt}.`
  const message =
    `${ofAccount ? 'Account' : 'Key'} limit exceeded (${limitReset ?? 'total'} limit): spent ${spent} RUB of ${limit} RUB${held}, ` +
    `this request needs up to ${kopeckText(requiredMicro, 'up')} RUB.${reset}`
  const metadata = {
    limit: rubles(limitMicro),
    spent: rubles(spentMicro),
    ...(heldMicro > 0n ? { reserved: rubles(heldMicro) } : {}),
    required: rubles(requiredMicro),
    limit_reset: limitReset,
    resets_at: resetsAt,
    ...(ofAccount ? { limit_of: 'account' } : {}),
  }
  return new ApiError('limit_exceeded', message, { metadata, noRetry: true })
}
