const STREAM_INFO_BYTES = 34

/** Seconds of a FLAC file that begins at `start` with its mark; null where its encoder did not know. */
export function flacSeconds(bytes: Buffer, start: number): number | null {
  const info = start + 8
  if (bytes.length < info + STREAM_INFO_BYTES) return null
  const rate = bytes.readUIntBE(info + 10, 3) >> 4
  const samples = ((bytes[info + 13] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(info + 14)
  return rate === 0 || samples === 0 ? null : samples / rate
}

/** Samples a second of the FLAC stream that begins at `start`, 0 where it cannot be read. */
export function flacRate(bytes: Buffer, start: number): number {
  return bytes.length < start + 8 + STREAM_INFO_BYTES ? 0 : bytes.readUIntBE(start + 18, 3) >> 4
}
