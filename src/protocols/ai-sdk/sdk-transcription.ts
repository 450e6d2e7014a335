import type { JSONObject } from '@ai-sdk/provider'
import { needsTimestamps, type TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { UnitCall } from '../ports/call.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../upstream/audio.ts'
import { TRANSCRIPT_BYTES_MAX, readLengths, readSegments, readWords } from '../upstream/transcripts.ts'
import type { SdkSettings } from './sdk-packages.ts'
import { sdkResult, type SdkPorts } from './sdk-run.ts'

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
