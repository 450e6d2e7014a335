import { createHash } from 'node:crypto'
import type { ChatMessage, ChatRequest } from './request.ts'

/** Names of functions that every provider accepts; some protocols of clients allow longer ones, or dots and colons. */
const SAFE = /^[A-Za-z_][\w-]{0,63}$/
const FOREIGN = /[^\w-]/g
const CHARS_MAX = 64
/** Enough characters to keep the names of one request distinct. */
const HASH_CHARS = 8

export interface SafelyNamed {
  readonly chat: ChatRequest
  /** The client's name of a function that was sent under another name. */
  readonly original: (name: string) => string
}

/**
 * The request in which each function whose name some providers refuse has a name that all accept. The new name depends
 * only on the old one, so that it is the same in every turn. null = all names are safe.
 */
export function safelyNamed(chat: ChatRequest): SafelyNamed | null {
  if (areSafe(chat)) return null
  const given = new Set(namesOf(chat))
  const unsafe = [...given].filter((name) => !SAFE.test(name))
  const names = new Map(unsafe.map((name) => [name, safeName(name, given)]))
  const originals = new Map([...names].map(([name, sent]) => [sent, name]))
  const sent = (name: string): string => names.get(name) ?? name
  const { tools, toolChoice } = chat
  return {
    chat: {
      ...chat,
      tools:
        tools?.map((tool) => ({ ...tool, function: { ...tool.function, name: sent(tool.function.name) } })) ?? null,
      toolChoice:
        toolChoice === null || typeof toolChoice === 'string'
          ? toolChoice
          : { ...toolChoice, function: { ...toolChoice.function, name: sent(toolChoice.function.name) } },
      messages: chat.messages.map((message) => withNames(message, sent)),
    },
    original: (name) => originals.get(name) ?? name,
  }
}

/** Most requests end here, so it allocates nothing. */
function areSafe({ tools, toolChoice, messages }: ChatRequest): boolean {
  if (tools !== null) for (const { function: called } of tools) if (!SAFE.test(called.name)) return false
  if (toolChoice !== null && typeof toolChoice !== 'string' && !SAFE.test(toolChoice.function.name)) return false
  for (const { tool_calls: calls } of messages)
    if (calls !== undefined) for (const { function: called } of calls) if (!SAFE.test(called.name)) return false
  return true
}

function* namesOf({ tools, toolChoice, messages }: ChatRequest): Generator<string> {
  for (const { function: called } of tools ?? []) yield called.name
  if (toolChoice !== null && typeof toolChoice !== 'string') yield toolChoice.function.name
  for (const { tool_calls: calls = [] } of messages) for (const { function: called } of calls) yield called.name
}

function withNames(message: ChatMessage, sent: (name: string) => string): ChatMessage {
  const { tool_calls: calls } = message
  if (calls === undefined) return message
  return {
    ...message,
    tool_calls: calls.map((call) => ({ ...call, function: { ...call.function, name: sent(call.function.name) } })),
  }
}

function safeName(name: string, given: ReadonlySet<string>): string {
  const plain = name.replaceAll(FOREIGN, '_')
  const flat = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS)
  const hashed = `${flat.slice(0, CHARS_MAX - HASH_CHARS - 1)}_${hash}`
  // A name with this hash belongs to another function only if a client made it so on purpose.
  return given.has(hashed) ? `${hashed.slice(0, -1)}_` : hashed
}
