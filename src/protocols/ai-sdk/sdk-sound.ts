import type { JSONObject } from '@ai-sdk/provider'
import { needsTimestamps, type TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { UnitCall } from '../ports/call.ts'
import {
  type TranscriptionProtocol,
  type TranscriptionResult,
  type SpeechCall,
  type SpeechProtocol,
  wholeSound,
  type Sound,
} from '../upstream/audio.ts'
import { TRANSCRIPT_BYTES_MAX, readLengths, readSegments, readWords } from '../upstream/transcripts.ts'
import type { SdkSettings } from './sdk-packages.ts'
import { sdkResult, type SdkPorts } from './sdk-run.ts'
import { audioContainer } from '../../kinds/transcription/audio-container.ts'
import { SPEECH_FORMATS, type SpeechFormat } from '../../kinds/speech.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'

/** Transcripts through a package. Where the provider gives no times, the whole sound is one segment. */
export function sdkTranscription(ports: SdkPorts): TranscriptionProtocol {
  return {
    timestamps: () => true,
    translates: () => false,
    ask: (call, sink) =>
      sdkResult<TranscriptionResult>(ports, call, sink, (settings) => listen(ports, call, settings), {
        bytesMax: TRANSCRIPT_BYTES_MAX,
      }),
  }
}

async function listen(
  { packages }: SdkPorts,
  { endpoint, request }: UnitCall<TranscriptionRequest>,
  settings: SdkSettings,
): Promise<TranscriptionResult> {
  const model = await packages.transcriptionModel(endpoint.provider, endpoint.upstreamModel, settings)
  const { text, segments, words, language, durationInSeconds } = await model.doGenerate({
    audio: new Uint8Array(request.audio.bytes),
    mediaType: request.audio.contentType,
    ...(needsTimestamps(request.format) ? { timestampGranularities: [...request.granularities] } : {}),
    providerOptions: { [model.provider.split('.', 1)[0] ?? '']: optionsOf(request) },
  })
  const timed = (
    items: readonly { readonly text: string; readonly startSecond: number; readonly endSecond: number }[],
  ): unknown => items.map((item) => ({ text: item.text, start: item.startSecond, end: item.endSecond }))
  return {
    transcript: {
      text,
      language: language ?? null,
      segments: readSegments(timed(segments)),
      words: readWords(timed(words ?? []), 'text'),
    },
    ...readLengths(durationInSeconds),
    usage: null,
    upstreamId: null,
  }
}

/** The packages' names for the options; a package ignores names that it does not know. */
function optionsOf({ language, prompt, temperature, format, granularities }: TranscriptionRequest): JSONObject {
  return {
    ...(language === null ? {} : { language }),
    ...(prompt === null ? {} : { prompt }),
    ...(temperature === null ? {} : { temperature }),
    ...(needsTimestamps(format) ? { timestampGranularities: [...granularities], responseFormat: 'verbose_json' } : {}),
  }
}

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
