import { aacForm, type FrameForm } from './aac-config.ts'

interface SampleForm extends FrameForm {
  /** Frames that tell their own length, as many as there are in a sample. */
  readonly isMpeg: boolean
}

/** More descriptions than any honest entry has. */
const FOUND_MAX = 16
const OPUS_SECONDS_MAX = 0.12
const MP3_SAMPLES = 1_152
const MP3_RATE_MIN = 8_000
const MP3_TYPES: ReadonlySet<number> = new Set([0x69, 0x6b])
const AAC_TYPES: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68])
/** Bytes of one value of sound without compression. */
const PCM_BYTES: ReadonlyMap<string, number> = new Map([
  ['ulaw', 1],
  ['alaw', 1],
  ['raw ', 1],
  ['sowt', 2],
  ['twos', 2],
  ['in24', 3],
  ['in32', 4],
  ['fl32', 4],
  ['fl64', 8],
])
const ENTRY_BYTES = 36

/** The longest frame of the first entry of `stsd`; null where it has several, or one of a codec that is not known. */
export function longestForm(entries: Buffer): SampleForm | null {
  if (entries.length < 8 + ENTRY_BYTES || entries.readUInt32BE(4) !== 1) return null
  const entry = entries.subarray(8)
  const name = entry.toString('latin1', 4, 8)
  if (name === 'Opus') return { seconds: OPUS_SECONDS_MAX, bytesMax: Infinity, isMpeg: false }
  if (name === '.mp3')
    return { seconds: MP3_SAMPLES / Math.max(MP3_RATE_MIN, entry.readUInt16BE(32)), bytesMax: Infinity, isMpeg: true }
  if (name === 'alac') return longest(entry, 'alac', alacForm)
  if (name === 'mp4a') return longest(entry, 'esds', mp4aForm)
  const rate = entry.readUInt16BE(32)
  return pcmWidth(entries) === 0 || rate === 0 ? null : { seconds: 1 / rate, bytesMax: Infinity, isMpeg: false }
}

/** Bytes of a sample of each channel without compression; 0 = compressed. */
export function pcmWidth(entries: Buffer): number {
  if (entries.length < 8 + ENTRY_BYTES) return 0
  return (PCM_BYTES.get(entries.toString('latin1', 12, 16)) ?? 0) * entries.readUInt16BE(8 + 24)
}

/**
 * Of all descriptions in the entry the one with the longest frames: which of them a decoder takes depends on the
 * decoder.
 */
function longest(entry: Buffer, name: string, formOf: (description: Buffer) => SampleForm | null): SampleForm | null {
  let found: SampleForm | null = null
  let count = 0
  for (let at = entry.indexOf(name, ENTRY_BYTES, 'latin1'); at !== -1; at = entry.indexOf(name, at + 4, 'latin1')) {
    count += 1
    const form = count > FOUND_MAX ? null : formOf(entry.subarray(at + 8))
    if (form === null) return null
    found =
      found === null
        ? form
        : {
            seconds: Math.max(found.seconds, form.seconds),
            bytesMax: Math.min(found.bytesMax, form.bytesMax),
            isMpeg: found.isMpeg || form.isMpeg,
          }
  }
  return found
}

function alacForm(cookie: Buffer): SampleForm | null {
  if (cookie.length < 24) return null
  const rate = cookie.readUInt32BE(20)
  return rate === 0 ? null : { seconds: cookie.readUInt32BE(0) / rate, bytesMax: Infinity, isMpeg: false }
}

/** The elementary stream descriptor: it holds the decoder's, and that the codec's own. */
function mp4aForm(descriptor: Buffer): SampleForm | null {
  const stream = contentOf(descriptor, 0x03)
  if (stream === null) return null
  const flags = stream[2] ?? 0
  const url = (flags & 0x40) === 0 ? 0 : 1 + (stream[3 + ((flags & 0x80) === 0 ? 0 : 2)] ?? 0)
  const decoder = contentOf(
    stream.subarray(3 + ((flags & 0x80) === 0 ? 0 : 2) + url + ((flags & 0x20) === 0 ? 0 : 2)),
    0x04,
  )
  if (decoder === null) return null
  const type = decoder[0] ?? 0
  if (MP3_TYPES.has(type)) return { seconds: MP3_SAMPLES / MP3_RATE_MIN, bytesMax: Infinity, isMpeg: true }
  const config = AAC_TYPES.has(type) ? contentOf(decoder.subarray(13), 0x05) : null
  const form = config === null ? null : aacForm(config)
  return form === null ? null : { ...form, isMpeg: false }
}

/** What a descriptor of this tag holds; its size has seven bits in each of at most four bytes. */
function contentOf(bytes: Buffer, tag: number): Buffer | null {
  if (bytes[0] !== tag) return null
  let size = 0
  for (let at = 1; at <= 4; at += 1) {
    const byte = bytes[at] ?? 0
    size = size * 128 + (byte & 127)
    if (byte < 128) return bytes.subarray(at + 1, at + 1 + size)
  }
  return null
}
