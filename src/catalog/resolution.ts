import type { Endpoint } from './catalog.ts'

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
