import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import { invalidInput, quoted } from '../../kinds/fields/body-fields.ts'
import {
  CONTENT_TYPES,
  SPEECH_FORMATS,
  SPEECH_VOICES,
  type SpeechFormat,
  type SpeechRequest,
  wavHead,
} from '../../kinds/speech.ts'
import type { Usage } from '../../tables/meters.ts'
import type { PlanInput } from '../plan/plan.ts'
import { planUnits } from '../plan/unit-plan.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { Operation, AnswerBody, Attempt, AttemptStart, MeasuredUsage, ReportedUsage } from '../relay/operation.ts'
import { answerMax, documentedMax } from '../plan/context-check.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { countsTokens, measureUsage, reportOf, withUnits } from '../plan/usage-bounds.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../../protocols/ports/call.ts'
import type { SpeechProtocol, SpeechSink } from '../../protocols/upstream/audio.ts'

/** Used for a provider that reports no tokens: a second of speech is about 15 characters and 25 audio tokens. */
const CHARACTERS_PER_SECOND = 15
const TOKENS_PER_SECOND = 25

interface SpeechAttemptParts {
  readonly request: SpeechRequest
  /** The format requested from the provider. */
  readonly format: SpeechFormat
  readonly voice: string | null
  readonly speech: SpeechProtocol
  readonly start: AttemptStart
  readonly sink: AnswerSink<Buffer>
}

/**
 * One provider's speech, passed on as it comes. Its characters are charged from its first byte on (guarantees.md 3.5
 * rule 17).
 */
class SpeechAttempt implements Attempt, SpeechSink {
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

  /** Every byte counts as content, since every byte is sound. */
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
    this.#usage = failure.billed ?? this.#usage
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

  /** The provider bills the characters when it reads them. */
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
      reportOf({ input: this.#inputTokens(), audio_output: Math.min(sound, answerMax(model, endpoint)) }),
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

  /** Sound has no form for an error, so the connection is broken instead. */
  errorTail(): null {
    return null
  }

  #inputTokens(): number {
    const { request, start } = this.#parts
    return start.tokens.countText(request.input + (request.instructions ?? ''), start.candidate.model.tokenizer)
  }
}

const FIRST_VOICE = 'alloy'

/** Speech requests on the paid path: bytes are sent as they arrive, and the input is charged. */
export function speechOperations(adapters: AdapterTable): (request: SpeechRequest) => Operation {
  const made = madeBy(adapters)
  return (request) => {
    const able = (endpoint: Endpoint): boolean => sentFormat(made(endpoint) ?? [], request.format) !== null
    const sent = [
      ...(request.speed === null ? [] : ['speed']),
      ...(request.instructions === null ? [] : ['instructions']),
    ]
    return {
      type: 'tts',
      delivery: 'bytes',
      contentType: CONTENT_TYPES[request.format],
      sessionId: request.sessionId,
      fitsFunds: false,
      plan: (input: PlanInput) =>
        planUnits({
          ...input,
          request,
          type: 'tts',
          sent,
          able,
          check: (model) => check(request, model, made),
          worstUsage: (model, endpoint) => worstUsage(request, model, endpoint),
          mayExceed: (model, endpoint) => countsTokens(endpoint) && documentedMax(model, endpoint) === null,
        }),
      recounted: () => null,
      begin: (start, sink) => {
        const { adapter, candidate } = start
        const format = sentFormat(made(candidate.endpoint) ?? [], request.format)
        if (adapter.speech === undefined || format === null)
          throw new Error(
            `Adapter '${adapter.name}' cannot speak ${request.format}: the plan lets only those through that can.`,
          )
        return new SpeechAttempt({
          request,
          format,
          voice: voiceOf(request, candidate.model),
          speech: adapter.speech,
          start,
          sink,
        })
      },
    }
  }
}

type FormatsOf = (endpoint: Endpoint) => readonly SpeechFormat[] | null

function madeBy(adapters: AdapterTable): FormatsOf {
  return (endpoint) => adapters.get(endpoint.provider.adapter)?.speech?.formats(endpoint) ?? null
}

/**
 * The formats that a model offers: those on its list that one of its providers can produce, or that can be made from
 * another format.
 */
export function speechFormats(model: Model, adapters: AdapterTable): readonly SpeechFormat[] {
  return offered(model, madeBy(adapters))
}

function offered({ endpoints, supportedFormats }: Model, made: FormatsOf): readonly SpeechFormat[] {
  const byProviders = endpoints.flatMap((endpoint) => made(endpoint) ?? [])
  const listed =
    supportedFormats === null ? SPEECH_FORMATS : SPEECH_FORMATS.filter((format) => supportedFormats.includes(format))
  return SPEECH_FORMATS.filter(
    (format) => sentFormat(byProviders, format) !== null && sentFormat(listed, format) !== null,
  )
}

/** The format to request from a provider; null = the provider has none from which the client's format can be made. */
function sentFormat(formats: readonly SpeechFormat[], format: SpeechFormat): SpeechFormat | null {
  if (formats.includes(format)) return format
  return format === 'wav' && formats.includes('pcm') ? 'pcm' : null
}

function check(request: SpeechRequest, model: Model, made: FormatsOf): void {
  const voices = model.supportedVoices ?? SPEECH_VOICES
  if (request.voice !== null && !voices.includes(request.voice))
    throw invalidInput(
      'voice',
      `must be one of ${voices.join(', ')} for model '${model.id}', got '${quoted(request.voice)}'`,
    )
  // A model whose providers have no speech cannot be sold; it gets the same message as any such model.
  if (!model.endpoints.some((endpoint) => made(endpoint) !== null)) return
  const formats = offered(model, made)
  if (!formats.includes(request.format))
    throw new ApiError(
      'invalid_response_format',
      `Invalid response_format: model '${model.id}' speaks ${formats.join(', ')}, got '${request.format}'`,
    )
}

function voiceOf(request: SpeechRequest, model: Model): string | null {
  if (request.voice !== null || model.supportedVoices === null) return request.voice
  return model.supportedVoices.includes(FIRST_VOICE) ? FIRST_VOICE : (model.supportedVoices[0] ?? null)
}

/** The characters are known; there are at most as many tokens as bytes, and the model's maximum bounds the sound. */
function worstUsage({ input, instructions, characters }: SpeechRequest, model: Model, endpoint: Endpoint): Usage {
  if (!countsTokens(endpoint)) return { characters }
  return {
    characters,
    input: Buffer.byteLength(input) + Buffer.byteLength(instructions ?? ''),
    audio_output: documentedMax(model, endpoint) ?? 0,
  }
}
