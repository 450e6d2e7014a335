import type { ChatRequest } from '../chat/request.ts'
import type { RawObject } from '../fields/json-fields.ts'

/** A request of `generateContent`, as the chat that it means. */
export interface GenerateContentRequest {
  readonly chat: ChatRequest
  /** As the client sent it. */
  readonly body: RawObject
  /** An event stream, or the chunks as the items of one JSON array. */
  readonly framing: 'sse' | 'array'
  /** Thoughts are shown only where they are asked for. */
  readonly showsThoughts: boolean
  /** The tool by which the provider is to search the web; null = none. */
  readonly search: string | null
  /** Without its search the request means something else. */
  readonly needsSearch: boolean
  /** Parts of the request that no provider is sent. */
  readonly withheld: readonly string[]
  /** Parts that only a provider of this protocol is sent. */
  readonly untranslated: readonly string[]
}
