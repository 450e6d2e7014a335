import type { ChatRequest } from './chat/request.ts'

/** A validated legacy completions request (wire.md D-2.5). */
export interface CompletionsRequest {
  /** 1 to 20; not empty. */
  readonly prompts: readonly string[]
  /** The fields shared with chat; the longest prompt is its one user message. */
  readonly chat: ChatRequest
  /** Only a provider with a completions protocol takes these four. */
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
