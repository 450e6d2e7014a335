import type { Endpoint, ModelType } from '../../catalog/catalog.ts'
import type { EmbeddingsAnswer } from '../../kinds/embeddings/answer.ts'
import type { EmbeddingsRequest } from '../../kinds/embeddings/request.ts'
import type { ImageResult } from '../../kinds/images/answer.ts'
import type { RerankAnswer } from '../../kinds/rerank/answer.ts'
import type { RerankRequest } from '../../kinds/rerank/request.ts'
import type { Clock } from '../../lib/clock.ts'
import type { FileFetch } from '../wire/file-fetch.ts'
import type { JobHttp } from '../wire/job-http.ts'
import type { Transport } from '../wire/transport.ts'
import type { SpeechProtocol, TranscriptionProtocol } from './audio-protocol.ts'
import type {
  AnswerSink,
  ChatCall,
  CompletionsCall,
  GenerateContentCall,
  ImageCall,
  MessagesCall,
  ResponsesCall,
  ResultSink,
  RunningCall,
  UnitCall,
} from './call.ts'
import type { VideoUpstream } from './video-upstream.ts'

/** What an adapter is made of. */
export interface AdapterPorts {
  readonly transport: Transport
  readonly files: FileFetch
  readonly jobs: JobHttp
  readonly clock: Clock
  /** The clock's time of day. */
  readonly now: () => number
}

/** Names of parameters by the type of the model that is asked. */
type ParameterNames = Readonly<Record<ModelType, readonly string[]>>

/** For an adapter to begin from: types that it has no call for. */
export const NO_PARAMETERS: ParameterNames = {
  chat: [],
  embeddings: [],
  image: [],
  tts: [],
  transcription: [],
  rerank: [],
  video: [],
}

/** A wire protocol: the calls it knows, one for each kind. Knows no money, no store and no client format. */
export interface Adapter {
  readonly name: string
  /** Names of the parameters that its calls carry. */
  readonly parameters: ParameterNames
  readonly chat?: (call: ChatCall, sink: AnswerSink) => RunningCall
  /** Legacy completions, where an endpoint says `native_completions`. */
  readonly completions?: {
    /** Takes all prompts of a request in one call, else one in each. */
    readonly takesList: boolean
    ask(call: CompletionsCall, sink: AnswerSink): RunningCall
  }
  /** Responses, where an endpoint says `native_responses`. */
  readonly responses?: (call: ResponsesCall, sink: AnswerSink) => RunningCall
  /** Anthropic's Messages, with the client's own body. */
  readonly messages?: (call: MessagesCall, sink: AnswerSink) => RunningCall
  /** Gemini's `generateContent`, with the client's own body. */
  readonly generateContent?: (call: GenerateContentCall, sink: AnswerSink) => RunningCall
  readonly embeddings?: (call: UnitCall<EmbeddingsRequest>, sink: ResultSink<EmbeddingsAnswer>) => RunningCall
  readonly rerank?: (call: UnitCall<RerankRequest>, sink: ResultSink<RerankAnswer>) => RunningCall
  readonly images?: (call: ImageCall, sink: ResultSink<ImageResult>) => RunningCall
  /** The same of models that answer chats with pictures. */
  readonly chatImages?: (call: ImageCall, sink: ResultSink<ImageResult>) => RunningCall
  /** What `images` can beside drawing from a prompt and images; absent = nothing. */
  readonly imageEdits?: {
    /** Draws only where a mask is clear. */
    masks(endpoint: Endpoint): boolean
    /** Makes variations of one image, without a prompt. */
    varies(endpoint: Endpoint): boolean
  }
  readonly speech?: SpeechProtocol
  /** Translations into English too, where the endpoint can. */
  readonly transcription?: TranscriptionProtocol
  /** Jobs, which outlive their request. */
  readonly videos?: VideoUpstream
}

/** Adapter name of the catalogue file → adapter. */
export type AdapterTable = ReadonlyMap<string, Adapter>

/** Parameter names that an adapter carries to models of a type; an endpoint may list fewer. */
export function parametersOf(adapters: AdapterTable, name: string, type: ModelType): readonly string[] {
  return adapters.get(name)?.parameters[type] ?? []
}
