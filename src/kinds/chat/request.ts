import type { JsonMember } from '../../base/json-scan.ts'
import type { MediaUrl, Medium } from '../fields/media.ts'
import type { RoutedRequest } from '../fields/routed-request.ts'

/** A validated chat request: the allow-listed fields only, in the wire's names, ready to be mapped by an adapter. */
export interface ChatRequest extends RoutedRequest {
  readonly messages: readonly ChatMessage[]
  /** The bytes of long messages that can be passed on unchanged (`rawMessagesOf`). */
  readonly rawMessages?: RawMessages
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Integer ≥ 1, -1 = no limit, null = omitted. `max_completion_tokens` takes precedence over `max_tokens`. */
  readonly maxTokens: number | null
  readonly tools: readonly ChatTool[] | null
  readonly toolChoice: string | { readonly type: 'function'; readonly function: { readonly name: string } } | null
  readonly responseFormat: Readonly<Record<string, unknown>> | null
  /**
   * Every other accepted parameter that an upstream may get, by OpenRouter's parameter name, rebuilt value by value:
   * temperature, top_p, top_k, stop, seed, reasoning, reasoning_effort, …
   */
  readonly parameters: Readonly<Record<string, unknown>>
  /** Whether the client does not want to see the reasoning (`reasoning.exclude`, `include_reasoning: false`). */
  readonly hidesReasoning: boolean
  /** The modalities that the messages need besides text. */
  readonly inputModalities: ReadonlySet<Medium>
  /** UTF-8 bytes of all text that counts as input (messages, tools, schema): an upper bound of its tokens. */
  readonly textBytes: number
  /**
   * The part of those bytes that only a provider of the client's protocol reads; the count of the messages does not
   * include it.
   */
  readonly unreadBytes?: number
}

/** Messages as the bytes that the client sent. */
export interface RawMessages extends JsonMember {
  /** The parsed messages of these bytes. A request whose messages have been replaced must not send them. */
  readonly of: readonly ChatMessage[]
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly ChatPart[] | null
  readonly name?: string
  readonly tool_call_id?: string
  /** Whether the tool failed. Only some protocols can say so. */
  readonly is_error?: true
  readonly tool_calls?: readonly ChatToolCall[]
  readonly reasoning?: string
  readonly reasoning_details?: readonly unknown[]
  readonly refusal?: string
  readonly audio?: { readonly id: string }
}
export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
/** A part of a message. Only `mediaPart` makes parts with media, from what the media really are. */
export type ChatPart =
  | { readonly type: 'text'; readonly text: string; readonly cache_control?: unknown }
  | {
      readonly type: 'image_url'
      readonly image_url: { readonly url: MediaUrl<'image'>; readonly detail?: string }
      readonly cache_control?: unknown
    }
  | { readonly type: 'input_audio'; readonly input_audio: { readonly data: string; readonly format: string } }
  /** Sound at an address, which clients send as a file. */
  | { readonly type: 'audio_url'; readonly audio_url: { readonly url: MediaUrl<'audio'> } }
  | { readonly type: 'file'; readonly file: { readonly filename?: string; readonly file_data: string } }
  | { readonly type: 'video_url'; readonly video_url: { readonly url: MediaUrl<'video'> } }
  | { readonly type: 'refusal'; readonly refusal: string }
export interface ChatTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    /** Absent = the client named none: some providers refuse an empty schema. */
    readonly parameters?: Readonly<Record<string, unknown>>
    readonly strict?: boolean
  }
}
