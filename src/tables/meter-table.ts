import type { Label } from '../base/text.ts'

/**
 * The unit of a catalogue price, in RUB. Powers of ten: `places` converts it into µRUB per unit of the meter,
 * `wirePlaces` converts µRUB per unit into the RUB that `pricing` of a model record shows.
 */
export const PRICE_SCALES = {
  million_tokens: { places: 0, wirePlaces: -6, label: { en: 'per 1M', ru: 'за 1 млн' } },
  million_characters: { places: 0, wirePlaces: -6, label: { en: 'per 1M', ru: 'за 1 млн' } },
  // The name of the price says its unit.
  unit: { places: 6, wirePlaces: -6, label: null },
  // The price is for a second, and the meter counts tenths of a second.
  ten_units: { places: 5, wirePlaces: -5, label: null },
} as const satisfies Record<
  string,
  { readonly places: number; readonly wirePlaces: number; readonly label: Label | null }
>
export type PriceScale = keyof typeof PRICE_SCALES

interface Row {
  /** The key of its price in the catalogue file. */
  readonly priceKey: string
  /** Its name and place in `pricing` of a model record; null = not shown there. */
  readonly wire: { readonly name: string; readonly place: number } | null
  readonly scale: PriceScale
  /** The meter whose price it uses if it has no price of its own; null = it is then free. Parents come first. */
  readonly parent: string | null
  /**
   * The group of its line on a bill: the input's lines come first, then the output's, then the rest. Tokens also count
   * to the sum of their side.
   */
  readonly side: 'input' | 'output' | null
  /** The detail of a usage report that it counts to. */
  readonly detail?: 'cached' | 'cache_write' | 'reasoning'
  /** The meter that would count the same tokens without the cache; absent = the parent. */
  readonly uncached?: string
  /** The modality that the request or the model must have for the meter to count. */
  readonly modality?: string
  /** The options that its price may depend on; such a price is a map. */
  readonly varies?: 'resolution' | 'size_and_quality'
  /** The units of a typical call, for comparing the costs of endpoints. */
  readonly typicalUnits: number
  /** Types of the models whose answers it counts. */
  readonly types: readonly [string, ...string[]]
  /** Its label as a line of a bill. */
  readonly label: Label
  /** Its label as a price. */
  readonly priceLabel: Label
}

/**
 * A row for each meter of a paid answer, in the order in which prices are written. No unit is counted by two meters:
 * `input` excludes what the cache meters, `audio_input` and `image_tokens` hold, `output` excludes `reasoning`,
 * `audio_output` and `image_output_tokens`. Tokens of pictures, and of sound from the cache, are counted separately
 * only if the provider reports them separately. A new meter is a row here. The audit calculates charges from a second
 * table (`src/ledger/recheck.ts`), which does not compile without the meter.
 */
const ROWS = {
  input: {
    priceKey: 'prompt',
    wire: { name: 'prompt', place: 0 },
    scale: 'million_tokens',
    parent: null,
    side: 'input',
    typicalUnits: 1_000,
    types: ['chat', 'embeddings', 'image', 'tts', 'transcription', 'rerank'],
    label: { en: 'Input tokens', ru: 'Входные токены' },
    priceLabel: { en: 'input', ru: 'вход' },
  },
  output: {
    priceKey: 'completion',
    wire: { name: 'completion', place: 1 },
    scale: 'million_tokens',
    parent: null,
    side: 'output',
    typicalUnits: 1_000,
    types: ['chat', 'image', 'tts', 'transcription'],
    label: { en: 'Output tokens', ru: 'Выходные токены' },
    priceLabel: { en: 'output', ru: 'выход' },
  },
  cache_read: {
    priceKey: 'input_cache_read',
    wire: { name: 'input_cache_read', place: 4 },
    scale: 'million_tokens',
    parent: 'input',
    side: 'input',
    detail: 'cached',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Cached input', ru: 'Вход из кэша' },
    priceLabel: { en: 'cached input', ru: 'вход из кэша' },
  },
  cache_write: {
    priceKey: 'input_cache_write',
    wire: { name: 'input_cache_write', place: 5 },
    scale: 'million_tokens',
    parent: 'input',
    side: 'input',
    detail: 'cache_write',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Written to cache', ru: 'Запись в кэш' },
    priceLabel: { en: 'cache write', ru: 'запись в кэш' },
  },
  cache_write_1h: {
    priceKey: 'input_cache_write_1h',
    wire: null,
    scale: 'million_tokens',
    parent: 'cache_write',
    side: 'input',
    detail: 'cache_write',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Written to cache, 1 h', ru: 'Запись в кэш на 1 ч' },
    priceLabel: { en: 'cache write, 1 h', ru: 'запись в кэш на 1 ч' },
  },
  reasoning: {
    priceKey: 'internal_reasoning',
    wire: { name: 'internal_reasoning', place: 6 },
    scale: 'million_tokens',
    parent: 'output',
    side: 'output',
    detail: 'reasoning',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Reasoning tokens', ru: 'Токены рассуждения' },
    priceLabel: { en: 'reasoning', ru: 'рассуждение' },
  },
  audio_input: {
    priceKey: 'audio',
    wire: { name: 'audio', place: 7 },
    scale: 'million_tokens',
    parent: 'input',
    side: 'input',
    modality: 'audio',
    typicalUnits: 0,
    types: ['chat', 'transcription'],
    label: { en: 'Audio input', ru: 'Аудио на входе' },
    priceLabel: { en: 'audio input', ru: 'аудио на входе' },
  },
  audio_output: {
    priceKey: 'audio_output',
    wire: { name: 'audio_output', place: 8 },
    scale: 'million_tokens',
    parent: 'output',
    side: 'output',
    modality: 'audio',
    typicalUnits: 100,
    types: ['chat', 'tts'],
    label: { en: 'Audio output', ru: 'Аудио на выходе' },
    priceLabel: { en: 'audio output', ru: 'аудио на выходе' },
  },
  audio_cache_read: {
    priceKey: 'audio_cache_read',
    wire: { name: 'input_audio_cache', place: 14 },
    scale: 'million_tokens',
    parent: 'cache_read',
    side: 'input',
    detail: 'cached',
    uncached: 'audio_input',
    modality: 'audio',
    typicalUnits: 0,
    types: ['chat', 'transcription'],
    label: { en: 'Cached audio input', ru: 'Аудио из кэша' },
    priceLabel: { en: 'cached audio input', ru: 'аудио из кэша' },
  },
  image_tokens: {
    priceKey: 'image_tokens',
    wire: { name: 'image_token', place: 15 },
    scale: 'million_tokens',
    parent: 'input',
    side: 'input',
    modality: 'image',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Image tokens of the input', ru: 'Токены изображений на входе' },
    priceLabel: { en: 'image tokens of the input', ru: 'токены изображений на входе' },
  },
  image_cache_read: {
    priceKey: 'image_cache_read',
    wire: { name: 'input_image_cache', place: 16 },
    scale: 'million_tokens',
    parent: 'cache_read',
    side: 'input',
    detail: 'cached',
    uncached: 'image_tokens',
    modality: 'image',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Cached image tokens', ru: 'Токены изображений из кэша' },
    priceLabel: { en: 'cached image tokens', ru: 'токены изображений из кэша' },
  },
  image_output_tokens: {
    priceKey: 'image_output_tokens',
    wire: { name: 'image_output_token', place: 17 },
    scale: 'million_tokens',
    parent: 'output',
    side: 'output',
    modality: 'image',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Image tokens of the output', ru: 'Токены изображений на выходе' },
    priceLabel: { en: 'image tokens of the output', ru: 'токены изображений на выходе' },
  },
  characters: {
    priceKey: 'characters',
    wire: { name: 'per_character', place: 10 },
    scale: 'million_characters',
    parent: null,
    side: null,
    typicalUnits: 1_000,
    types: ['tts'],
    label: { en: 'Characters', ru: 'Символы' },
    priceLabel: { en: 'characters', ru: 'символы' },
  },
  request: {
    priceKey: 'request',
    wire: { name: 'request', place: 2 },
    scale: 'unit',
    parent: null,
    side: null,
    typicalUnits: 1,
    types: ['chat', 'image', 'video', 'moderation'],
    label: { en: 'Request', ru: 'Запрос' },
    priceLabel: { en: 'per request', ru: 'за запрос' },
  },
  image_input: {
    priceKey: 'image',
    wire: { name: 'image', place: 3 },
    scale: 'unit',
    parent: null,
    side: 'input',
    typicalUnits: 0,
    types: ['chat', 'image'],
    label: { en: 'Input images', ru: 'Изображения на входе' },
    priceLabel: { en: 'per input image', ru: 'за изображение на входе' },
  },
  image_output: {
    priceKey: 'image_output',
    wire: { name: 'image_output', place: 9 },
    scale: 'unit',
    parent: null,
    side: null,
    varies: 'size_and_quality',
    typicalUnits: 1,
    types: ['chat', 'image'],
    label: { en: 'Output images', ru: 'Изображения на выходе' },
    priceLabel: { en: 'per image', ru: 'за изображение' },
  },
  search: {
    priceKey: 'search',
    wire: { name: 'search', place: 12 },
    scale: 'unit',
    parent: null,
    side: null,
    typicalUnits: 1,
    types: ['chat', 'rerank'],
    label: { en: 'Searches', ru: 'Поисковые запросы' },
    priceLabel: { en: 'per search', ru: 'за поиск' },
  },
  deciseconds: {
    priceKey: 'second',
    wire: { name: 'per_second', place: 11 },
    scale: 'ten_units',
    parent: null,
    side: null,
    typicalUnits: 600,
    types: ['transcription'],
    label: { en: 'Seconds of sound', ru: 'Секунды звука' },
    priceLabel: { en: 'per second', ru: 'за секунду' },
  },
  video_seconds: {
    priceKey: 'video_second',
    wire: { name: 'video_second', place: 13 },
    scale: 'unit',
    parent: null,
    side: null,
    varies: 'resolution',
    typicalUnits: 1,
    types: ['video'],
    label: { en: 'Seconds of video', ru: 'Секунды видео' },
    priceLabel: { en: 'per second of video', ru: 'за секунду видео' },
  },
} as const satisfies Readonly<Record<string, Row>>

export type Meter = keyof typeof ROWS
/** A key in a price of the catalogue file. */
export type PriceKey = (typeof ROWS)[Meter]['priceKey']
/** A type of models that some meter measures; each needs its row in `model-types.ts`. */
export type MeasuredType = (typeof ROWS)[Meter]['types'][number]
/** Price keys of the meters that measure models of a type. */
export type PriceKeyOf<Type extends MeasuredType> = {
  readonly [M in Meter]: Type extends (typeof ROWS)[M]['types'][number] ? (typeof ROWS)[M]['priceKey'] : never
}[Meter]

export interface MeterRow extends Row {
  readonly priceKey: PriceKey
  readonly parent: Meter | null
  readonly uncached?: Meter
  readonly types: readonly [MeasuredType, ...MeasuredType[]]
}

export const METER_TABLE: Readonly<Record<Meter, MeterRow>> = ROWS

// The keys of the table are exactly the meters.
const WRITTEN = Object.keys(ROWS) as Meter[]

export interface PricedMeter extends MeterRow {
  readonly meter: Meter
}

/** In the order in which prices are written. */
export const PRICED_METERS: readonly PricedMeter[] = WRITTEN.map((meter) => ({
  ...METER_TABLE[meter],
  meter,
}))
export const PRICE_KEYS: readonly PriceKey[] = PRICED_METERS.map(({ priceKey }) => priceKey)
