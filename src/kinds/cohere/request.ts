import type { ChatRequest } from '../chat/request.ts'

/** A request of Cohere's `/v2/chat`, as the chat that it means. */
export interface CohereChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that no provider is sent. */
  readonly dropped: readonly string[]
}
