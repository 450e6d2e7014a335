import type { ChatPart, ChatRequest } from '../chat-request.ts'
import type { RawObject } from '../json-fields.ts'

/** A validated Responses request (wire.md D-2.4). */
export interface ResponsesRequest {
  /** The chat request that it means. */
  readonly chat: ChatRequest
  /** The same in its own words, for providers that speak them. */
  readonly input: ResponsesInput
  readonly echo: RequestEcho
  /** Only providers with the Responses protocol can serve it, and why. */
  readonly nativeOnly: NativeOnly | null
}

/** Something that chat has no words for: where it stands, and its type. */
export interface NativeOnly {
  readonly path: string
  readonly type: string
}

/**
 * One element of `input`, checked and rebuilt. Ids of messages, calls and reasoning are ours, so no provider gets them
 * back. What is encrypted is a native provider's; `details` are those of a provider of chat.
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
  /** One that only providers with the Responses protocol know, copied. */
  | { readonly type: 'native'; readonly value: RawObject }

export type MessageRole = 'user' | 'assistant' | 'system' | 'developer'

/** What is asked, in the words of the Responses protocol. */
export interface ResponsesInput {
  readonly instructions: string | null
  readonly items: readonly InputItem[]
  /** All tools in the order given: functions flat, others as they came. */
  readonly tools: readonly RawObject[]
  /** null = not given. */
  readonly toolChoice: string | RawObject | null
  readonly include: readonly string[]
  readonly maxToolCalls: number | null
}

/** What the answer repeats of its request, with the defaults of what was not given, and how it is written. */
export interface RequestEcho {
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
  /** It asked for `reasoning.encrypted_content`: reasoning comes with what a model needs to go on from it. */
  readonly keepsDetails: boolean
}
