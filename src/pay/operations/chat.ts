import type { Endpoint } from '../../catalog/catalog.ts'
import { assert } from '../../base/assert.ts'
import { ApiError } from '../../base/errors.ts'
import type { Reread } from '../../base/reread.ts'
import { ownValue } from '../../base/own-value.ts'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { safelyNamed, type SafelyNamed } from '../../kinds/chat/tools.ts'
import { withFittedBudget } from '../../kinds/chat/thoughts.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../../protocols/ports/call.ts'
import {
  clientName,
  type ChatOffer,
  type ChatTerms,
  type ClientChat,
  type ClientWords,
} from '../../protocols/ports/client-call.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import {
  isMarked,
  isPriced,
  pricedRequest,
  searches,
  tierAsked,
  tierSent,
  tierWished,
  withTier,
} from '../plan/parameter-costs.ts'
import type { Plan, PlanInput } from '../plan/plan.ts'
import type { AttemptStart, Operation } from '../relay/operation.ts'
import { askedOf, ChatAttempt } from './chat-attempt.ts'

/** Names for the same request: an endpoint that takes one of them is sent it. */
const ALIKE: readonly (readonly string[])[] = [
  ['reasoning', 'reasoning_effort'],
  ['response_format', 'structured_outputs'],
]
/**
 * Parameters that are reported in another way or not at all: as a tool, by their value, or with the parameter that they
 * follow (`reasoning`, `modalities`).
 */
const OTHERWISE: ReadonlySet<string> = new Set([
  'web_search_options',
  'include_reasoning',
  'image_config',
  'service_tier',
])

type ChatFields = Pick<Operation, 'delivery' | 'contentType' | 'sessionId' | 'fitsFunds'>

/** The fields that all operations of chat models have in common. */
export function chatFields(chat: ChatRequest): ChatFields {
  return {
    delivery: chat.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: chat.sessionId,
    fitsFunds: chat.maxTokens === null,
  }
}

/**
 * A request of chat models: native if its endpoint speaks the client's protocol, else the equivalent chat. Nothing that
 * lives as long as an answer keeps the request: once a provider has its body, it is dropped.
 */
export function chatOperation(read: Reread<ClientChat>, adapters: AdapterTable): Operation {
  const { type, chat, keepAlive, contentType = null, session = null } = read.value
  const counts = new InputCounts(read)
  return {
    type,
    ...chatFields(chat),
    sessionId: chat.sessionId ?? session,
    contentType: chat.stream ? contentType : null,
    ...(keepAlive === undefined ? {} : { keepAlive }),
    conversation: () => read.value.chat,
    plan: (input) => planClient(read.value, input, adapters),
    recounted: (plan, tokens) => recountedClient(read.value, plan, tokens),
    begin: (start, sink) => {
      counts.keep(start)
      const attempt = beginClient(read, counts, start, sink)
      read.drop()
      return attempt
    },
  }
}

function recountedClient(client: ClientChat, plan: Plan, tokens: PlanInput['tokens']): Plan | null {
  const smaller = recountedHold(plan, client.chat, tokens, { hosted: offerOf(client, plan)?.hosted ?? null })
  return smaller === null ? null : { ...smaller, isSpecial: plan.isSpecial === true }
}

function beginClient(
  read: Reread<ClientChat>,
  counts: InputCounts,
  start: AttemptStart,
  sink: AnswerSink<Buffer>,
): ChatAttempt {
  const client = read.value
  const { chat, words } = client
  const { candidate, adapter, plan, identity, tokens } = start
  const { endpoint, model } = candidate
  const terms = termsOf(client, endpoint)
  const clientStart = { ...start, terms, estimateInput: () => tokens.estimateChat(chat, model.tokenizer) }
  const offer = offerOf(client, plan)
  const native = client.own?.speaks(endpoint, adapter) === true ? (offer?.native(clientStart) ?? null) : null
  const hosted = offer?.hosted ?? null
  const splice = client.splice?.(identity) ?? null
  return new ChatAttempt(
    {
      asked: askedOf(chat, endpoint, 1, counts.of(start)),
      writer: native?.writer ?? client.writer(clientStart),
      inputs: 1,
      ...(hosted === null ? {} : { readings: 1 + hosted.callsMax }),
      ...(native?.searchesMax === undefined ? {} : { searchesMax: native.searchesMax }),
      start,
      sink,
      dropped: native?.dropped ?? [...client.dropped(terms), ...unsentParts(chat, start, words)],
    },
    (answers) => {
      if (native !== null) return native.ask(answers)
      return client.sameNames === endpoint.provider.adapter
        ? askChat(start, chat, answers, splice)
        : askTranslated(start, chat, answers, { words, splice })
    },
  )
}

/**
 * Counts of the request, which is read again for one. A count of a long text is a sample, so what the hold was made of
 * must also be what is charged.
 */
class InputCounts {
  readonly #read: Reread<ClientChat>
  readonly #known = new Map<string | null, number>()

  constructor(read: Reread<ClientChat>) {
    this.#read = read
  }

  /** Remembers what the plan has counted, before the request is dropped. */
  keep({ tokens, plan }: AttemptStart): void {
    for (const { model } of plan.candidates) {
      const known = tokens.knownChat(this.#read.value.chat, model.tokenizer)
      if (known !== null) this.#known.set(model.tokenizer, known)
    }
  }

  of({ tokens, candidate }: AttemptStart): () => number {
    const { tokenizer } = candidate.model
    return () => {
      const count = this.#known.get(tokenizer) ?? tokens.countChat(this.#read.value.chat, tokenizer)
      this.#known.set(tokenizer, count)
      return count
    }
  }
}

/** The form of the request that its plan's hold covers; null = its protocol has no other form than a chat. */
function offerOf({ own }: ClientChat, plan: Plan): ChatOffer | null {
  if (own === undefined) return null
  return plan.isSpecial === true ? own.special : own.plain
}

/**
 * The plan with the parts that only some endpoints serve, if one of them does; else the plan without these parts, or a
 * refusal.
 */
function planClient(client: ClientChat, input: PlanInput, adapters: AdapterTable): Plan {
  const { type, chat, words, own } = client
  const isSpoken = (endpoint: Endpoint): boolean =>
    own?.speaks(endpoint, adapters.get(endpoint.provider.adapter)) === true
  const any = (endpoint: Endpoint): boolean => isSpoken(endpoint) || canChat(endpoint, adapters)
  const plan = (able: (endpoint: Endpoint) => boolean, offer: ChatOffer | null): Plan =>
    inWordsOf(words, () => planChat({ ...input, request: chat, type, able, hosted: offer?.hosted ?? null }))
  const special = own?.special ?? null
  if (own === undefined || special === null) return plan(any, own?.plain ?? null)
  const serves = (endpoint: Endpoint): boolean =>
    any(endpoint) && special.serves(endpoint, isSpoken(endpoint), termsOf(client, endpoint))
  try {
    return { ...plan(serves, special), isSpecial: true }
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || !special.absent.includes(thrown.errorName)) throw thrown
  }
  // The model may not exist, or not for this client; this plan then gives the refusal.
  const plain = plan(any, own.plain)
  const [first] = plain.candidates
  assert(first !== undefined, 'A plan has candidates.')
  const refusal = special.refusal(first, first.model.endpoints.some(isSpoken))
  if (refusal !== null) throw refusal
  return plain
}

/** Runs a plan. If it refuses the number of answers, the refusal names the parameter in the words of the client. */
function inWordsOf(words: ClientWords, plan: () => Plan): Plan {
  try {
    return plan()
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.errorName !== 'invalid_input') throw thrown
    throw new ApiError(thrown.errorName, inWords(thrown.message, words), thrown.details)
  }
}

/** Whether the adapter of an endpoint can chat. */
export function canChat({ provider }: Endpoint, adapters: AdapterTable): boolean {
  return adapters.get(provider.adapter)?.chat !== undefined
}

/** Asks the provider of an attempt for a chat. */
export function askChat(
  { adapter, candidate, apiKey, generationId }: AttemptStart,
  chat: ChatRequest,
  sink: AnswerSink,
  splice: ChatCall['splice'] = null,
): RunningCall {
  const { endpoint, sendMaxTokens } = candidate
  if (adapter.chat === undefined)
    throw new Error(`Adapter '${adapter.name}' has no chat: the plan lets only those through that have.`)
  return adapter.chat(
    {
      endpoint,
      apiKey,
      request: withFittedBudget(pricedRequest(chat, endpoint), sendMaxTokens),
      sendMaxTokens,
      generationId,
      splice,
    },
    sink,
  )
}

/**
 * The same for a client of another protocol, whose functions may have names that the provider refuses. `words` are the
 * client's names, for the reason why the provider's protocol cannot express a parameter.
 */
function askTranslated(
  start: AttemptStart,
  chat: ChatRequest,
  sink: AnswerSink,
  { words, splice }: Pick<ChatCall, 'splice'> & { readonly words: ClientWords },
): RunningCall {
  const named = safelyNamed(chat)
  return askChat(start, named?.chat ?? chat, renamingSink(named?.original ?? null, words, sink), splice)
}

/** Gives the client's names back; `original` = null: all are unchanged. */
function renamingSink(original: SafelyNamed['original'] | null, words: ClientWords, sink: AnswerSink): AnswerSink {
  const renamed = (event: AnswerEvent): AnswerEvent =>
    event.type === 'tool_call' && original !== null ? { ...event, name: original(event.name) } : event
  return {
    headers: () => sink.headers(),
    push: (events) => sink.push(original === null ? events : events.map(renamed)),
    end: () => sink.end(),
    fail: (failure) =>
      sink.fail(
        failure.reason === 'unsendable' && failure.publicMessage !== null
          ? { ...failure, publicMessage: inWords(failure.publicMessage, words) }
          : failure,
      ),
  }
}

/** A sentence that begins with a parameter's name, with the client's name for it. */
function inWords(message: string, words: ClientWords): string {
  const [name = ''] = /^\w+(?=[:.])/.exec(message) ?? []
  return (ownValue(words, name) ?? name) + message.slice(name.length)
}

function termsOf({ chat, words }: ClientChat, endpoint: Endpoint): ChatTerms {
  const { modalities } = pricedRequest(chat, endpoint).parameters
  return {
    searches: searches(chat, endpoint),
    modalities: Array.isArray(modalities) ? modalities.map(String) : null,
    cacheMarks: isPriced(endpoint, 'cache_control'),
    serviceTier: tierSent(chat, endpoint),
    inTier: withTier(chat, endpoint),
    unpriced: [
      ...unpricedMarks(chat, endpoint),
      ...unpricedTier(chat, endpoint).map((name) => clientName(name, words)),
    ],
  }
}

/**
 * Parameters of a translated request that its endpoint is not sent, or is sent in another way (clients.md D-14.3), by
 * their names in the client's protocol.
 */
export function unsentParts(
  chat: ChatRequest,
  { adapter, candidate: { endpoint } }: AttemptStart,
  words: ClientWords,
): readonly string[] {
  const takes = (name: string): boolean => endpoint.supportedParameters?.includes(name) !== false
  const left = adapter.leaves?.(endpoint, chat) ?? []
  const isSent = (name: string): boolean => {
    if (left.includes(name)) return false
    const names = ALIKE.find((alike) => alike.includes(name)) ?? [name]
    return names.some((one) => adapter.parameters.chat.includes(one) && takes(one)) && isPriced(endpoint, name)
  }
  const given = Object.keys(chat.parameters).filter((name) => !OTHERWISE.has(name))
  if (chat.responseFormat !== null) given.push('response_format')
  if (chat.tools !== null) given.push('tools')
  if (chat.toolChoice !== null) given.push('tool_choice')
  const unsent = [
    ...given.filter((name) => !isSent(name)),
    ...left.filter((name) => name.includes('.')),
    ...unpricedTier(chat, endpoint),
  ]
  return [...unsent.map((name) => clientName(name, words)), ...unpricedMarks(chat, endpoint)]
}

/** A service tier is sent only if it has a price. */
function unpricedTier(chat: ChatRequest, endpoint: Endpoint): readonly string[] {
  return tierWished(chat) !== null && tierAsked(chat, endpoint) === null ? ['service_tier'] : []
}

/** Cache marks are sent only if writing the cache has a price. */
function unpricedMarks({ messages }: ChatRequest, endpoint: Endpoint): readonly string[] {
  return isMarked(messages) && !isPriced(endpoint, 'cache_control') ? ['cache_control'] : []
}
