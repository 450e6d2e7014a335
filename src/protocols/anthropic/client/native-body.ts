import { fittedBudget, thoughtOf } from '../../../kinds/chat/thoughts.ts'
import { field, isObject, wordOf, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { ownThought, decodeDetails, isEncodedDetails } from '../../../kinds/answer/provenance.ts'
import { clearsOnly, WITHHELD } from './parse.ts'
import type { MessagesRequest } from './request.ts'
import { usesMax } from './tools.ts'

/** Facts of an endpoint that change a body. */
export interface NativeTerms {
  readonly model: string
  readonly maxTokens: number | null
  /** The cache marks that have a price at the endpoint. */
  readonly cacheMarks: 'all' | 'short' | 'none'
  /** Whether the endpoint takes its thoughts back without a signature. */
  readonly echoesThoughts: boolean
  /** The signer of the endpoint's thoughts, for `ownThought`. */
  readonly signer: string | null
  /** The parameters that the endpoint lists; null or absent = it takes all. */
  readonly listed?: readonly string[] | null
  /** The endpoint's word for the tier that is asked for; null or absent = none is sent unless the client names one. */
  readonly serviceTier?: string | null
}

/** Our own fields, fields of the operator's account, and a name that would add inherited fields. */
const REMOVED: ReadonlySet<string> = new Set(['__proto__', 'models', 'provider', 'session_id', ...WITHHELD])

/** Fields that an endpoint with a list of parameters takes only if the list has them. */
const SAMPLING: readonly string[] = ['temperature', 'top_p', 'top_k']

/** Blocks with thoughts, and the member of each that only their provider reads. */
const THOUGHTS: ReadonlyMap<string, string> = new Map([
  ['thinking', 'signature'],
  ['redacted_thinking', 'data'],
])

/**
 * The client's own body for a provider of the protocol (clients.md D-14.2): every field stays, known or unknown, except
 * those that cost money or name an account.
 */
export function nativeBody(
  { body, chat: { maxTokens: asked, stream } }: MessagesRequest,
  { model, maxTokens, cacheMarks, serviceTier = null, listed = null, ...reader }: NativeTerms,
): Record<string, unknown> {
  const native: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) if (!REMOVED.has(name)) native[name] = value
  for (const name of unlistedFields(body, listed)) delete native[name]
  native['model'] = model
  native['max_tokens'] = maxTokens ?? asked
  const thinking = fittingThinking(body['thinking'], asked, maxTokens)
  if (thinking === null) delete native['thinking']
  else if (thinking !== undefined) native['thinking'] = thinking
  native['stream'] = stream
  // Priority is the provider's default, and may have a separate price.
  if (serviceTier !== null || native['service_tier'] !== undefined)
    native['service_tier'] = serviceTier ?? 'standard_only'
  if (native['speed'] !== 'standard') delete native['speed']
  const management = clearingOnly(native['context_management'])
  if (management === null) delete native['context_management']
  else native['context_management'] = management
  if (Array.isArray(native['tools'])) native['tools'] = native['tools'].map(boundedTool)
  if (Array.isArray(native['messages']))
    native['messages'] = native['messages'].flatMap((message: unknown) => ownMessage(message, reader))
  return cacheMarks === 'all' ? native : markedBody(native, cacheMarks)
}

/** Fields of the client's body that the endpoint's list of parameters lacks. */
export function unlistedFields(body: RawObject, listed: readonly string[] | null): readonly string[] {
  return listed === null ? [] : SAMPLING.filter((name) => body[name] !== undefined && !listed.includes(name))
}

/** `thinking` with a budget that fits a lowered `max_tokens`; null = it is left out. */
function fittingThinking(thinking: unknown, asked: number | null, maxTokens: number | null): unknown {
  const budget = isObject(thinking) ? thinking['budget_tokens'] : undefined
  if (!isObject(thinking) || typeof budget !== 'number') return thinking
  const fitted = fittedBudget(budget, asked, maxTokens)
  if (fitted === null) return null
  return fitted === budget ? thinking : { ...thinking, budget_tokens: fitted }
}

/** Whether an answer of `maxTokens` has no room for the thinking that the client asked for. */
export function losesThinking({ body, chat }: MessagesRequest, maxTokens: number | null): boolean {
  const thinking = body['thinking']
  return isObject(thinking) && fittingThinking(thinking, chat.maxTokens, maxTokens) === null
}

/**
 * The edits that only clear parts of the prompt: others make the model write, which would cost tokens that no answer
 * reports. null = no edit is left.
 */
function clearingOnly(management: unknown): RawObject | null {
  const edits = isObject(management) ? field(management, 'edits') : undefined
  if (!isObject(management) || !Array.isArray(edits)) return null
  return edits.every(clearsOnly) ? management : { ...management, edits: edits.filter(clearsOnly) }
}

function boundedTool(tool: unknown): unknown {
  const most = isObject(tool) ? usesMax(tool) : null
  return most === null || !isObject(tool) ? tool : { ...tool, max_uses: most }
}

type ThoughtReader = Pick<NativeTerms, 'signer' | 'echoesThoughts'>

/** The message without thoughts that the provider would refuse, and without the mark on the provider's own thoughts. */
function ownMessage(message: unknown, reader: ThoughtReader): readonly unknown[] {
  if (!isObject(message) || message['role'] !== 'assistant' || !Array.isArray(message['content'])) return [message]
  const given: readonly unknown[] = message['content']
  const content = given.flatMap((block) => ownBlock(block, reader))
  if (content.length === given.length && content.every((block, index) => block === given[index])) return [message]
  return content.length === 0 ? [] : [{ ...message, content }]
}

function ownBlock(block: unknown, { signer, echoesThoughts }: ThoughtReader): readonly unknown[] {
  const name = isObject(block) ? THOUGHTS.get(wordOf(block['type'])) : undefined
  if (!isObject(block) || name === undefined) return [block]
  const own = ownThought(block[name], signer)
  if (own === null) return echoesThoughts && isUnsigned(block) ? [unsigned(block)] : []
  return own === block[name] ? [block] : [{ ...block, [name]: own }]
}

/** Whether no provider of this protocol signed the thought. */
function isUnsigned({ type, signature }: RawObject): boolean {
  return type === 'thinking' && (typeof signature !== 'string' || signature === '' || isEncodedDetails(signature))
}

/**
 * A thought as its provider gave it. A signature that we made is no signature, and may contain text that the client was
 * not shown.
 */
function unsigned(block: RawObject): RawObject {
  const { signature, thinking } = block
  const details = typeof signature === 'string' ? decodeDetails(signature) : null
  const reasoning = typeof thinking === 'string' ? thinking : ''
  const thought = thoughtOf({ role: 'assistant', content: null, reasoning, reasoning_details: details ?? [] })
  return { ...block, thinking: thought, signature: '' }
}

/** Places that may have a cache mark: the body, tools, system, blocks, and blocks of results. */
function markedBody(body: Record<string, unknown>, marks: 'short' | 'none'): Record<string, unknown> {
  const marked = markedOf(body, marks)
  for (const name of ['tools', 'system']) marked[name] = markedList(marked[name], marks)
  for (const name of ['tools', 'system']) if (marked[name] === undefined) delete marked[name]
  if (Array.isArray(marked['messages']))
    marked['messages'] = marked['messages'].map((message: unknown) =>
      isObject(message) ? { ...message, content: markedList(message['content'], marks) } : message,
    )
  return marked
}

function markedList(list: unknown, marks: 'short' | 'none'): unknown {
  if (!Array.isArray(list)) return list
  return list.map((item: unknown) => {
    if (!isObject(item)) return item
    const marked = markedOf(item, marks)
    return Array.isArray(marked['content']) ? { ...marked, content: markedList(marked['content'], marks) } : marked
  })
}

function markedOf(holder: RawObject, marks: 'short' | 'none'): Record<string, unknown> {
  const { cache_control: mark, ...rest } = holder
  if (mark === undefined || mark === null || marks === 'none') return rest
  const isLong = isObject(mark) && mark['ttl'] === '1h'
  return { ...rest, cache_control: isLong ? { type: 'ephemeral' } : mark }
}
