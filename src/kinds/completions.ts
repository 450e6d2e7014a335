import type { ChatRequest } from './chat/request.ts'

/** A validated legacy completions request (wire.md D-2.5). */
export interface CompletionsRequest {
  /** 1 to 20 prompts, none of them empty. */
  readonly prompts: readonly string[]
  /** The fields shared with chat; its only user message is the longest prompt. */
  readonly chat: ChatRequest
  /** These four fields are accepted only by a provider with a completions protocol. */
  readonly suffix: string | null
  readonly echo: boolean
  /** 0 to 5; null = none. */
  readonly logprobs: number | null
  readonly bestOf: number | null
}

/** The chat request of one prompt. */
export function chatOfPrompt({ chat }: CompletionsRequest, prompt: string): ChatRequest {
  return { ...chat, messages: [{ role: 'user', content: prompt }], textBytes: Buffer.byteLength(prompt) }
}
