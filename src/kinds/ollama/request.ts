import type { ChatRequest } from '../chat/request.ts'

/** A request of Ollama's `/api/chat`, with the equivalent chat request. */
export interface OllamaChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that are sent to no provider. */
  readonly dropped: readonly string[]
}
