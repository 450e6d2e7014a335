import type { ChunkIdentity } from '../kinds/chat-answer.ts'

/** One client chunk of wire.md D-3.3 as SSE bytes. */
export function chunkBytes(identity: ChunkIdentity, index: number, delta: Readonly<Record<string, unknown>>, logprobs: unknown = null): Buffer {
  return Buffer.from(`${chunkHead(identity)}${JSON.stringify({ index, delta, finish_reason: null, native_finish_reason: null, logprobs })}]}\n\n`)
}

/** Everything of a chunk before its choice: constant for a stream. */
function chunkHead({ id, created, model, provider }: ChunkIdentity): string {
  return `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"provider":${JSON.stringify(provider)},"choices":[`
}

/** What stands around the text of an ordinary chunk of content or reasoning, so that it can be spliced. */
export function textAround(identity: ChunkIdentity, field: 'content' | 'reasoning'): { readonly before: Buffer; readonly after: Buffer } {
  return {
    before: Buffer.from(`${chunkHead(identity)}{"index":0,"delta":{"${field}":"`),
    after: Buffer.from(`"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}\n\n`),
  }
}

/** An id for a tool call whose upstream gave none: one that no other call of the conversation has, as clients send it back. */
export function toolCallId(generationId: string, choice: number, index: number): string {
  return `call_${generationId.split('-').at(-1) ?? ''}_${choice}_${index}`
}
