import type { ApiError } from '../errors.ts'
import type { Micro } from '../money.ts'
import type { AnswerEvent } from './answer-event.ts'
import type { ChatAnswer, ChunkIdentity, StreamEnd, UsageReport } from './chat-answer.ts'
import type { TextAround } from './chat-chunk.ts'

/** What an answer used and what it cost. */
export interface ChargedUsage {
  readonly report: UsageReport
  readonly chargedMicro: Micro
}

/** How a client reads the answer of a model that speaks: chat, completions and responses are three of them. */
export interface AnswerFormat {
  /** One for each attempt: a stream begins anew with it. */
  writer(identity: ChunkIdentity): AnswerWriter
  /**
   * The bytes around the text of an ordinary chunk, where an adapter may splice it; null = every event is written one
   * by one.
   */
  splice(identity: ChunkIdentity): ((field: 'content' | 'reasoning') => TextAround) | null
}

/** Writes one answer. Stateful: calls come in the order of the answer. */
export interface AnswerWriter {
  /** The event-stream bytes of one batch. */
  write(events: readonly AnswerEvent[]): Buffer
  /** The last bytes of a stream. */
  end(end: StreamEnd, usage: ChargedUsage): Buffer
  /** The last bytes of a stream that failed after its head; null where what was charged is not known. */
  fail(error: ApiError, usage: ChargedUsage | null): Buffer
  /** The body of a plain answer; `events` are all of it, for a format that shows their order. */
  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown>
}
