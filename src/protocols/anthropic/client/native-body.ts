import { fittedBudget } from '../../../kinds/chat/thinking-share.ts'
import { field, isObject, type RawObject } from '../../../kinds/fields/json-fields.ts'
import { isEncodedDetails } from '../../../kinds/answer/encoded-details.ts'
import { clearsOnly, WITHHELD } from './parse.ts'
import type { MessagesRequest } from './request.ts'
import { usesMax } from './tools.ts'

/** Terms of an endpoint that change a body. */
export interface NativeTerms {
  readonly model: string
  readonly maxTokens: number | null
  /** Cache marks that have a price there. */
  readonly cacheMarks: 'all' | 'short' | 'none'
}

/** Our own fields, those of the operator's account, and a name that would fake inherited fields. */
const REMOVED: ReadonlySet<string> = new Set(['__proto__', 'models', 'provider', 'session_id', ...WITHHELD])

/**
 * The client's own body for a provider of the protocol (clients.md D-14.2): every field stays, known or not, except
 * those that cost money or name an account.
 */
export function nativeBody(
  { body, chat: { maxTokens: asked, stream } }: MessagesRequest,
  { model, maxTokens, cacheMarks }: NativeTerms,
): Record<string, unknown> {
  const native: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) if (!REMOVED.has(name)) native[name] = value
  native['model'] = model
  native['max_tokens'] = maxTokens ?? asked
  const thinking = fittingThinking(body['thinking'], asked, maxTokens)
  if (thinking === null) delete native['thinking']
  else if (thinking !== undefined) native['thinking'] = thinking
  native['stream'] = stream
  // Priority is the provider's default, and may have a separate price.
  if (native['service_tier'] !== undefined) native['service_tier'] = 'standard_only'
  if (native['speed'] !== 'standard') delete native['speed']
  const management = clearingOnly(native['context_management'])
  if (management === null) delete native['context_management']
  else native['context_management'] = management
  if (Array.isArray(native['tools'])) native['tools'] = native['tools'].map(boundedTool)
  if (Array.isArray(native['messages'])) native['messages'] = native['messages'].flatMap(ownMessage)
  return cacheMarks === 'all' ? native : markedBody(native, cacheMarks)
}

/** `thinking` with a budget that fits into a lowered `max_tokens`; null = it is left out. */
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

/** Edits that make the model write would cost tokens that no answer counts. null = no edit is left. */
function clearingOnly(management: unknown): RawObject | null {
  const edits = isObject(management) ? field(management, 'edits') : undefined
  if (!isObject(management) || !Array.isArray(edits)) return null
  return edits.every(clearsOnly) ? management : { ...management, edits: edits.filter(clearsOnly) }
}

function boundedTool(tool: unknown): unknown {
  const most = isObject(tool) ? usesMax(tool) : null
  return most === null || !isObject(tool) ? tool : { ...tool, max_uses: most }
}

/** Thoughts without a signature, or with one that we made for another model's, are removed: they would be refused. */
function ownMessage(message: unknown): readonly unknown[] {
  if (!isObject(message) || message['role'] !== 'assistant' || !Array.isArray(message['content'])) return [message]
  const content = message['content'].filter((block: unknown) => !isForeignThought(block))
  if (content.length === message['content'].length) return [message]
  return content.length === 0 ? [] : [{ ...message, content }]
}

function isForeignThought(block: unknown): boolean {
  if (!isObject(block) || block['type'] !== 'thinking') return false
  const { signature } = block
  return typeof signature !== 'string' || signature === '' || isEncodedDetails(signature)
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
