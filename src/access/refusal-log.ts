import type { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import { thrownMessage } from '../base/text.ts'
import { HOUR_MS, MINUTE_MS } from '../base/time.ts'
import type { Call, Route } from '../http/edge.ts'
import { keptText } from '../ledger/generation-record.ts'
import type { NewNotice } from '../ledger/ledger-store.ts'
import { refusedRequests } from '../ledger/notice.ts'
import { KEPT_IDS, type NewRefusal, type RefusalRecord, type RefusalStore } from '../store/refusals/refusal-store.ts'
import type { Principal } from './principal.ts'

type Refusal = Omit<RefusalRecord, 'id'>
type CalledRoute = Pick<Route<Principal>, 'method' | 'plane' | 'path'>

export interface RefusalPorts {
  readonly store: Pick<RefusalStore, 'add' | 'trim' | 'hasAny'>
  /** Tells the customer. */
  readonly tell: (notice: NewNotice) => Promise<unknown>
  readonly clock: Clock
  /** One sentence for the operator. */
  readonly notice: (message: string) => void
}

/** How long refusals wait in memory, so that a flood of them is one write. */
const FLUSH_MS = 1_000
/** Of an account in a minute: whatever is beyond counts without its model, then without its key. */
const NAMED_MAX = 50
const KEYED_MAX = 100
/** An account's rows are counted, and trimmed after so many. */
const TRIM_EVERY = 500
/** A key that was not refused for a cause so long is told of when it is. */
const QUIET_MS = HOUR_MS
/** An account hears of no more in an hour. */
const TOLD_MAX = 10
/** Keys and causes whose last refusal is remembered; the store has the others. */
const HEARD_MAX = 10_000
const TEXT_MAX = 500
/** A quotation mark that does not stand in a word. */
const QUOTATION = /(?:^|[ (])['"`“«]/
/** Figures that are words of ours. */
const WORDS: ReadonlySet<string> = new Set(['currency', 'limit_reset', 'limit_of', 'resets_at'])
/** What a model may be called; other texts may be anything. */
const MODEL = /^[\w.:@/+-]{1,200}$/
/** How the keys of this service and of providers begin: who confuses the two fields has it stored nowhere. */
const SECRET = /^(?:sk|rk|pk|gsk|xai|r8|hf)[-_]|^AIza/i

/**
 * Why requests were refused, for their customer and the operator: counted by key, model, cause and minute, with the
 * newest of each in full. It is told by the edge, after the answer is decided: a request that is let through costs
 * nothing here. What is not written within a second is lost with the process; no money depends on it.
 */
export class RefusalLog {
  readonly #ports: RefusalPorts
  #waiting = new Map<string, NewRefusal>()
  /** Of the minute that is counted: what each account has, so that a flood of names is bounded. */
  #minuteMs = 0
  #ofMinute = new Map<string, Set<string>>()
  /** Rows of each account since it was trimmed. */
  readonly #added = new Map<string, number>()
  /** When a key was last refused for a cause, the oldest first. */
  readonly #heard = new Map<string, number>()
  /** Of the hour that is counted: how often each account was told. */
  #hour = 0
  #told = new Map<string, number>()
  #writing: Promise<void> | null = null
  #stopFlush: (() => void) | null = null
  #isFailing = false

  constructor(ports: RefusalPorts) {
    this.#ports = ports
  }

  async stop(): Promise<void> {
    this.#stopFlush?.()
    await this.#writing
    await this.#write()
  }

  /**
   * Only calls of models count, not looks at what they made. An answer that failed at a provider has its row in the
   * usage log, and counts as nothing here.
   */
  note(call: Call<Principal>, { method, plane, path }: CalledRoute, principal: Principal, error: ApiError): void {
    if (method !== 'POST' || (plane !== 'key' && plane !== 'playground') || path.includes('/:id')) return
    if (error.details.headers?.['x-generation-id'] !== undefined) return
    const atMs = this.#ports.clock.now()
    const minuteMs = atMs - (atMs % MINUTE_MS)
    const { accountId } = principal
    const named = { keyId: principal.keyId, model: modelOf(call) }
    const group = this.#groupOf(accountId, minuteMs, error.errorType, named)
    const key = JSON.stringify([accountId, minuteMs, error.errorType, group.keyId, group.model])
    const before = this.#waiting.get(key)
    const { earlierIds = [] } = before ?? {}
    this.#waiting.set(key, {
      accountId,
      ...group,
      keyName: group.keyId === '' ? '' : principal.keyName,
      cause: error.errorType,
      minuteMs,
      times: (before?.times ?? 0) + 1,
      atMs,
      requestId: call.requestId,
      earlierIds:
        before === undefined || earlierIds.length === KEPT_IDS ? earlierIds : [...earlierIds, before.requestId],
      status: error.status,
      path,
      message: withoutGiven(error.message),
      figures: figuresOf(error),
    })
    this.#stopFlush ??= this.#ports.clock.after(FLUSH_MS, () => {
      this.#stopFlush = null
      this.#writing = this.#write()
    })
  }

  #groupOf(
    accountId: string,
    minuteMs: number,
    cause: string,
    { keyId, model }: Pick<Refusal, 'keyId' | 'model'>,
  ): Pick<Refusal, 'keyId' | 'model'> {
    if (minuteMs !== this.#minuteMs) {
      this.#minuteMs = minuteMs
      this.#ofMinute = new Map()
    }
    const groups = this.#ofMinute.get(accountId) ?? new Set()
    this.#ofMinute.set(accountId, groups)
    const tries = [
      { keyId, model, most: NAMED_MAX },
      { keyId, model: '', most: KEYED_MAX },
    ]
    for (const { most, ...group } of tries) {
      const name = JSON.stringify([cause, group.keyId, group.model])
      if (groups.size >= most && !groups.has(name)) continue
      groups.add(name)
      return group
    }
    return { keyId: '', model: '' }
  }

  async #write(): Promise<void> {
    const refusals = [...this.#waiting.values()]
    if (refusals.length === 0) return
    this.#waiting = new Map()
    try {
      const news = await this.#news(refusals)
      await this.#ports.store.add(refusals)
      for (const notice of news) await this.#ports.tell(notice)
      for (const { accountId } of refusals) await this.#count(accountId)
      this.#isFailing = false
    } catch (thrown) {
      // Said once for an outage of the store.
      if (!this.#isFailing) this.#ports.notice(`Refused requests could not be recorded: ${thrownMessage(thrown)}`)
      this.#isFailing = true
    }
  }

  /** What the customer hears of: the first refusals of a key for a cause after a quiet hour. */
  async #news(refusals: readonly Refusal[]): Promise<readonly NewNotice[]> {
    const news: NewNotice[] = []
    const groups = Map.groupBy(refusals, ({ accountId, keyId, cause }) => JSON.stringify([accountId, keyId, cause]))
    for (const [name, [first, ...others]] of groups) {
      if (first === undefined) continue
      const heardMs = this.#heard.get(name) ?? -Infinity
      this.#heard.delete(name)
      this.#heard.set(name, (others.at(-1) ?? first).atMs)
      if (first.atMs - heardMs < QUIET_MS || (await this.#ports.store.hasAny(first, first.atMs - QUIET_MS))) continue
      const times = others.reduce((sum, one) => sum + one.times, first.times)
      if (this.#mayTell(first)) news.push(refusedRequests({ ...first, times }))
    }
    for (const name of this.#heard.keys()) {
      if (this.#heard.size <= HEARD_MAX) break
      this.#heard.delete(name)
    }
    return news
  }

  #mayTell({ accountId, atMs }: Refusal): boolean {
    const hour = Math.floor(atMs / HOUR_MS)
    if (hour !== this.#hour) {
      this.#hour = hour
      this.#told = new Map()
    }
    const told = this.#told.get(accountId) ?? 0
    this.#told.set(accountId, told + 1)
    return told < TOLD_MAX
  }

  async #count(accountId: string): Promise<void> {
    const added = (this.#added.get(accountId) ?? 0) + 1
    this.#added.set(accountId, added)
    if (added < TRIM_EVERY) return
    await this.#ports.store.trim(accountId)
    this.#added.delete(accountId)
  }
}

/** What a message quotes may be a part of a prompt, which is stored nowhere: it is cut before its first quotation. */
function withoutGiven(message: string): string {
  const at = message.search(QUOTATION)
  return keptText(at === -1 ? message : `${message.slice(0, at).trimEnd()} …`, TEXT_MAX)
}

/** The model that the request names, in its body or its path. */
function modelOf({ json, params }: Call<Principal>): string {
  const named = typeof json === 'object' && json !== null && 'model' in json ? json.model : params['model']
  return typeof named === 'string' && MODEL.test(named) && !SECRET.test(named) ? named : ''
}

/** The numbers and our own words of the answer's `error.metadata`, and its `retry_after`, s. */
function figuresOf({ details: { metadata = {}, retryAfterSeconds } }: ApiError): Readonly<Record<string, unknown>> {
  const own = Object.entries(metadata).filter(
    ([name, value]) => typeof value === 'number' || value === null || (typeof value === 'string' && WORDS.has(name)),
  )
  return { ...Object.fromEntries(own), ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }) }
}
