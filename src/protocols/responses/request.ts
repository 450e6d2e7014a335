import type { ChatPart, ChatRequest } from '../../kinds/chat/request.ts'
import type { RawObject } from '../../kinds/fields/body-fields.ts'
import { createHash } from 'node:crypto'

/** Whether an answer is kept, and whether its client waits for it (clients.md 3). */
export interface Keeping {
  /** Whether its answer is kept for the account. */
  readonly store: boolean
  /** Whether it runs without a client. */
  readonly background: boolean
  /** The id of the Response that it continues, as given; null = none. */
  readonly previousId: string | null
}

/** Facts about a request that its route knows and its body does not contain. */
export interface ResponsesDoor {
  /** Items of the conversation that the request continues; empty = it begins one. */
  readonly history: readonly unknown[]
  /** The elements of `input` with the kept items to which it refers; null = it refers to none. */
  readonly resolved: readonly unknown[] | null
  /** Whether `history` is that of a kept answer, and need not be stored again. */
  readonly isKept: boolean
  /** Whether it came as a message of a WebSocket: its answer is always events, and never in the background. */
  readonly socket: boolean
}

/** A validated Responses request (wire.md D-2.4). */
export interface ResponsesRequest {
  /** The equivalent chat request. */
  readonly chat: ChatRequest
  /** The same request in the form of Responses, for providers with that protocol. */
  readonly input: ResponsesInput
  readonly echo: RequestEcho
  /** The names of its tools in `chat`. */
  readonly names: ToolNames
  /** Parts that `chat` leaves out, by their names in `X-Tollgate-Dropped`. */
  readonly dropped: readonly string[]
  /** A tool that must be called and that chat cannot express; null = there is none. */
  readonly demanded: DemandedTool | null
  /** The elements of its own `input`, unchanged. */
  readonly added: readonly unknown[]
  /** The part of the request that is stored. */
  readonly row: { readonly items: readonly unknown[]; readonly previousId: string | null }
}

export interface DemandedTool {
  readonly path: string
  readonly type: string
}

/**
 * One element of `input`, checked and rebuilt. Ids of messages, calls and reasoning are ours, so no provider gets them
 * back. Encrypted content comes from a native provider; `details` come from a chat provider.
 */
export type InputItem =
  | {
      readonly type: 'message'
      readonly role: MessageRole
      readonly content: string | readonly ChatPart[]
      readonly phase: string | null
    }
  | {
      readonly type: 'reasoning'
      readonly summary: readonly string[]
      readonly content: readonly string[]
      readonly encryptedContent: string | null
      readonly details: readonly unknown[]
    }
  | {
      readonly type: 'function_call'
      readonly callId: string
      readonly name: string
      readonly arguments: string
      readonly namespace: string | null
    }
  | { readonly type: 'function_call_output'; readonly callId: string; readonly output: string | readonly ChatPart[] }
  /** A copy of an item that only providers with the Responses protocol have; `chat` is its meaning for others. */
  | { readonly type: 'native'; readonly value: RawObject; readonly chat: ChatForm | null }

/** A call of one of the client's tools, or its output, for a model that knows only functions. */
export type ChatForm =
  | { readonly step: 'call'; readonly callId: string; readonly tool: ToolOrigin; readonly arguments: string }
  | {
      readonly step: 'output'
      readonly callId: string
      readonly output: string | readonly ChatPart[]
      /** Whether parts were left out because chat has no form for them. */
      readonly isPartial?: true
    }

export type MessageRole = 'user' | 'assistant' | 'system' | 'developer'

/** The request, in the form of the Responses protocol. */
export interface ResponsesInput {
  readonly instructions: string | null
  readonly items: readonly InputItem[]
  /** All tools in the given order: functions in flat form, others unchanged. */
  readonly tools: readonly RawObject[]
  /** null = not given. */
  readonly toolChoice: string | RawObject | null
  readonly include: readonly string[]
  readonly maxToolCalls: number | null
  /** Fields that a provider of this protocol gets unchanged. */
  readonly passed: RawObject
}

/** The part of the request that the answer repeats, with the defaults of absent fields, and the form of the answer. */
export interface RequestEcho extends Keeping {
  readonly instructions: string | null
  readonly maxOutputTokens: number | null
  readonly maxToolCalls: number | null
  readonly metadata: RawObject
  readonly parallelToolCalls: boolean
  readonly promptCacheKey: string | null
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null }
  readonly safetyIdentifier: string | null
  readonly temperature: number
  readonly text: RawObject
  readonly toolChoice: string | RawObject
  readonly tools: readonly RawObject[]
  readonly topP: number
  readonly frequencyPenalty: number
  readonly presencePenalty: number
  readonly user: string | null
  /**
   * Whether it asked for `reasoning.encrypted_content`: then reasoning comes with the data that a model needs to
   * continue it.
   */
  readonly keepsDetails: boolean
}

/** A client's tool of Responses that chat has as a function. */
export interface ToolOrigin {
  readonly type: 'function' | 'custom' | 'tool_search' | 'local_shell'
  readonly name: string
  readonly namespace: string | null
}

/** Chat providers accept names of at most this length, with these characters. */
const NAME_CHARS_MAX = 64
const FOREIGN = /[^A-Za-z0-9_-]/g
const SEPARATOR = '__'
/** Enough characters to keep the names of one request distinct. */
const HASH_CHARS = 8

/**
 * The names of a request's tools as functions of chat, and the way back (clients.md 3). A function outside a namespace
 * keeps its name. Any other name depends only on the tool, so that it is the same in every turn; if two tools would
 * share a name, the second gets one with a hash.
 */
export class ToolNames {
  readonly #origins = new Map<string, ToolOrigin>()
  readonly #names = new Map<string, string>()

  /** `plain`: names of functions outside all namespaces, which never change. */
  constructor(plain: Iterable<string>) {
    for (const name of plain) this.name({ type: 'function', name, namespace: null })
  }

  /** The name of a tool among the functions of chat. */
  name(origin: ToolOrigin): string {
    const key = JSON.stringify([origin.namespace, origin.name])
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const free = this.#freeName(origin, key)
    this.#names.set(key, free)
    // A name from an earlier turn may belong to another tool now.
    if (!this.#origins.has(free)) this.#origins.set(free, origin)
    return free
  }

  /** The tool that a model called by this name; null = no tool has the name. */
  origin(name: string): ToolOrigin | null {
    return this.#origins.get(name) ?? null
  }

  #freeName({ type, name, namespace }: ToolOrigin, key: string): string {
    if (type === 'function' && namespace === null) return name
    const joined = namespace === null ? name : joinedName(namespace, name)
    const flat = joined.replaceAll(FOREIGN, '_')
    if (flat.length <= NAME_CHARS_MAX && !this.#origins.has(flat)) return flat
    const hash = createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARS)
    return `${flat.slice(0, NAME_CHARS_MAX - HASH_CHARS - 1)}_${hash}`
  }
}

function joinedName(namespace: string, name: string): string {
  return namespace.endsWith(SEPARATOR) ? namespace + name : namespace + SEPARATOR + name
}
