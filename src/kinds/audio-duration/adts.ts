export const RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const
const HEADER_BYTES = 7
const BLOCK_SAMPLES = 1_024

/** Whether an AAC frame with its own header begins here. */
export function isAdtsFrame(bytes: Buffer, at: number): boolean {
  return (
    at + HEADER_BYTES <= bytes.length &&
    bytes[at] === 0xff &&
    ((bytes[at + 1] ?? 0) & 0xf6) === 0xf0 &&
    lengthAt(bytes, at) >= HEADER_BYTES &&
    rateAt(bytes, at) !== undefined
  )
}

/** Seconds of an AAC stream, frame by frame; null where it breaks off before its first. */
export function adtsSeconds(bytes: Buffer, start: number): number | null {
  // Each at its own rate: one that is high in the first frame alone would make an hour of the others a few minutes.
  const blocksByRate = new Map<number, number>()
  for (let at = start; isAdtsFrame(bytes, at); at += lengthAt(bytes, at)) {
    const rate = rateAt(bytes, at) ?? 0
    blocksByRate.set(rate, (blocksByRate.get(rate) ?? 0) + ((bytes[at + 6] ?? 0) & 3) + 1)
  }
  return blocksByRate.size === 0
    ? null
    : [...blocksByRate].reduce((seconds, [rate, blocks]) => seconds + (blocks * BLOCK_SAMPLES) / rate, 0)
}

/** Bytes of its frames, in a row from the first. */
export function adtsSound(bytes: Buffer, start: number): number {
  let at = start
  while (isAdtsFrame(bytes, at)) at += lengthAt(bytes, at)
  return at - start
}

function rateAt(bytes: Buffer, at: number): number | undefined {
  return RATES[((bytes[at + 2] ?? 0xff) >> 2) & 15]
}

function lengthAt(bytes: Buffer, at: number): number {
  return (bytes.readUInt32BE(at + 2) >>> 5) & 0x1fff
}
