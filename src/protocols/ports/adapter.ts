import type { Endpoint, ModelType, Provider } from '../../catalog/catalog.ts'
import type { ProviderTrial } from '../../catalog/offered-models.ts'
import { MODEL_TYPES } from '../../tables/model-types.ts'
import { CHAT_PARAMETERS, type ParameterName } from '../../tables/parameter-table.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest } from '../../kinds/embeddings.ts'
import type { ImageResult } from '../../kinds/images/request.ts'
import type { RerankAnswer, RerankRequest } from '../../kinds/rerank.ts'
import type { Clock } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json-text.ts'
import type { FileFetch } from '../wire/file-fetch.ts'
import type { JobHttp } from '../wire/job-http.ts'
import type { Transport } from '../wire/transport.ts'
import type { SpeechProtocol, TranscriptionProtocol } from '../upstream/audio.ts'
import type {
  AnswerSink,
  AskUnit,
  ChatCall,
  CompletionsCall,
  GenerateContentCall,
  ImageCall,
  MessagesCall,
  ResponsesCall,
  ResultSink,
  RunningCall,
} from './call.ts'

/** The parts that adapters are built from. */
export interface AdapterPorts {
  readonly transport: Transport
  readonly files: FileFetch
  readonly jobs: JobHttp
  readonly clock: Clock
}

/** Parameter names by model type. */
type ParameterNames = Readonly<Record<ModelType, readonly string[]>>

/** No parameters of any type, for an adapter to start from. */
export const NO_PARAMETERS = Object.fromEntries(
  MODEL_TYPES.map((type) => [type, []]),
  // It has an entry for every type.
) as unknown as ParameterNames

/** The parameters that all chat protocols here except OpenAI's can carry; one that carries fewer lists its own. */
const SHARED: readonly ParameterName[] = [
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'response_format',
  'structured_outputs',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
]

/** The parameters of a chat protocol, in the order of the table: those that all carry, and `more`. */
export function chatParameters(...more: readonly ParameterName[]): readonly string[] {
  return CHAT_PARAMETERS.filter((name) => SHARED.includes(name) || more.includes(name))
}

/** Parameters that most video protocols can carry, by OpenRouter's names. */
export const VIDEO_PARAMETERS: readonly string[] = Object.freeze([
  'size',
  'duration',
  'resolution',
  'aspect_ratio',
  'frame_images',
  'input_references',
  'generate_audio',
  'seed',
])

/**
 * A wire protocol: its calls, one for each kind but those that bring their own sides. It knows neither money nor the
 * store nor client formats.
 */
export interface Adapter {
  readonly name: string
  /** Names of the parameters that its calls can carry. */
  readonly parameters: ParameterNames
  readonly chat?: (call: ChatCall, sink: AnswerSink) => RunningCall
  /**
   * Parts of a request that this model does not get as the client gave them, although its endpoint takes them: names of
   * parameters, given or not, and of words within one (`response_format.minimum`).
   */
  readonly leaves?: (endpoint: Endpoint, request: ChatRequest) => readonly string[]
  /** Legacy completions, for endpoints with `native_completions`. */
  readonly completions?: {
    /** Whether all prompts of a request are sent in one call; otherwise each has its own. */
    readonly takesList: boolean
    ask(call: CompletionsCall, sink: AnswerSink): RunningCall
  }
  /** Responses, for endpoints with `native_responses`. */
  readonly responses?: (call: ResponsesCall, sink: AnswerSink) => RunningCall
  /** Anthropic's Messages, with the client's own body. */
  readonly messages?: (call: MessagesCall, sink: AnswerSink) => RunningCall
  /** A client's own body in the form that the endpoint's model accepts, and the changed parts by the client's names. */
  readonly messagesFit?: (
    endpoint: Endpoint,
    body: JsonObject,
  ) => { readonly body: JsonObject; readonly changed: readonly string[]; readonly betas: readonly string[] }
  /** Facts of an endpoint on which a body of `messages` depends. */
  readonly messagesTraits?: (endpoint: Endpoint) => {
    /** The signer of its thoughts, for `ownThought`. */
    readonly signer: string | null
    /** The shortest prompt that is cached, in tokens. */
    readonly cacheMin: number
  }
  /** Gemini's `generateContent`, with the client's own body. */
  readonly generateContent?: (call: GenerateContentCall, sink: AnswerSink) => RunningCall
  /** A client's own body in the form that the endpoint's model accepts, and the changed parts by the client's names. */
  readonly contentFit?: (
    endpoint: Endpoint,
    body: JsonObject,
  ) => { readonly body: JsonObject; readonly changed: readonly string[] }
  /** The signer of the endpoint's signatures, for `ownThought`. */
  readonly contentSigner?: (endpoint: Endpoint) => string | null
  readonly embeddings?: AskUnit<EmbeddingsRequest, EmbeddingsAnswer>
  readonly rerank?: AskUnit<RerankRequest, RerankAnswer>
  readonly images?: (call: ImageCall, sink: ResultSink<ImageResult>) => RunningCall
  /** The same for models that put pictures into chat answers. */
  readonly chatImages?: (call: ImageCall, sink: ResultSink<ImageResult>) => RunningCall
  /** The abilities of `images` beyond prompts and source images; absent = none. */
  readonly imageEdits?: {
    /** Whether it can draw only within a mask. */
    masks(endpoint: Endpoint): boolean
    /** Whether it makes variations of one image, without a prompt. */
    varies(endpoint: Endpoint): boolean
    /** Whether it sends the quality; absent = it does if the endpoint's parameters have it. */
    tellsQuality?(endpoint: Endpoint): boolean
  }
  readonly speech?: SpeechProtocol
  /** Transcripts and, where the endpoint can, translations into English. */
  readonly transcription?: TranscriptionProtocol
  /** Asks the provider for its models, which also tests its address and key. */
  readonly models?: (provider: Provider, signal: AbortSignal) => Promise<ProviderTrial>
}

/** Adapters by their name in the catalogue file. */
export type AdapterTable = ReadonlyMap<string, Adapter>

/** Parameters that an adapter can carry for a type of model; an endpoint may list fewer. */
export function parametersOf(adapters: AdapterTable, name: string, type: ModelType): readonly string[] {
  return adapters.get(name)?.parameters[type] ?? []
}
