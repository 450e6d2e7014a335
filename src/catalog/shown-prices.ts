import type { Meter, PriceSheet } from '../meters.ts'
import { compare, decimalText, shift, type Decimal } from '../money.ts'
import type { ModelType } from './catalog.ts'
import type { PriceKey } from './price-keys.ts'

/**
 * Each price of the file, the meter it is of, the digits between a µRUB a unit and its own unit in RUB, and the price
 * it falls back to.
 */
const SHOWN: readonly {
  readonly key: PriceKey
  readonly meter: Meter
  readonly places: number
  readonly parent?: Meter
}[] = [
  // Micro-rubles a token are rubles a million of them.
  { key: 'prompt', meter: 'input', places: 0 },
  { key: 'completion', meter: 'output', places: 0 },
  { key: 'input_cache_read', meter: 'cache_read', places: 0, parent: 'input' },
  { key: 'input_cache_write', meter: 'cache_write', places: 0, parent: 'input' },
  { key: 'input_cache_write_1h', meter: 'cache_write_1h', places: 0, parent: 'cache_write' },
  { key: 'internal_reasoning', meter: 'reasoning', places: 0, parent: 'output' },
  { key: 'audio', meter: 'audio_input', places: 0, parent: 'input' },
  { key: 'audio_output', meter: 'audio_output', places: 0, parent: 'output' },
  { key: 'characters', meter: 'characters', places: 0 },
  { key: 'request', meter: 'request', places: -6 },
  { key: 'image', meter: 'image_input', places: -6 },
  { key: 'image_output', meter: 'image_output', places: -6 },
  { key: 'search', meter: 'search', places: -6 },
  // The meter counts tenths of a second.
  { key: 'second', meter: 'deciseconds', places: -5 },
  { key: 'video_second', meter: 'video_seconds', places: -6 },
]
const ALWAYS: Readonly<Record<ModelType, readonly PriceKey[]>> = {
  chat: ['prompt', 'completion'],
  embeddings: ['prompt'],
  image: [],
  tts: [],
  transcription: [],
  rerank: [],
  video: [],
}

/** Prices worth showing, in the file's units and RUB; what only repeats its parent, or is 0, says nothing. */
export function shownPrices(
  type: ModelType,
  sheet: PriceSheet,
): readonly { readonly key: PriceKey; readonly meter: Meter; readonly price: Decimal; readonly text: string }[] {
  return SHOWN.flatMap(({ key, meter, places, parent }) => {
    const price = sheet[meter]
    const says = price.digits !== 0n && (parent === undefined || compare(price, sheet[parent]) !== 0)
    return says || ALWAYS[type].includes(key) ? [{ key, meter, price, text: decimalText(shift(price, places)) }] : []
  })
}

/** One of those prices on another sheet, in the same unit. */
export function priceText(key: PriceKey, sheet: PriceSheet): string {
  const shown = SHOWN.find((row) => row.key === key)
  return shown === undefined ? '0' : decimalText(shift(sheet[shown.meter], shown.places))
}
