import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { invalidInput, quoted } from '../../kinds/fields/body-fields.ts'
import { lastSecond } from '../../kinds/transcription/transcript.ts'
import {
  renderTranscript,
  TEXT_TYPE,
  transcriptEvents,
  type TranscriptUsage,
} from '../../protocols/openai/client/transcript.ts'
import {
  needsTimestamps,
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
  type TranscriptionRequest,
} from '../../kinds/transcription/request.ts'
import type { Usage } from '../../tables/meters.ts'
import { countsTokens, INPUT_SLACK, measureUsage, reportOf, withUnits } from '../plan/usage-bounds.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../../protocols/upstream/audio.ts'
import type { AttemptStart, MeasuredUsage } from '../relay/operation.ts'
import { ceilMicro, parseDecimal, shift } from '../../base/money.ts'
import { answerMax, documentedMax } from '../plan/context-check.ts'
import type { UnitKind } from './unit.ts'

/** The most tokens per second that any provider counts, and the usual number. */
const TOKENS_PER_SECOND_MAX = 50
const TOKENS_PER_SECOND = 10
/** The most tokens of the provider's instructions and the prompt together. */
const PROMPT_TOKENS = 500
/** Providers round a length up to whole seconds, or bill at least a minute. */
const ROUNDING_SECONDS = 1
const ROUNDING_SECONDS_MAX = 60

/** Transcriptions, and translations into English, which are otherwise the same. */
export function transcriptionKind(
  task: TranscriptionRequest['task'],
  adapters: AdapterTable,
): UnitKind<TranscriptionRequest, TranscriptionResult> {
  const protocolOf = ({ provider }: Endpoint): TranscriptionProtocol | undefined =>
    adapters.get(provider.adapter)?.transcription
  const speaks = (endpoint: Endpoint): boolean =>
    task === 'transcribe' ? protocolOf(endpoint) !== undefined : protocolOf(endpoint)?.translates(endpoint) === true
  const times = (endpoint: Endpoint): boolean => protocolOf(endpoint)?.timestamps(endpoint) === true
  const speakers = (endpoint: Endpoint): boolean => protocolOf(endpoint)?.speakers?.(endpoint) === true
  const gives = (format: TranscriptFormat, endpoint: Endpoint): boolean =>
    (!needsTimestamps(format) || times(endpoint)) && (format !== 'diarized_json' || speakers(endpoint))
  const prices = ({ language }: TranscriptionRequest, endpoint: Endpoint): boolean =>
    language === null || protocolOf(endpoint)?.prices?.(language) !== false
  return {
    type: task === 'translate' ? 'translation' : 'transcription',
    sent: givenNames,
    dropped: (request, { adapter, candidate: { endpoint } }) => {
      const carried = adapter.transcription?.carries?.(endpoint, request) ?? adapter.parameters.transcription
      return [...givenNames(request), ...speakerNames(request)].filter((name) => !carried.includes(name))
    },
    check: (request, model) =>
      check(request, model, { isKnown: (endpoint) => protocolOf(endpoint) !== undefined, speaks, gives, prices }),
    able: (request, endpoint) => speaks(endpoint) && gives(request.format, endpoint) && prices(request, endpoint),
    worstUsage,
    mostUsage,
    // Providers round a length up, and only they count the tokens of sound.
    mayExceed: () => true,
    ask: (adapter, call, sink) => {
      if (adapter.transcription === undefined)
        throw new Error(`Adapter '${adapter.name}' has no transcriptions: the plan lets only those through that have.`)
      return adapter.transcription.ask(call, sink)
    },
    // Silence has no words, but the model has processed it.
    isEmpty: () => false,
    measured,
    body: (request, result, _identity, usage) => {
      const body = renderTranscript(request, result.transcript, usageOf(request, result, usage))
      return typeof body === 'string' ? { body, contentType: TEXT_TYPE } : { body }
    },
    streams: ({ stream }) => stream,
    events: (request, result, _identity, usage) =>
      transcriptEvents(request, result.transcript, usageOf(request, result, usage)),
  }
}

function givenNames({ language, prompt, temperature }: TranscriptionRequest): readonly string[] {
  return Object.entries({ language, prompt, temperature }).flatMap(([name, value]) => (value === null ? [] : [name]))
}

/** Parameters that only some models of OpenAI take. */
function speakerNames({ speakers, chunking, logprobs }: TranscriptionRequest): readonly string[] {
  return [
    ...(speakers.names.length > 0 ? ['known_speaker_names'] : []),
    ...(speakers.references.length > 0 ? ['known_speaker_references'] : []),
    ...(chunking === null ? [] : ['chunking_strategy']),
    ...(logprobs ? ['include'] : []),
  ]
}

function usageOf(
  { audio }: TranscriptionRequest,
  { seconds: reported }: TranscriptionResult,
  { report, chargedMicro }: ChargedUsage,
): TranscriptUsage {
  const seconds = (report.usage.deciseconds ?? 0) / 10
  const { inputTokens: input, outputTokens: output } = report
  const tokens = input + output > 0 ? { input, output } : null
  return { seconds, duration: reported ?? audio.seconds ?? seconds, tokens, chargedMicro }
}

interface Abilities {
  readonly isKnown: (endpoint: Endpoint) => boolean
  readonly speaks: (endpoint: Endpoint) => boolean
  /** Whether the endpoint's answers have what a format needs. */
  readonly gives: (format: TranscriptFormat, endpoint: Endpoint) => boolean
  readonly prices: (request: TranscriptionRequest, endpoint: Endpoint) => boolean
}

/** A model whose providers have no transcription cannot be sold; it gets the same message as any such model. */
function check(request: TranscriptionRequest, model: Model, { isKnown, speaks, gives, prices }: Abilities): void {
  const { task, format } = request
  if (!model.endpoints.some(isKnown)) return
  const able = model.endpoints.filter(speaks)
  if (able.length === 0)
    throw new ApiError(
      'model_not_supported',
      `Model '${model.id}' does not support audio/translations. Supported: audio/transcriptions`,
    )
  if (!able.some((endpoint) => prices(request, endpoint)))
    throw invalidInput(
      'language',
      `'${quoted(request.language ?? '')}' costs more than the price of model '${model.id}' covers. Allowed: the code of one language, or none, so that it is detected`,
    )
  const isGiven = (name: TranscriptFormat): boolean =>
    able.some((endpoint) => gives(name, endpoint) && prices(request, endpoint))
  if (isGiven(format)) return
  const allowed = TRANSCRIPT_FORMATS.filter(
    (name) => isGiven(name) && (task === 'transcribe' || name !== 'diarized_json'),
  )
  throw new ApiError(
    'invalid_response_format',
    `Invalid response_format: model '${model.id}' gives no ${format === 'diarized_json' ? 'speakers' : 'times'}, which ${format} needs. Allowed for ${task === 'translate' ? 'translations' : 'transcriptions'} by it: ${allowed.join(', ')}`,
  )
}

/** The seconds that the hold covers. OpenAI also bills the clips of known speakers. */
function heldSeconds({ audio, format, speakers }: TranscriptionRequest): number {
  return audio.heldSeconds + (format === 'diarized_json' ? speakers.heldSeconds : 0)
}

/** The most seconds that are charged, whatever a provider reports. */
function secondsMax({ audio, format, speakers }: TranscriptionRequest): number {
  return audio.secondsMax + (format === 'diarized_json' ? speakers.secondsMax : 0) + ROUNDING_SECONDS_MAX
}

function promptTokensMax({ prompt, speakers }: TranscriptionRequest): number {
  return PROMPT_TOKENS + Buffer.byteLength([prompt ?? '', ...speakers.names].join(''))
}

function worstUsage(request: TranscriptionRequest, model: Model, endpoint: Endpoint): Usage {
  const seconds = heldSeconds(request)
  const deciseconds = decisecondsOf(seconds)
  if (!countsTokens(endpoint)) return { deciseconds }
  const text = promptTokensMax(request)
  return {
    deciseconds,
    input: text,
    audio_input: Math.ceil(seconds * TOKENS_PER_SECOND_MAX),
    output: documentedMax(model, endpoint) ?? 0,
  }
}

/** The bounds that `measured` applies. All tokens of the input may be text, or all may be sound. */
function mostUsage(request: TranscriptionRequest, model: Model, endpoint: Endpoint): Usage {
  const deciseconds = decisecondsOf(secondsMax(request))
  if (!countsTokens(endpoint)) return { deciseconds }
  const input = inputMax(request, model) + INPUT_SLACK
  return { deciseconds, input, audio_input: input, output: answerMax(model, endpoint) }
}

/** The most input tokens; if the context is unknown, those of the sound at the highest rate. */
function inputMax(request: TranscriptionRequest, { contextLength }: Model): number {
  return promptTokensMax(request) + Math.max(contextLength ?? 0, Math.ceil(secondsMax(request) * TOKENS_PER_SECOND_MAX))
}

function measured(request: TranscriptionRequest, result: TranscriptionResult, start: AttemptStart): MeasuredUsage {
  const { model, endpoint } = start.candidate
  const { seconds, reportedSeconds, flagged, isReported } = lengthOf(request, result)
  const units = { deciseconds: decisecondsOf(seconds) }
  const reportedUnits = { deciseconds: decisecondsOf(reportedSeconds) }
  if (!countsTokens(endpoint))
    return {
      report: withUnits(units, null),
      reported: withUnits(reportedUnits, null),
      flagged,
      basis: isReported ? 'provider_usage' : 'counted',
    }
  const tokens = measureUsage(result.usage ?? { ...reportOf({}), missing: ['input', 'output'] }, {
    inputMax: () => inputMax(request, model),
    outputMax: answerMax(model, endpoint),
    count: () => heard(request, result, seconds, start),
  })
  return {
    report: withUnits(units, tokens.report),
    reported: withUnits(reportedUnits, tokens.reported),
    flagged: flagged || tokens.flagged,
    basis: tokens.basis,
  }
}

function heard(
  request: TranscriptionRequest,
  { transcript }: TranscriptionResult,
  seconds: number,
  { tokens, candidate }: AttemptStart,
): UsageReport {
  const { tokenizer } = candidate.model
  return reportOf({
    input: tokens.countText(request.prompt ?? '', tokenizer),
    audio_input: Math.ceil(seconds * TOKENS_PER_SECOND),
    output: tokens.countText(transcript.text, tokenizer),
  })
}

interface SoundLength {
  /** The length that the customer is charged for. */
  readonly seconds: number
  /** The length that the provider bills. */
  readonly reportedSeconds: number
  readonly flagged: boolean
  /** Whether the provider reported it. */
  readonly isReported: boolean
}

/**
 * The length of the sound: as the provider reports it, else as its container states it. A container can state anything,
 * so it does not count if the provider billed for clearly more, or heard words after its end. Nobody is charged for
 * more seconds than the bytes can hold.
 */
function lengthOf(
  request: TranscriptionRequest,
  { seconds, billedSeconds, implausible, transcript }: TranscriptionResult,
): SoundLength {
  const { audio } = request
  const most = secondsMax(request)
  const length = (said: number, isReported: boolean): SoundLength => ({
    seconds: Math.min(said, most),
    reportedSeconds: billedSeconds ?? said,
    flagged: implausible || said > most,
    isReported,
  })
  if (seconds !== null)
    return length(
      billedSeconds !== null && billedSeconds > seconds + ROUNDING_SECONDS_MAX ? billedSeconds : seconds,
      true,
    )
  if (billedSeconds !== null && (audio.seconds === null || billedSeconds > audio.seconds + ROUNDING_SECONDS))
    return length(billedSeconds, true)
  const last = lastSecond(transcript)
  if (audio.seconds !== null)
    return length(Math.max(audio.seconds, last > audio.seconds + ROUNDING_SECONDS ? last : 0), false)
  return length(last > 0 ? last : audio.heldSeconds, false)
}

/** Seconds rounded up once to tenths (wire.md D-5.2), exactly: 1.1 × 10 is more than 11 in floating point. */
function decisecondsOf(seconds: number): number {
  const decimal = parseDecimal(String(seconds))
  return decimal === null || decimal.digits <= 0n ? 0 : Number(ceilMicro(shift(decimal, 1)))
}
