import type { SpeechFormat } from '../../kinds/speech/format.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { askSpeech } from '../upstream/speech.ts'
import { type UpstreamRequest, UnsendableError } from '../ports/upstream-request.ts'
import type { SpeechCall, SpeechProtocol } from '../ports/audio-protocol.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import { deepgramCredentials, deepgramError } from './error.ts'

/** The provider refuses longer texts. */
const CHARACTERS_MAX = 2_000
const ENCODINGS: Readonly<Record<SpeechFormat, Readonly<Record<string, string>>>> = {
  mp3: { encoding: 'mp3' },
  opus: { encoding: 'opus', container: 'ogg' },
  aac: { encoding: 'aac' },
  flac: { encoding: 'flac', sample_rate: '24000' },
  wav: { encoding: 'linear16', container: 'wav', sample_rate: '24000' },
  pcm: { encoding: 'linear16', container: 'none', sample_rate: '24000' },
}
const FORMATS: readonly SpeechFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']
/** The name of a family of voices, without a voice. */
const FAMILY = /^aura(-\d+)?$/

export function deepgramSpeak(transport: Transport, now: () => number): SpeechProtocol {
  const error = (status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure =>
    deepgramError(status, body, headers, now())
  return {
    formats: () => FORMATS,
    ask: (call, sink) =>
      askSpeech(transport, call, () => requestOf(call), { idHeader: 'dg-request-id', piece: null, error }, sink),
  }
}

function requestOf(call: SpeechCall): UpstreamRequest {
  if (call.request.characters > CHARACTERS_MAX)
    throw new UnsendableError(`input: this provider takes at most ${CHARACTERS_MAX} characters`)
  const query = new URLSearchParams({ model: modelOf(call), ...ENCODINGS[call.format] })
  return {
    path: `/speak?${query}`,
    body: { text: call.request.input },
    headers: deepgramCredentials(call.apiKey),
  }
}

/** The voice is part of the model's name here: `aura-2` and `thalia` become `aura-2-thalia-en`. */
function modelOf({ endpoint: { upstreamModel }, voice }: SpeechCall): string {
  if (voice === null) return upstreamModel
  if (voice.startsWith('aura-')) return voice
  return FAMILY.test(upstreamModel) ? `${upstreamModel}-${voice.includes('-') ? voice : `${voice}-en`}` : upstreamModel
}
