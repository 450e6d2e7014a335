import { lengthOf, numberAt } from './webm.ts'

const LACING = { none: 0, xiph: 1, fixed: 2 } as const

/**
 * The frames of a block from its flags on: the place of the first and the bytes of each. null where they do not add
 * up.
 */
export function framesOf(
  bytes: Buffer,
  flags: number,
  end: number,
): { readonly start: number; readonly sizes: readonly number[] } | null {
  const lacing = ((bytes[flags] ?? 0) >> 1) & 3
  if (lacing === LACING.none) return { start: flags + 1, sizes: [end - flags - 1] }
  const count = (bytes[flags + 1] ?? 0) + 1
  const start = flags + 2
  if (lacing === LACING.fixed) {
    const size = (end - start) / count
    return size === 0
      ? { start, sizes: [] }
      : Number.isInteger(size) && size > 0
        ? { start, sizes: Array.from({ length: count }, () => size) }
        : null
  }
  const told = lacing === LACING.xiph ? xiphSizes(bytes, start, end, count) : ebmlSizes(bytes, start, end, count)
  if (told === null) return null
  const last = end - told.start - told.sizes.reduce((sum, size) => sum + size, 0)
  return last < 0 || told.sizes.some((size) => size < 0) ? null : { start: told.start, sizes: [...told.sizes, last] }
}

/** The sizes of all frames but the last: each in bytes that are added up, of which all but the last are 255. */
function xiphSizes(
  bytes: Buffer,
  start: number,
  end: number,
  count: number,
): { readonly start: number; readonly sizes: readonly number[] } | null {
  const sizes: number[] = []
  let at = start
  for (let size = 0; sizes.length < count - 1; at += 1) {
    if (at >= end) return null
    const byte = bytes[at] ?? 0
    size += byte
    if (byte === 255) continue
    sizes.push(size)
    size = 0
  }
  return { start: at, sizes }
}

/** The same sizes: the first in full, each other as a difference. */
function ebmlSizes(
  bytes: Buffer,
  start: number,
  end: number,
  count: number,
): { readonly start: number; readonly sizes: readonly number[] } | null {
  const sizes: number[] = []
  let at = start
  while (sizes.length < count - 1) {
    const length = lengthOf(bytes[at], 8)
    if (length === 0 || at + length > end) return null
    const value = numberAt(bytes, at, length) - 2 ** (7 * length)
    const before = sizes.at(-1)
    sizes.push(before === undefined ? value : before + value - (2 ** (7 * length - 1) - 1))
    at += length
  }
  return { start: at, sizes }
}
