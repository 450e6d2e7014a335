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
import { SdkPackages, type SdkSettings } from './sdk-packages.ts'
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
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { BatchedEmbeddings, textsOf, type EmbeddingsCall, type EmbeddingsPage } from '../upstream/embeddings.ts'
import { TokenReader } from '../answers/token-reader.ts'
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
    embeddings: (call, sink) => new SdkEmbeddings(ports, call, sink),
    rerank: (call, sink) => sdkRerank(ports, call, sink),
    images: sdkImages({ ...ports, files }),
    speech: sdkSpeech(ports),
    transcription: sdkTranscription(ports),
  }
}

/** A ranking through a package. Its usage is only in the provider's own answer. */
function sdkRerank(ports: SdkPorts, call: RerankCall, sink: ResultSink<RerankAnswer>): RunningCall {
  return sdkResult<RerankAnswer>(ports, call, sink, async (settings) => {
    const { endpoint, request } = call
    const model = await ports.packages.rerankingModel(endpoint.provider, endpoint.upstreamModel, settings)
    const documents = { type: 'text' as const, values: [...request.documents] }
    const { ranking, response } = await model.doRerank({
      query: request.query,
      documents,
      ...(request.topN === null ? {} : { topN: request.topN }),
    })
    const said = objectOf(response?.body)
    return readRanking({ results: ranking, usage: said?.['usage'], meta: said?.['meta'], id: response?.id }, call)
  })
}

/** Transcripts through a package. Where the provider gives no times, the whole sound is one segment. */
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

/** Embeddings through a package, in as many calls as its model needs. */
class SdkEmbeddings implements RunningCall {
  readonly #ports: SdkPorts
  readonly #call: EmbeddingsCall
  readonly #sink: ResultSink<EmbeddingsAnswer>
  #batches: RunningCall | null = null
  #over = false

  constructor(ports: SdkPorts, call: EmbeddingsCall, sink: ResultSink<EmbeddingsAnswer>) {
    this.#ports = ports
    this.#call = call
    this.#sink = sink
    // The method never rejects: failures go to the sink.
    void this.#begin()
  }

  cancel(): void {
    this.#over = true
    this.#batches?.cancel()
  }

  resume(): void {
    this.#batches?.resume()
  }

  /** Only the model knows how many inputs a call may have, so one is made without a call to read it. */
  async #begin(): Promise<void> {
    try {
      const size = await this.#sizeMax()
      if (this.#over) return
      this.#batches = new BatchedEmbeddings(
        this.#call.request,
        { size, ask: (input, pages) => this.#ask(input, pages) },
        this.#sink,
      )
    } catch (thrown) {
      if (!this.#over) this.#sink.fail(refusal(thrown) ?? thrownFailure(thrown, false))
    }
  }

  async #sizeMax(): Promise<number> {
    const { endpoint, apiKey } = this.#call
    const model = await this.#model({
      apiKey: apiKey ?? '',
      baseURL: endpoint.provider.baseUrl,
      fetch: () => Promise.reject(new TypeError('no call yet')),
    })
    return (await model.maxEmbeddingsPerCall) ?? Infinity
  }

  #model(settings: SdkSettings): ReturnType<SdkPorts['packages']['embeddingModel']> {
    const { provider, upstreamModel } = this.#call.endpoint
    return this.#ports.packages.embeddingModel(provider, upstreamModel, settings)
  }

  #ask(input: EmbeddingsInput, pages: ResultSink<EmbeddingsPage>): RunningCall {
    let lifted: readonly VectorBytes[] = []
    return sdkResult<EmbeddingsPage>(
      this.#ports,
      this.#call,
      pages,
      async (settings) => {
        const values = [...textsOf(input)]
        const model = await this.#model(settings)
        const { embeddings, usage } = await model.doEmbed({
          values,
          ...embeddingOptions(this.#call, model.provider.split('.', 1)[0] ?? ''),
        })
        const vectors = embeddings.flatMap(([place]) => lifted[place ?? -1] ?? [])
        if (vectors.length < embeddings.length)
          return failure('garbage', null, 'what the package calls vectors are none of the answer')
        return { vectors, usage: usageOf(usage?.tokens), upstreamId: null }
      },
      {
        bytesMax: BYTES_MAX,
        onVectors: (vectors) => {
          lifted = vectors
        },
      },
    )
  }
}

/**
 * Options that packages share only by convention go to an endpoint that lists the parameter: a vector of another length
 * would be useless.
 */
function embeddingOptions(
  { endpoint: { supportedParameters }, request: { dimensions, inputType } }: EmbeddingsCall,
  name: string,
): Pick<EmbeddingModelV4CallOptions, 'dimensions' | 'providerOptions'> {
  const listed = (parameter: string): boolean => supportedParameters?.includes(parameter) ?? false
  if (dimensions !== null && !listed('dimensions'))
    throw new UnsendableError('dimensions: this model has a fixed number of dimensions')
  const options = {
    ...(dimensions === null ? {} : { dimensions, outputDimension: dimensions, outputDimensionality: dimensions }),
    ...(inputType === null || !listed('input_type') ? {} : { inputType }),
  }
  return {
    ...(dimensions === null ? {} : { dimensions }),
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: { [name]: options } }),
  }
}

function usageOf(tokens: unknown): UsageReport | null {
  if (tokens === undefined || tokens === null || Number.isNaN(tokens)) return null
  const reader = new TokenReader()
  const count = reader.maybe({ tokens }, 'tokens')
  return inputUsage({ tokens: count, implausible: reader.implausible })
}
