import type { ChatRequest } from '../chat/request.ts'

/** A request of `generateContent`, as the chat that it means. */
export interface GenerateContentRequest {
  readonly chat: ChatRequest
  /** An event stream, or the chunks as the items of one JSON array. */
  readonly framing: 'sse' | 'array'
  /** Thoughts are shown only where they are asked for. */
  readonly showsThoughts: boolean
  /** The tool by which the provider is to search the web; null = none. */
  readonly search: string | null
  /** Without its search the request means something else. */
  readonly needsSearch: boolean
  /** Parts of the request that no provider is sent. */
  readonly dropped: readonly string[]
}
