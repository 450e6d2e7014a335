import type { SpeechFormat } from '../../kinds/speech/format.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { askSpeech } from '../upstream/speech.ts'
import { type UpstreamRequest, UnsendableError } from '../ports/upstream-request.ts'
import type { SpeechCall, SpeechProtocol } from '../ports/audio-protocol.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import { elevenlabsCredentials, elevenlabsError } from './error.ts'

/** One of the provider's voices, for a model whose row declares none. */
const VOICE = 'JBFqnCBsd6RMkjVDRZzb'
const SPEED_MIN = 0.7
const SPEED_MAX = 1.2
const OUTPUTS: ReadonlyMap<SpeechFormat, string> = new Map([
  ['mp3', 'mp3_44100_128'],
  ['opus', 'opus_48000_64'],
  ['pcm', 'pcm_24000'],
])

export function elevenlabsSpeech(transport: Transport, now: () => number): SpeechProtocol {
  const error = (status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure =>
    elevenlabsError(status, body, headers, now())
  return {
    formats: () => [...OUTPUTS.keys()],
    ask: (call, sink) =>
      askSpeech(transport, call, () => requestOf(call), { idHeader: 'request-id', piece: null, error }, sink),
  }
}

function requestOf({ endpoint, apiKey, request, voice, format }: SpeechCall): UpstreamRequest {
  const { speed } = request
  if (speed !== null && (speed < SPEED_MIN || speed > SPEED_MAX))
    throw new UnsendableError(`speed: this provider speaks at ${SPEED_MIN} to ${SPEED_MAX}`)
  const query = new URLSearchParams({ output_format: OUTPUTS.get(format) ?? '' })
  const body = {
    text: request.input,
    model_id: endpoint.upstreamModel,
    ...(speed === null ? {} : { voice_settings: { speed } }),
  }
  return {
    path: `/text-to-speech/${encodeURIComponent(voice ?? VOICE)}/stream?${query}`,
    body,
    headers: elevenlabsCredentials(apiKey),
  }
}
