import type { UsageReport } from '../kinds/chat/answer.ts'
import { wavHead, type SpeechFormat } from '../kinds/speech.ts'
import type { SpeechRequest } from '../kinds/speech/request.ts'
import type { Usage } from '../tables/meters.ts'
import { measureUsage } from '../pay/plan/usage-bounds.ts'
import type { AttemptFailure } from '../providers/ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../protocols/ports/call.ts'
import type { SpeechProtocol, SpeechSink } from '../providers/ports/audio-protocol.ts'
import type { AnswerBody, Attempt, AttemptStart, MeasuredUsage, ReportedUsage } from '../pay/relay/operation.ts'
import { answerMax, countedTokens, countsTokens, withUnits } from '../pay/operations/audio-usage.ts'

/** For a provider that reports no tokens: a second of speech is about 15 characters and 25 audio tokens. */
const CHARACTERS_PER_SECOND = 15
const TOKENS_PER_SECOND = 25

export interface SpeechAttemptParts {
  readonly request: SpeechRequest
  /** The format requested from the provider. */
  readonly format: SpeechFormat
  readonly voice: string | null
  readonly speech: SpeechProtocol
  readonly start: AttemptStart
  readonly sink: AnswerSink<Buffer>
}

/**
 * One provider's speech, passed on as it comes. From its first byte its characters are charged (guarantees.md 3.5 rule
 * 17).
 */
export class SpeechAttempt implements Attempt, SpeechSink {
  readonly finish = null
  readonly native = null
  readonly call: RunningCall
  upstreamId: string | null = null
  firstTokenMs: number | null = null
  readonly #parts: SpeechAttemptParts
  #usage: UsageReport | null = null

  constructor(parts: SpeechAttemptParts) {
    this.#parts = parts
    const { request, format, voice, speech, start } = parts
    const { apiKey, generationId } = start
    const { endpoint } = start.candidate
    this.call = speech.ask(
      { endpoint, apiKey, request, generationId, format, voice, wantsUsage: countsTokens(endpoint) },
      this,
    )
  }

  /** Every byte is sound. */
  get says(): boolean {
    return this.firstTokenMs !== null
  }

  headers(upstreamId: string | null): void {
    this.upstreamId = upstreamId
    this.#parts.sink.headers()
  }

  push(bytes: Buffer): boolean {
    const { request, format, start, sink } = this.#parts
    const isFirst = this.firstTokenMs === null
    this.firstTokenMs ??= start.clock.monotonic()
    return sink.push(isFirst && format !== request.format ? Buffer.concat([wavHead(null), bytes]) : bytes)
  }

  usage(usage: UsageReport): void {
    this.#usage = usage
  }

  end(): void {
    this.#parts.sink.end()
  }

  fail(failure: AttemptFailure): void {
    this.#parts.sink.fail(failure)
  }

  isEmpty(): boolean {
    return this.firstTokenMs === null
  }

  measured(): MeasuredUsage {
    const { request, start } = this.#parts
    const { model, endpoint } = start.candidate
    if (this.#usage === null || !countsTokens(endpoint)) return { ...this.delivered(), basis: 'counted' }
    const tokens = measureUsage(this.#usage, {
      inputMax: () => Buffer.byteLength(request.input) + Buffer.byteLength(request.instructions ?? ''),
      outputMax: answerMax(model, endpoint),
      count: () => this.#spoken(),
    })
    const units = { characters: request.characters }
    return { ...tokens, report: withUnits(units, tokens.report), reported: withUnits(units, tokens.reported) }
  }

  delivered(): ReportedUsage {
    const spoken = this.firstTokenMs === null ? withUnits({}, null) : this.#spoken()
    return { report: spoken, reported: spoken, flagged: false }
  }

  /** Characters are billed when they are read. */
  lost(): Usage {
    return this.#spoken().usage
  }

  #spoken(): UsageReport {
    const { request, start } = this.#parts
    const { model, endpoint } = start.candidate
    const units = { characters: request.characters }
    if (!countsTokens(endpoint)) return withUnits(units, null)
    const sound = Math.ceil((request.characters / CHARACTERS_PER_SECOND) * TOKENS_PER_SECOND)
    return withUnits(
      units,
      countedTokens({ input: this.#inputTokens(), audio_output: Math.min(sound, answerMax(model, endpoint)) }),
    )
  }

  reported(): ReportedUsage | null {
    return this.#usage === null ? null : this.measured()
  }

  body(): AnswerBody {
    throw new Error('Speech is sent as it comes.')
  }

  tail(): Buffer {
    return Buffer.alloc(0)
  }

  /** Sound has no form for an error: the connection is broken instead. */
  errorTail(): null {
    return null
  }

  #inputTokens(): number {
    const { request, start } = this.#parts
    return start.tokens.countText(request.input + (request.instructions ?? ''), start.candidate.model.tokenizer)
  }
}
