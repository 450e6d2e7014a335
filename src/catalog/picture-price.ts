import { type Decimal, add, compare } from '../base/money.ts'
import type { Endpoint, Prices } from './catalog.ts'

/** The requested size and quality of a picture; null = the provider's choice. */
export interface PictureWish {
  readonly size: string | null
  readonly quality: string | null
}

const SIZE_PART = /^(\d+x\d+|\d+k)$/

/** The size and quality of a key: `1024x1024`, `high`, or both as `1024x1024/high`. */
function partsOf(key: string): PictureWish {
  const parts = key.toLowerCase().split('/')
  return {
    size: parts.find((part) => SIZE_PART.test(part)) ?? null,
    quality: parts.find((part) => !SIZE_PART.test(part)) ?? null,
  }
}

/** Whether a text is a possible key of a price by size and quality. */
export function isPictureKey(key: string): boolean {
  const parts = key.split('/')
  const sizes = parts.filter((part) => SIZE_PART.test(part.toLowerCase()))
  return (
    parts.length <= 2 &&
    parts.every((part) => /^[\w.-]{1,64}$/.test(part)) &&
    sizes.length <= 1 &&
    parts.length - sizes.length <= 1
  )
}

/** Whether a price names this quality; if none does, the endpoint has no price for it. */
export function namesQuality({ variants }: Pick<Endpoint, 'variants'>, quality: string): boolean {
  return [...(variants?.keys() ?? [])].some((key) => partsOf(key).quality === quality.toLowerCase())
}

/** Whether a price depends on the quality. */
export function namesQualities(keys: Iterable<string>): boolean {
  return [...keys].some((key) => partsOf(key).quality !== null)
}

/**
 * The price key of a picture: among the keys that name only what the request asks for, the most specific one; else the
 * dearest key that does not contradict the request. null = the endpoint has one price, or no key fits and the dearest
 * price applies.
 */
export function pictureVariant({ variants }: Pick<Endpoint, 'variants'>, wish: PictureWish): string | null {
  if (variants === undefined) return null
  const asked = { size: wish.size?.toLowerCase() ?? null, quality: wish.quality?.toLowerCase() ?? null }
  const keys = [...variants].map(([key, prices]) => ({ key, prices, ...partsOf(key) }))
  const named = keys.filter(
    ({ size, quality }) => (size === null || size === asked.size) && (quality === null || quality === asked.quality),
  )
  if (named.length > 0) return dearestOf(mostNamed(named))
  const fitting = keys.filter(({ size, quality }) => agrees(size, asked.size) && agrees(quality, asked.quality))
  return fitting.length === 0 ? null : dearestOf(fitting)
}

function agrees(named: string | null, asked: string | null): boolean {
  return named === null || asked === null || named === asked
}

interface Keyed extends PictureWish {
  readonly key: string
  readonly prices: Prices
}

function mostNamed(keys: readonly Keyed[]): readonly Keyed[] {
  const count = ({ size, quality }: Keyed): number => Number(size !== null) + Number(quality !== null)
  const most = Math.max(...keys.map(count))
  return keys.filter((key) => count(key) === most)
}

/** The key with the highest sum of the client's and the provider's price: the operator must not lose by the choice. */
function dearestOf(keys: readonly Keyed[]): string | null {
  const price = ({ prices }: Keyed): Decimal => add(prices.buy.image_output, prices.sell.image_output)
  return keys.toSorted((left, right) => compare(price(right), price(left)))[0]?.key ?? null
}

const SIZE = /^(\d+)x(\d+)$/
/** Names of resolutions that are known by another name than their number of lines. */
const LINES: ReadonlyMap<string, string> = new Map([
  ['1k', '1080p'],
  ['2k', '1440p'],
  ['4k', '2160p'],
  ['hd', '720p'],
  ['fhd', '1080p'],
  ['uhd', '2160p'],
])

/** The requested size or resolution of a video. */
interface Dimensions {
  readonly size: string | null
  readonly resolution: string | null
}

/** The common name of a size or resolution: `1280x720`, `720x1280` and `HD` are all `720p`. */
export function resolutionOf(name: string): string {
  const lower = name.toLowerCase()
  const match = SIZE.exec(lower)
  return match === null ? (LINES.get(lower) ?? lower) : `${Math.min(Number(match[1]), Number(match[2]))}p`
}

/** The reduced ratio of a size, such as `16:9`; null for another text. */
export function aspectRatioOf(size: string): string | null {
  const match = SIZE.exec(size)
  if (match === null) return null
  const [width, height] = [Number(match[1]), Number(match[2])]
  let [divisor, rest] = [width, height]
  while (rest > 0) [divisor, rest] = [rest, divisor % rest]
  return divisor === 0 ? null : `${width / divisor}:${height / divisor}`
}

/** The key that names the resolution, literally or in another spelling; null = none. */
export function keyFor(asked: string, keys: readonly string[]): string | null {
  return keys.find((key) => key === asked) ?? keys.find((key) => resolutionOf(key) === resolutionOf(asked)) ?? null
}

/**
 * The price key of a video. null = the endpoint has one price, or no key names the resolution: then the dearest price
 * applies, since any other could be below the provider's bill.
 */
export function variantOf({ variants }: Endpoint, { size, resolution }: Dimensions): string | null {
  const keys = [...(variants?.keys() ?? [])]
  const asked = size ?? resolution
  return asked === null ? null : keyFor(asked, keys)
}
