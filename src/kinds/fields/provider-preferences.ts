import { parseDecimal } from '../../base/money.ts'
import type { ProviderPreferences } from './routed-request.ts'
import { booleanField, field, invalidInput, isObject, objectField, type RawObject } from './json-fields.ts'

const ENTRIES_MAX = 100
const PRICES = ['prompt', 'completion', 'request', 'image'] as const

/** Reads `provider` (wire.md 8); keys that are not offered here are ignored. */
export function parseProviderPreferences(body: RawObject): ProviderPreferences {
  const raw = objectField(body, 'provider') ?? {}
  return {
    order: slugsOf(raw, 'order') ?? [],
    ignore: slugsOf(raw, 'ignore') ?? [],
    only: slugsOf(raw, 'only'),
    sort: sortOf(raw),
    allowFallbacks: booleanField(raw, 'allow_fallbacks', 'provider.allow_fallbacks') ?? true,
    requireParameters: booleanField(raw, 'require_parameters', 'provider.require_parameters') ?? false,
    maxPrice: maxPriceOf(raw),
  }
}

function slugsOf(raw: RawObject, name: string): readonly string[] | null {
  const list = field(raw, name)
  if (list === undefined) return null
  const refusal = invalidInput(`provider.${name}`, `must be an array of at most ${ENTRIES_MAX} provider slugs`)
  if (!Array.isArray(list) || list.length > ENTRIES_MAX) throw refusal
  return list.map((slug: unknown) => {
    if (typeof slug !== 'string') throw refusal
    return slug.toLowerCase()
  })
}

function sortOf(raw: RawObject): ProviderPreferences['sort'] {
  const given = field(raw, 'sort')
  if (given === undefined) return null
  const sort = isObject(given) ? field(given, 'by') : given
  if (sort === 'price' || sort === 'throughput' || sort === 'latency') return sort
  throw invalidInput('provider.sort', 'must be price, throughput or latency')
}

function maxPriceOf(raw: RawObject): ProviderPreferences['maxPrice'] {
  const prices = objectField(raw, 'max_price', 'provider.max_price') ?? {}
  const texts: Partial<Record<(typeof PRICES)[number], string>> = {}
  for (const name of PRICES) {
    const given = field(prices, name)
    if (given === undefined) continue
    const text = typeof given === 'number' ? String(given) : given
    const decimal = typeof text === 'string' ? parseDecimal(text) : null
    if (typeof text !== 'string' || decimal === null || decimal.digits < 0n)
      throw invalidInput(`provider.max_price.${name}`, 'must be a number of at least 0')
    texts[name] = text
  }
  return texts
}
