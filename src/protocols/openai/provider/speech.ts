import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { SPEECH_FORMATS } from '../../../kinds/speech.ts'
import { failure, garbage, type AttemptFailure } from '../../../providers/ports/attempt-failure.ts'
import { askSpeech, type SpeechPiece } from '../../upstream/audio.ts'
import type { UpstreamRequest } from '../../ports/upstream-request.ts'
import type { SpeechCall, SpeechProtocol } from '../../../providers/ports/audio-protocol.ts'
import { isErrorBody } from '../../../providers/wire/error-body.ts'
import { openaiUsage } from '../../../providers/openai/usage.ts'
import { objectOf, parseJson, textOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { eventFailure, upstreamFailure } from '../../../providers/wire/upstream-error.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const VOICE = 'alloy'
/** Models that cannot stream events, and so report no usage. */
const BARE_MODELS = /^tts-1(-hd)?(-|$)/
const NOTHING: SpeechPiece = { audio: null, usage: null, done: false }

/** `/audio/speech` of OpenAI and every dialect of it. */
export function openaiSpeech(transport: Transport, now: () => number): SpeechProtocol {
  return {
    formats: () => SPEECH_FORMATS,
    ask: (call, sink) => {
      const reading = {
        idHeader: 'x-request-id',
        piece: inEvents(call) ? readPiece : null,
        ended: () => failure('cut', null, 'the speech ended without its last event'),
        error: (status: number, body: unknown, headers: Parameters<typeof upstreamFailure>[2]) =>
          upstreamFailure(status, body, headers, now()),
      }
      return askSpeech(transport, call, () => requestOf(call), reading, sink)
    },
  }
}

function takes({ endpoint: { supportedParameters } }: SpeechCall, name: string): boolean {
  return supportedParameters === null || supportedParameters.includes(name)
}

/** Only in events does the provider report the tokens that the client pays for. */
function inEvents(call: SpeechCall): boolean {
  return call.wantsUsage && takes(call, 'stream_format') && !BARE_MODELS.test(call.endpoint.upstreamModel)
}

function requestOf(call: SpeechCall): UpstreamRequest {
  const { endpoint, request, format, voice } = call
  const body = {
    model: endpoint.upstreamModel,
    input: request.input,
    voice: voice ?? VOICE,
    response_format: format,
    ...(request.speed === null || !takes(call, 'speed') ? {} : { speed: request.speed }),
    ...(request.instructions === null || !takes(call, 'instructions') ? {} : { instructions: request.instructions }),
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
  if (isErrorBody(event)) return eventFailure(event['error'])
  if (event['type'] === 'speech.audio.delta')
    return { ...NOTHING, audio: Buffer.from(textOf(event['audio']) ?? '', 'base64') }
  if (event['type'] === 'speech.audio.done')
    return { audio: null, usage: spoken(openaiUsage(event['usage'])), done: true }
  return NOTHING
}

/** All output of speech is audio, whatever name the provider counts it under. */
export function spoken(report: UsageReport | null): UsageReport | null {
  if (report === null) return null
  const { output = 0, reasoning = 0, audio_output: sound = 0, ...input } = report.usage
  return { ...report, usage: { ...input, audio_output: output + reasoning + sound }, reasoningTokens: 0 }
}
