import { TraitTable } from '../../../catalog/trait-table.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { SPEECH_FORMATS } from '../../../kinds/speech.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { askSpeech, type SpeechPiece, type SpeechCall, type SpeechProtocol } from '../../upstream/audio.ts'
import { takes, type UpstreamRequest } from '../../ports/call.ts'
import { errorIn, isErrorBody } from '../../wire/error-body.ts'
import { openaiUsage } from './usage.ts'
import { objectOf, parseJson, textOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const VOICE = 'alloy'
const PAGE = { source: 'https://platform.openai.com/docs/api-reference/audio/createSpeech', date: '2026-11-27' }
/** Whether a model streams events, and so reports its usage. */
export const SPEECH_TRAITS = new TraitTable<boolean>([
  { of: 'gpt tts', traits: true, ...PAGE },
  { of: 'tts', from: '1', traits: false, ...PAGE },
  { of: 'tts', from: '2', traits: true, ...PAGE },
])
const NOTHING: SpeechPiece = { audio: null, usage: null, done: false }

/** `/audio/speech` of OpenAI and every dialect of it. */
export function openaiSpeech(transport: Transport): SpeechProtocol {
  return askSpeech(transport, {
    formats: () => SPEECH_FORMATS,
    request: requestOf,
    reads: (call) => ({
      idHeader: 'x-request-id',
      ...(inEvents(call) ? { piece: readPiece } : {}),
      ended: () => failure('cut', null, 'the speech ended without its last event'),
    }),
  })
}

/** Whether events are requested: only in them does the provider report the tokens that the client pays for. */
function inEvents(call: SpeechCall): boolean {
  return (
    call.wantsUsage && takes(call.endpoint, 'stream_format') && SPEECH_TRAITS.of(call.endpoint.upstreamModel) !== false
  )
}

function requestOf(call: SpeechCall): UpstreamRequest {
  const { endpoint, request, format, voice } = call
  const body = {
    model: endpoint.upstreamModel,
    input: request.input,
    voice: voice ?? VOICE,
    response_format: format,
    ...(request.speed === null || !takes(endpoint, 'speed') ? {} : { speed: request.speed }),
    ...(request.instructions === null || !takes(endpoint, 'instructions')
      ? {}
      : { instructions: request.instructions }),
    ...(inEvents(call) ? { stream_format: 'sse' } : {}),
  }
  return {
    path: `/audio/speech${endpoint.provider.dialect.query}`,
    body,
    headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
  }
}

function readPiece(data: Buffer): SpeechPiece | AttemptFailure {
  const event = objectOf(parseJson(data))
  if (event === null) return data.toString('latin1') === '[DONE]' ? NOTHING : garbage('no event of speech', data)
  if (isErrorBody(event)) {
    const usage = spoken(openaiUsage(event['usage']))
    return billed(eventFailure(errorIn(event)), usage)
  }
  if (event['type'] === 'speech.audio.delta')
    return { ...NOTHING, audio: Buffer.from(textOf(event['audio']) ?? '', 'base64') }
  if (event['type'] === 'speech.audio.done')
    return { audio: null, usage: spoken(openaiUsage(event['usage'])), done: true }
  return NOTHING
}

/** The usage with all output as audio, whatever name the provider counts it under. */
export function spoken(report: UsageReport | null): UsageReport | null {
  if (report === null) return null
  const { output = 0, reasoning = 0, audio_output: sound = 0, ...input } = report.usage
  return { ...report, usage: { ...input, audio_output: output + reasoning + sound }, reasoningTokens: 0 }
}
