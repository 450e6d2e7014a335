import type { Label } from '../base/text.ts'
import type { MeasuredType, PriceKey, PriceKeyOf } from './meter-table.ts'

/** Modalities of models: OpenRouter's names, which its clients filter by. */
export const MODALITIES = {
  text: { input: true, output: true, label: { en: 'text', ru: 'текст' } },
  image: { input: true, output: true, label: { en: 'images', ru: 'изображения' } },
  audio: { input: true, output: true, label: { en: 'audio', ru: 'аудио' } },
  file: { input: true, output: false, label: { en: 'files', ru: 'файлы' } },
  embeddings: { input: false, output: true, label: { en: 'embeddings', ru: 'эмбеддинги' } },
  speech: { input: false, output: true, label: { en: 'speech', ru: 'речь' } },
  transcription: { input: false, output: true, label: { en: 'transcripts', ru: 'расшифровки' } },
  rerank: { input: false, output: true, label: { en: 'ranking', ru: 'ранжирование' } },
  moderation: { input: false, output: true, label: { en: 'moderation', ru: 'модерация' } },
  video: { input: true, output: true, label: { en: 'video', ru: 'видео' } },
} as const satisfies Readonly<
  Record<string, { readonly input: boolean; readonly output: boolean; readonly label: Label }>
>
export type Modality = keyof typeof MODALITIES

/** Modalities that models may take as input and produce as output. */
export const INPUT_MODALITIES = modalitiesOf('input')
export const OUTPUT_MODALITIES = modalitiesOf('output')

function modalitiesOf(side: 'input' | 'output'): readonly string[] {
  return Object.entries(MODALITIES).flatMap(([name, row]) => (row[side] ? [name] : []))
}

/** Facts of a type of models. */
interface ModelTypeRow<Key extends PriceKey = PriceKey> {
  /** Default modalities of a model. */
  readonly input: readonly Modality[]
  readonly output: readonly Modality[]
  /** Chat models with this output modality serve this type too; null = none do. */
  readonly chatModelsWith: Modality | null
  /** A price must have all keys of one of these lists; forms show the first list by default. */
  readonly complete: readonly (readonly Key[])[]
  /** Prices that are shown even when they are 0. */
  readonly alwaysShown: readonly Key[]
  /** Requests have no token limit, so only the model's own limit bounds their cost. */
  readonly boundedByModel: boolean
  /** The value of `filter` that lists the models of this type, other such values, and the path of the list. */
  readonly list: { readonly filter: string; readonly aliases: readonly string[]; readonly path: string | null }
  /** Extra fields of this type's records. */
  readonly recordFields: 'speech' | 'video' | null
}

const MODEL_TYPE_ROWS = {
  chat: {
    input: ['text'],
    output: ['text'],
    chatModelsWith: null,
    complete: [['prompt', 'completion']],
    alwaysShown: ['prompt', 'completion'],
    boundedByModel: false,
    list: { filter: 'chat', aliases: ['text'], path: null },
    recordFields: null,
  },
  embeddings: {
    input: ['text'],
    output: ['embeddings'],
    chatModelsWith: null,
    complete: [['prompt']],
    alwaysShown: ['prompt'],
    boundedByModel: false,
    list: { filter: 'embeddings', aliases: ['embedding'], path: '/v1/embeddings/models' },
    recordFields: null,
  },
  image: {
    input: ['text'],
    output: ['image'],
    chatModelsWith: 'image',
    complete: [['image_output'], ['prompt', 'completion']],
    alwaysShown: [],
    boundedByModel: true,
    list: { filter: 'images', aliases: ['image'], path: '/v1/images/models' },
    recordFields: null,
  },
  tts: {
    input: ['text'],
    output: ['speech'],
    chatModelsWith: null,
    complete: [['characters'], ['prompt', 'audio_output']],
    alwaysShown: [],
    boundedByModel: true,
    list: { filter: 'tts', aliases: ['speech'], path: '/v1/tts/models' },
    recordFields: 'speech',
  },
  transcription: {
    input: ['audio'],
    output: ['transcription'],
    chatModelsWith: null,
    complete: [['second'], ['prompt', 'completion'], ['audio', 'completion']],
    alwaysShown: [],
    boundedByModel: true,
    list: { filter: 'transcriptions', aliases: ['transcription', 'stt'], path: '/v1/transcriptions/models' },
    recordFields: null,
  },
  rerank: {
    input: ['text'],
    output: ['rerank'],
    chatModelsWith: null,
    complete: [['search'], ['prompt']],
    alwaysShown: [],
    boundedByModel: false,
    list: { filter: 'rerank', aliases: [], path: '/v1/rerank/models' },
    recordFields: null,
  },
  moderation: {
    input: ['text'],
    output: ['moderation'],
    chatModelsWith: null,
    complete: [['request']],
    alwaysShown: ['request'],
    boundedByModel: false,
    list: { filter: 'moderations', aliases: ['moderation'], path: '/v1/moderations/models' },
    recordFields: null,
  },
  video: {
    input: ['text'],
    output: ['video'],
    chatModelsWith: null,
    complete: [['video_second'], ['request']],
    alwaysShown: [],
    boundedByModel: false,
    list: { filter: 'videos', aliases: ['video'], path: '/v1/videos/models' },
    recordFields: 'video',
  },
} as const satisfies { readonly [Type in MeasuredType]: ModelTypeRow<PriceKeyOf<Type>> }

/** A type of models in the catalogue. A type that no meter measures does not compile. */
export type ModelType = keyof typeof MODEL_TYPE_ROWS
export type ListFilter = (typeof MODEL_TYPE_ROWS)[ModelType]['list']['filter']

export const MODEL_TYPE_TABLE: Readonly<Record<ModelType, ModelTypeRow & { readonly list: { filter: ListFilter } }>> =
  MODEL_TYPE_ROWS
// The keys of the table are exactly the types.
export const MODEL_TYPES = Object.keys(MODEL_TYPE_ROWS) as readonly ModelType[]

/** Facts of a kind of request, by its `type` in the usage log. */
interface RequestTypeRow {
  readonly modelType: ModelType
  /** The name in messages and in the health record: the path without `/v1/`. */
  readonly endpointName: string
  /** Its routes; the first is the main one. */
  readonly paths: readonly [string, ...string[]]
  /** `gen_ai.operation.name`, as the conventions call it if they do; null = its calls have no spans. */
  readonly span: string | null
  /** `api_type` of OpenRouter's record. */
  readonly apiType: string
  /** It creates a job, which outlives the request. */
  readonly job?: true
  readonly label: Label
}

const REQUEST_TYPE_ROWS = {
  chat: {
    modelType: 'chat',
    endpointName: 'chat/completions',
    paths: ['/v1/chat/completions'],
    span: 'chat',
    apiType: 'completions',
    label: { en: 'Chat', ru: 'Чат' },
  },
  responses: {
    modelType: 'chat',
    endpointName: 'responses',
    paths: ['/v1/responses'],
    span: 'chat',
    apiType: 'completions',
    label: { en: 'Responses', ru: 'Responses' },
  },
  messages: {
    modelType: 'chat',
    endpointName: 'messages',
    paths: ['/v1/messages'],
    span: 'chat',
    apiType: 'completions',
    label: { en: 'Messages', ru: 'Messages' },
  },
  generate_content: {
    modelType: 'chat',
    endpointName: 'generateContent',
    paths: [
      '/v1beta/models/*model:generateContent',
      '/v1/models/*model:generateContent',
      '/v1alpha/models/*model:generateContent',
    ],
    span: 'generate_content',
    apiType: 'completions',
    label: { en: 'generateContent', ru: 'generateContent' },
  },
  cohere_chat: {
    modelType: 'chat',
    endpointName: 'v2/chat',
    paths: ['/v2/chat'],
    span: 'chat',
    apiType: 'completions',
    label: { en: 'Cohere chat', ru: 'Чат Cohere' },
  },
  completions: {
    modelType: 'chat',
    endpointName: 'completions',
    paths: ['/v1/completions'],
    span: 'text_completion',
    apiType: 'completions',
    label: { en: 'Completions', ru: 'Дополнение текста' },
  },
  embeddings: {
    modelType: 'embeddings',
    endpointName: 'embeddings',
    paths: ['/v1/embeddings'],
    span: 'embeddings',
    apiType: 'embeddings',
    label: { en: 'Embeddings', ru: 'Эмбеддинги' },
  },
  image: {
    modelType: 'image',
    endpointName: 'images/generations',
    paths: ['/v1/images/generations', '/v1/images'],
    span: 'generate_content',
    apiType: 'image',
    label: { en: 'Images', ru: 'Изображения' },
  },
  tts: {
    modelType: 'tts',
    endpointName: 'audio/speech',
    paths: ['/v1/audio/speech'],
    span: 'speech',
    apiType: 'tts',
    label: { en: 'Speech', ru: 'Речь' },
  },
  transcription: {
    modelType: 'transcription',
    endpointName: 'audio/transcriptions',
    paths: ['/v1/audio/transcriptions'],
    span: 'transcription',
    apiType: 'stt',
    label: { en: 'Transcription', ru: 'Расшифровка' },
  },
  translation: {
    modelType: 'transcription',
    endpointName: 'audio/translations',
    paths: ['/v1/audio/translations'],
    span: 'translation',
    apiType: 'stt',
    label: { en: 'Translation', ru: 'Перевод речи' },
  },
  rerank: {
    modelType: 'rerank',
    endpointName: 'rerank',
    paths: ['/v1/rerank'],
    span: 'rerank',
    apiType: 'rerank',
    label: { en: 'Rerank', ru: 'Ранжирование' },
  },
  moderation: {
    modelType: 'moderation',
    endpointName: 'moderations',
    paths: ['/v1/moderations'],
    span: 'moderation',
    apiType: 'moderation',
    label: { en: 'Moderation', ru: 'Модерация' },
  },
  video: {
    modelType: 'video',
    endpointName: 'videos',
    paths: ['/v1/videos'],
    span: null,
    apiType: 'video',
    job: true,
    label: { en: 'Video', ru: 'Видео' },
  },
} as const satisfies Readonly<Record<ModelType, RequestTypeRow>> & Readonly<Record<string, RequestTypeRow>>

/** A kind of request. Each type of model has one of the same name. */
export type RequestType = keyof typeof REQUEST_TYPE_ROWS
/** A kind of request whose answer comes in the response to the request. */
export type AnsweredType = {
  [Type in RequestType]: (typeof REQUEST_TYPE_ROWS)[Type] extends { readonly job: true } ? never : Type
}[RequestType]

export const REQUEST_TYPE_TABLE: Readonly<Record<RequestType, RequestTypeRow>> = REQUEST_TYPE_ROWS
// The keys of the table are exactly the types.
export const REQUEST_TYPES = Object.keys(REQUEST_TYPE_ROWS) as readonly RequestType[]

/** The facts of a model that decide which requests it serves. */
interface ServingModel {
  readonly type: ModelType
  readonly outputModalities: readonly string[]
}

/** Whether a model serves requests of a type: it has that type, or is a chat model with that output. */
export function servesType({ type, outputModalities }: ServingModel, wanted: ModelType): boolean {
  if (type === wanted) return true
  const { chatModelsWith } = MODEL_TYPE_TABLE[wanted]
  return type === 'chat' && chatModelsWith !== null && outputModalities.includes(chatModelsWith)
}
