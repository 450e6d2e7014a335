import { SDK_ADAPTER } from '../../catalog/sdk-package.ts'
import type { RerankAnswer } from '../../kinds/rerank.ts'
import { imagesOverChat } from '../answers/images-over-chat.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { type ResultSink, type RunningCall, type UnitCall, UnsendableError } from '../ports/call.ts'
import { objectOf } from '../wire/raw-json.ts'
import { readRanking, type RerankCall } from '../upstream/rerank.ts'
import { SDK_PARAMETERS } from './call-options.ts'
import { sdkChat, sdkFitted } from './sdk-chat.ts'
import { sdkImages } from './sdk-images.ts'
import { ownName, SdkPackages, settingsOf, type SdkSettings } from './sdk-packages.ts'
import { sdkResult, type SdkPorts, refusal, thrownFailure } from './sdk-run.ts'
import type { JSONObject, EmbeddingModelV4CallOptions } from '@ai-sdk/provider'
import { needsTimestamps, type TranscriptionRequest } from '../../kinds/transcription/request.ts'
import {
  type TranscriptionProtocol,
  type TranscriptionResult,
  type SpeechCall,
  type SpeechProtocol,
  wholeSound,
  type Sound,
} from '../upstream/audio.ts'
import { TRANSCRIPT_BYTES_MAX, readLengths, readSegments, readWords } from '../upstream/transcripts.ts'
import { audioContainer } from '../../kinds/transcription/audio-container.ts'
import { SPEECH_FORMATS, type SpeechFormat } from '../../kinds/speech.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import type { EmbeddingsAnswer, EmbeddingsInput } from '../../kinds/embeddings.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { askInBatches, textsOf, tokensUsage, type EmbeddingsCall, type EmbeddingsPage } from '../upstream/embeddings.ts'
import { given } from '../../base/objects.ts'
import type { VectorBytes } from '../wire/lifted-json.ts'

const BYTES_MAX = 64 * 1_048_576

/**
 * Providers without an adapter here, through the packages of the Vercel AI SDK; the catalogue row names the package.
 */
export function createAiSdk({ transport, files }: Pick<AdapterPorts, 'transport' | 'files'>): Adapter {
  const ports = { packages: new SdkPackages(), transport }
  const chat: NonNullable<Adapter['chat']> = (call, sink) => sdkChat(ports, call, sink)
  return {
    name: SDK_ADAPTER,
    parameters: {
      ...NO_PARAMETERS,
      chat: SDK_PARAMETERS,
      embeddings: ['input_type'],
      rerank: ['top_n'],
      image: ['n', 'size', 'aspect_ratio', 'image', 'seed'],
      tts: ['voice', 'response_format', 'speed', 'instructions'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    chat,
    leaves: (endpoint, request) => [...sdkFitted({ endpoint, request }).changed],
    chatImages: imagesOverChat(chat, files),
    embeddings: (call, sink) => sdkEmbeddings(ports, call, sink),
    rerank: (call, sink) => sdkRerank(ports, call, sink),
    images: sdkImages({ ...ports, files }),
    speech: sdkSpeech(ports),
    transcription: sdkTranscription(ports),
  }
}

/** A ranking through a package. Only the provider's own answer has its usage. */
function sdkRerank(ports: SdkPorts, call: RerankCall, sink: ResultSink<RerankAnswer>): RunningCall {
  return sdkResult<RerankAnswer>(ports, call, sink, async (settings) => {
    const { query, documents, topN } = call.request
    const model = await ports.packages.model('reranking', call.endpoint, settings)
    const { ranking, response } = await model.doRerank({
      query,
      documents: { type: 'text', values: [...documents] },
      ...given({ topN }),
    })
    const said = objectOf(response?.body)
    return readRanking({ results: ranking, usage: said?.['usage'], meta: said?.['meta'], id: response?.id }, call)
  })
}

/** Transcripts through a package. If the provider gives no times, the whole sound is one segment. */
function sdkTranscription(ports: SdkPorts): TranscriptionProtocol {
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
  const model = await packages.model('transcription', endpoint, settings)
  const { text, segments, words, language, durationInSeconds } = await model.doGenerate({
    audio: new Uint8Array(request.audio.bytes),
    mediaType: request.audio.contentType,
    ...(needsTimestamps(request.format) ? { timestampGranularities: [...request.granularities] } : {}),
    providerOptions: { [ownName(model)]: optionsOf(request) },
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

/** The options under the names of the packages; a package ignores names that it does not know. */
function optionsOf({ language, prompt, temperature, format, granularities }: TranscriptionRequest): JSONObject {
  return {
    ...given({ language, prompt, temperature }),
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

/** Speech through a package, which returns it whole. No package lists its formats, so the model's row does. */
function sdkSpeech(ports: SdkPorts): SpeechProtocol {
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
  { endpoint, request: { input, speed, instructions }, format, voice }: SpeechCall,
  settings: SdkSettings,
): Promise<Sound | AttemptFailure> {
  const model = await packages.model('speech', endpoint, settings)
  const asked = { text: input, outputFormat: format, ...given({ voice, speed, instructions }) }
  const { audio } = await model.doGenerate(asked)
  const bytes = typeof audio === 'string' ? Buffer.from(audio, 'base64') : Buffer.from(audio)
  const container = audioContainer(bytes)
  // A package that cannot request a format returns a warning and another format.
  if (container !== null && format !== 'pcm' && container !== CONTAINERS[format])
    return failure('garbage', null, `${container} instead of ${format}`)
  return { audio: bytes, usage: null, upstreamId: null }
}

/** Embeddings through a package, in as many calls as its model's limit requires. */
function sdkEmbeddings(ports: SdkPorts, call: EmbeddingsCall, sink: ResultSink<EmbeddingsAnswer>): RunningCall {
  let batches: RunningCall | null = null
  let isOver = false
  const begin = async (): Promise<void> => {
    try {
      const size = await inputsMax(ports, call)
      if (isOver) return
      const ask = (input: EmbeddingsInput, pages: ResultSink<EmbeddingsPage>): RunningCall =>
        askPage(ports, call, input, pages)
      batches = askInBatches(call.request, { size, ask }, sink)
    } catch (thrown) {
      if (!isOver) sink.fail(refusal(thrown) ?? thrownFailure(thrown, false))
    }
  }
  // It never rejects: failures go to the sink.
  void begin()
  return {
    cancel: () => {
      isOver = true
      batches?.cancel()
    },
    resume: () => batches?.resume(),
  }
}

/** Only the model knows how many inputs a call may have, so a model is made first to read its limit. */
async function inputsMax({ packages }: SdkPorts, call: EmbeddingsCall): Promise<number> {
  const idle = settingsOf(call, () => Promise.reject(new TypeError('no call yet')))
  const model = await packages.model('embedding', call.endpoint, idle)
  return (await model.maxEmbeddingsPerCall) ?? Infinity
}

function askPage(
  ports: SdkPorts,
  call: EmbeddingsCall,
  input: EmbeddingsInput,
  sink: ResultSink<EmbeddingsPage>,
): RunningCall {
  let lifted: readonly VectorBytes[] = []
  const onVectors = (vectors: readonly VectorBytes[]): void => {
    lifted = vectors
  }
  const ask = async (settings: SdkSettings): Promise<EmbeddingsPage | AttemptFailure> => {
    const values = [...textsOf(input)]
    const model = await ports.packages.model('embedding', call.endpoint, settings)
    const { embeddings, usage } = await model.doEmbed({ values, ...embeddingOptions(call, ownName(model)) })
    const vectors = embeddings.flatMap(([place]) => lifted[place ?? -1] ?? [])
    if (vectors.length < embeddings.length)
      return failure('garbage', null, 'what the package calls vectors are none of the answer')
    return { vectors, usage: usageOf(usage?.tokens), upstreamId: null }
  }
  return sdkResult<EmbeddingsPage>(ports, call, sink, ask, { bytesMax: BYTES_MAX, onVectors })
}

/**
 * Options that packages share only by convention are sent if the endpoint lists the parameter: a vector of another
 * length would be useless.
 */
function embeddingOptions(
  { endpoint: { supportedParameters }, request: { dimensions, inputType } }: EmbeddingsCall,
  name: string,
): Pick<EmbeddingModelV4CallOptions, 'dimensions' | 'providerOptions'> {
  const listed = (parameter: string): boolean => supportedParameters?.includes(parameter) ?? false
  if (dimensions !== null && !listed('dimensions'))
    throw new UnsendableError('dimensions: this model has a fixed number of dimensions')
  const options = given({
    dimensions,
    outputDimension: dimensions,
    outputDimensionality: dimensions,
    inputType: listed('input_type') ? inputType : null,
  })
  return {
    ...given({ dimensions }),
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: { [name]: { ...options } } }),
  }
}

function usageOf(tokens: unknown): UsageReport | null {
  return Number.isNaN(tokens) ? null : tokensUsage({ tokens }, 'tokens')
}
