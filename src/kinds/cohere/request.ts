import type { ChatRequest } from '../chat/request.ts'

/** A request of Cohere's `/v2/chat`, with the equivalent chat request. */
export interface CohereChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that are sent to no provider. */
  readonly dropped: readonly string[]
}
