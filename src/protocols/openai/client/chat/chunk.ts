import type { ChunkIdentity } from '../../../../kinds/chat/answer.ts'

export interface TextAround {
  readonly before: Buffer
  readonly after: Buffer
}

/** One client chunk of wire.md D-3.3 as SSE; `head` is the stream's. */
export function chunkText(
  head: string,
  index: number,
  delta: Readonly<Record<string, unknown>>,
  logprobs: unknown = null,
): string {
  return `${head}{"index":${index},"delta":${JSON.stringify(delta)},"finish_reason":null,"native_finish_reason":null,"logprobs":${JSON.stringify(logprobs)}}]}\n\n`
}

/** Everything of a chunk before its choice: constant for a stream. */
export function chunkHead({ id, created, model, provider }: ChunkIdentity): string {
  return `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"provider":${JSON.stringify(provider)},"choices":[`
}

/** The bytes around the text of an ordinary chunk of content or reasoning, so that an adapter can splice the text. */
export function textAround(identity: ChunkIdentity, field: 'content' | 'reasoning'): TextAround {
  return {
    before: Buffer.from(`${chunkHead(identity)}{"index":0,"delta":{"${field}":"`),
    after: Buffer.from(`"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}\n\n`),
  }
}
