import type { ApiError } from '../errors.ts'
import type { ChunkIdentity } from './chat-answer.ts'
import type { UsageBody } from './chat-render.ts'

/**
 * A paid kind as a plain value: how its request is read and how its answer is written. The relay works on the three
 * types alone, so that another kind is another row of the table and no change of the paid path.
 */
export interface Kind<Request, Answer, End> {
  /** Routes that lead to it, the first being its own. */
  readonly paths: readonly string[]
  /** `type` of the models that serve it. */
  readonly modelType: string
  /** Its name in the health record and in messages: the path without `/v1/`. */
  readonly endpointName: string
  /** Throws ApiError; `json` is the parsed body. */
  parse(json: unknown): Request
  renderAnswer(parts: { readonly identity: ChunkIdentity; readonly answer: Answer; readonly usage: UsageBody }): Record<string, unknown>
  /** null where the kind cannot stream. */
  readonly stream: KindStream<End> | null
}

export interface KindStream<End> {
  tail(parts: { readonly identity: ChunkIdentity; readonly end: End; readonly usage: UsageBody; readonly includeUsage: boolean }): Buffer
  errorTail(parts: { readonly identity: ChunkIdentity; readonly error: ApiError; readonly usage: UsageBody | null }): Buffer
}
