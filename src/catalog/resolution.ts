import type { Endpoint } from './catalog.ts'

const SIZE = /^(\d+)x(\d+)$/
/** Names of resolutions that are no number of lines. */
const LINES: Readonly<Record<string, string>> = {
  '1k': '1080p',
  '2k': '1440p',
  '4k': '2160p',
  hd: '720p',
  fhd: '1080p',
  uhd: '2160p',
}

/** What is asked of a video that its price may depend on. */
interface Dimensions {
  readonly size: string | null
  readonly resolution: string | null
}

/** The resolution of a size or of another spelling of it: `1280x720`, `720x1280` and `HD` are all `720p`. */
export function resolutionOf(name: string): string {
  const lower = name.toLowerCase()
  const match = SIZE.exec(lower)
  return match === null ? (LINES[lower] ?? lower) : `${Math.min(Number(match[1]), Number(match[2]))}p`
}

/** The shortest form of a size's ratio, such as `16:9`; null where it is no size. */
export function aspectRatioOf(size: string): string | null {
  const match = SIZE.exec(size)
  if (match === null) return null
  const [width, height] = [Number(match[1]), Number(match[2])]
  let [divisor, rest] = [width, height]
  while (rest > 0) [divisor, rest] = [rest, divisor % rest]
  return divisor === 0 ? null : `${width / divisor}:${height / divisor}`
}

/** Which of the keys names the resolution, literally or in another spelling; null = none. */
export function keyFor(asked: string, keys: readonly string[]): string | null {
  return keys.find((key) => key === asked) ?? keys.find((key) => resolutionOf(key) === resolutionOf(asked)) ?? null
}

/**
 * The key of the endpoint's prices that a video falls under. null where it has one price, and where no key names it:
 * that is as dear as the dearest, since less could be below what the provider bills.
 */
export function variantOf({ variants }: Endpoint, { size, resolution }: Dimensions): string | null {
  const keys = [...(variants?.keys() ?? [])]
  const asked = size ?? resolution
  return asked === null ? null : keyFor(asked, keys)
}
