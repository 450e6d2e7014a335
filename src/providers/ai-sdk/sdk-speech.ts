import { audioContainer } from '../../kinds/audio-duration/audio-duration.ts'
import { SPEECH_FORMATS, type SpeechFormat } from '../../kinds/speech-format.ts'
import type { AttemptFailure } from '../adapter.ts'
import type { SpeechCall, SpeechProtocol } from '../audio-protocol.ts'
import { failure } from '../transport.ts'
import { WholeSound, type Sound } from '../whole-sound.ts'
import type { SdkCallPorts } from './sdk-call.ts'
import type { SdkSettings } from './sdk-packages.ts'
import { SdkUnitCall } from './sdk-unit-call.ts'

const SOUND_BYTES_MAX = 64 * 1_048_576
/** What a format looks like; bare samples look like nothing. */
const CONTAINERS: Readonly<Record<SpeechFormat, ReturnType<typeof audioContainer>>> = {
  mp3: 'mp3',
  opus: 'ogg',
  aac: 'aac',
  flac: 'flac',
  wav: 'wav',
  pcm: null,
}

/**
 * Speech through a package, which gives it all at once. Which formats its provider has, no package tells: the model's
 * row does.
 */
export function sdkSpeech(ports: SdkCallPorts): SpeechProtocol {
  return {
    formats: () => SPEECH_FORMATS,
    ask: (call, sink) =>
      new WholeSound(
        sink,
        (whole) =>
          new SdkUnitCall<Sound>(ports, call, whole, (settings) => speak(ports, call, settings), SOUND_BYTES_MAX, true),
      ),
  }
}

async function speak(
  { packages }: SdkCallPorts,
  { endpoint, request, format, voice }: SpeechCall,
  settings: SdkSettings,
): Promise<Sound | AttemptFailure> {
  const model = await packages.speechModel(endpoint.provider, endpoint.upstreamModel, settings)
  const { audio } = await model.doGenerate({
    text: request.input,
    outputFormat: format,
    ...(voice === null ? {} : { voice }),
    ...(request.speed === null ? {} : { speed: request.speed }),
    ...(request.instructions === null ? {} : { instructions: request.instructions }),
  })
  const bytes = typeof audio === 'string' ? Buffer.from(audio, 'base64') : Buffer.from(audio)
  const container = audioContainer(bytes)
  // A package that cannot ask for a format says so in a warning, and gives another.
  if (container !== null && format !== 'pcm' && container !== CONTAINERS[format])
    return failure('garbage', null, `${container} instead of ${format}`)
  return { audio: bytes, usage: null, upstreamId: null }
}
