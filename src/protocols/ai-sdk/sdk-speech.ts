import { audioContainer } from '../../kinds/transcription/audio-container.ts'
import { SPEECH_FORMATS, type SpeechFormat } from '../../kinds/speech.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import { type SpeechCall, type SpeechProtocol, wholeSound, type Sound } from '../upstream/audio.ts'
import type { SdkSettings } from './sdk-packages.ts'
import { sdkResult, type SdkPorts } from './sdk-run.ts'

const SOUND_BYTES_MAX = 64 * 1_048_576
/** The container of each format; bare samples have none. */
const CONTAINERS: Readonly<Record<SpeechFormat, ReturnType<typeof audioContainer>>> = {
  mp3: 'mp3',
  opus: 'ogg',
  aac: 'aac',
  flac: 'flac',
  wav: 'wav',
  pcm: null,
}

/** Speech through a package, which returns it whole. No package lists its provider's formats: the model's row does. */
export function sdkSpeech(ports: SdkPorts): SpeechProtocol {
  return {
    formats: () => SPEECH_FORMATS,
    ask: (call, sink) =>
      wholeSound(sink, (whole) =>
        sdkResult<Sound>(ports, call, whole, (settings) => speak(ports, call, settings), {
          bytesMax: SOUND_BYTES_MAX,
          takesBytes: true,
        }),
      ),
  }
}

async function speak(
  { packages }: SdkPorts,
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
  // A package that cannot ask for a format gives a warning and another format.
  if (container !== null && format !== 'pcm' && container !== CONTAINERS[format])
    return failure('garbage', null, `${container} instead of ${format}`)
  return { audio: bytes, usage: null, upstreamId: null }
}
