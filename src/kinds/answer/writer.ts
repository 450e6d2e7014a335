import type { ApiError } from '../../base/errors.ts'
import type { Micro } from '../../base/money.ts'
import type { AnswerEvent } from './event.ts'
import type { ChatAnswer, StreamEnd, UsageReport } from '../chat/answer.ts'

/** The usage of an answer and its cost. */
export interface ChargedUsage {
  readonly report: UsageReport
  readonly chargedMicro: Micro
}

/** `cancelled`: its owner stopped it, or it ended because its client left; `failed`: its provider broke off. */
export type KeptEnd = 'ended' | 'cancelled' | 'failed'

/** The part of a stream that is still in memory. */
export interface KeptStream {
  /** Its newest event as it was sent; null = none is in memory. */
  readonly lastEvent: Buffer | null
  /** How it ended for its client; null = it still runs. */
  readonly ended: { readonly error: ApiError | null; readonly usage: ChargedUsage | null } | null
}

/**
 * Writes one answer in the client's format: chat, completions or responses. It has state: calls come in the order of
 * the answer, and each attempt has another writer, since it starts a new stream.
 */
export interface AnswerWriter {
  /** The event-stream bytes of one batch. */
  write(events: readonly AnswerEvent[]): Buffer
  /** The last bytes of a stream. */
  end(end: StreamEnd, usage: ChargedUsage): Buffer
  /** The last bytes of a stream that failed after its head; null = the charge is not known. */
  fail(error: ApiError, usage: ChargedUsage | null): Buffer
  /**
   * The answer as it is kept for its account, made before its last bytes are written; absent = answers of this format
   * are not kept.
   */
  kept?(end: StreamEnd, usage: ChargedUsage, how: KeptEnd): Record<string, unknown>
  /** The body of a plain answer; `events` has all of them, for a format that shows their order. */
  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown>
}
