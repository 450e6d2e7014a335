import type { ChatPart, ChatRequest } from '../../../kinds/chat/request.ts'
import type { RawObject } from '../../../kinds/fields/body-fields.ts'
import type { ToolNames, ToolOrigin } from './tool-names.ts'

/** Whether an answer is kept, and whether its client waits for it (clients.md 3). */
export interface Keeping {
  /** Its answer is kept for the account. */
  readonly store: boolean
  /** It runs on without a client. */
  readonly background: boolean
  /** The id of the Response that it continues, as given; null = none. */
  readonly previousId: string | null
}

/** Facts about a request that its route knows and its body does not say. */
export interface ResponsesDoor {
  /** Items of the conversation that it continues; empty = it begins one. */
  readonly history: readonly unknown[]
  /** The elements of `input` where it refers to kept items; null = they are as they came. */
  readonly resolved: readonly unknown[] | null
  /** It is that of a kept answer, and need not be kept again. */
  readonly isKept: boolean
  /** It came as a message of a WebSocket: its answer is always events, and never in the background. */
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
  /** Parts that `chat` does without, by the names of `X-Tollgate-Dropped`. */
  readonly dropped: readonly string[]
  /** A tool that must be called and that chat cannot say; null = there is none. */
  readonly demanded: DemandedTool | null
  /** The elements of its own `input`, as they came. */
  readonly added: readonly unknown[]
  /** The part of the request that is kept. */
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
  /** An item that only providers with the Responses protocol have, copied; `chat` is what it means elsewhere. */
  | { readonly type: 'native'; readonly value: RawObject; readonly chat: ChatForm | null }

/** A call of one of the client's tools, or its output, for a model that knows only functions. */
export type ChatForm =
  | { readonly step: 'call'; readonly callId: string; readonly tool: ToolOrigin; readonly arguments: string }
  | {
      readonly step: 'output'
      readonly callId: string
      readonly output: string | readonly ChatPart[]
      /** Parts of types that chat has no form for are left out. */
      readonly isPartial?: true
    }

export type MessageRole = 'user' | 'assistant' | 'system' | 'developer'

/** The request, in the form of the Responses protocol. */
export interface ResponsesInput {
  readonly instructions: string | null
  readonly items: readonly InputItem[]
  /** All tools in the given order: functions flat, others unchanged. */
  readonly tools: readonly RawObject[]
  /** null = not given. */
  readonly toolChoice: string | RawObject | null
  readonly include: readonly string[]
  readonly maxToolCalls: number | null
  /** Fields that go to a provider of this protocol as they came. */
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
  /** It asked for `reasoning.encrypted_content`: reasoning comes with the data that a model needs to continue it. */
  readonly keepsDetails: boolean
}
