import { objectOf } from '../wire/raw-json.ts'
import { UnsendableError } from '../ports/upstream-request.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'

type Body = Readonly<Record<string, unknown>>

const MARK = { type: 'ephemeral' } as const
/** The provider refuses more marks than four: here one each for tools and system, and two of turns. */
export const TURNS_MARKED = 2
const UNMARKABLE: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/**
 * A body of Messages with cache marks on its last tool, its last system text and its last two turns of the user, so
 * that the next turn reads what this one writes. A body that has a mark anywhere keeps its client's. One with fewer
 * letters than `cacheMin`, the tokens of the shortest prompt that is kept, has none.
 */
export function withCacheMarks(body: Body, cacheMin: number): Body {
  const { tools, system, messages } = body
  const text = JSON.stringify([tools, system, messages, body['cache_control']])
  if (text.length < cacheMin || text.includes('"cache_control":{')) return body
  return {
    ...body,
    ...(Array.isArray(tools) && tools.length > 0 ? { tools: markedLast(tools) } : {}),
    ...(system === undefined ? {} : { system: markedContent(system) }),
    ...(Array.isArray(messages) ? { messages: markedTurns(messages) } : {}),
  }
}

function markedTurns(messages: readonly unknown[]): readonly unknown[] {
  const marked = [...messages]
  let left = TURNS_MARKED
  for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
    const message = messages[index]
    if (!isObject(message) || message['role'] !== 'user') continue
    marked[index] = { ...message, content: markedContent(message['content']) }
    left -= 1
  }
  return marked
}

/** A text is a list of one block. */
function markedContent(content: unknown): unknown {
  if (typeof content === 'string')
    return content.trim() === '' ? content : [{ type: 'text', text: content, cache_control: MARK }]
  return Array.isArray(content) ? markedLast(content) : content
}

function markedLast(list: readonly unknown[]): readonly unknown[] {
  const at = list.findLastIndex(takesMark)
  return list.map((item, index) => (index === at && isObject(item) ? { ...item, cache_control: MARK } : item))
}

/** Empty texts, thoughts, and tools that are loaded later take none. */
function takesMark(item: unknown): boolean {
  if (!isObject(item) || UNMARKABLE.has(item['type']) || item['defer_loading'] === true) return false
  return item['type'] !== 'text' || item['text'] !== ''
}

/** The lifetime that a part's `cache_control` names; null = the usual one, undefined = there is no mark. */
export function markedTtl(raw: unknown, path: string): '5m' | '1h' | null | undefined {
  if (raw === undefined) return undefined
  const mark = objectOf(raw)
  const ttl = mark?.['ttl'] ?? null
  if (mark?.['type'] !== 'ephemeral' || (ttl !== null && ttl !== '5m' && ttl !== '1h'))
    throw new UnsendableError(`${path}.cache_control: must be {type: 'ephemeral'}, with a ttl of '5m' or '1h' or none`)
  return ttl
}
