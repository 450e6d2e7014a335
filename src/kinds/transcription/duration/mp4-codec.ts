import { aacForm } from './aac-config.ts'
import { alacForm } from './alac.ts'
import { flacRate } from './flac.ts'
import type { PacketForm } from './packet-form.ts'

/** More descriptions than any honest entry has. */
const FOUND_MAX = 16
const MPEG_TYPES: ReadonlySet<number> = new Set([0x69, 0x6b])
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
const UNKNOWN: PacketForm = { codec: 'unknown' }

/** The form of the samples of a track by `stsd`; unknown where it has several entries. */
export function entryForm(entries: Buffer): PacketForm {
  if (entries.length < 8 + ENTRY_BYTES || entries.readUInt32BE(4) !== 1) return UNKNOWN
  const entry = entries.subarray(8)
  const width = pcmBytes(entries)
  const rate = entry.readUInt16BE(32)
  if (width > 0 && rate > 0) return { codec: 'pcm', bytesPerSecond: width * rate }
  switch (entry.toString('latin1', 4, 8)) {
    case 'Opus':
      return { codec: 'opus' }
    case '.mp3':
      return { codec: 'mpeg' }
    case 'alac':
      return only(entry, 'alac', alacForm)
    case 'fLaC':
      return only(entry, 'dfLa', (description) => ({ codec: 'flac', rate: flacRate(description, -4) }))
    case 'mp4a':
      return only(entry, 'esds', mp4aForm)
    default:
      return UNKNOWN
  }
}

/** Bytes of a sample of all channels without compression; 0 = compressed. */
export function pcmBytes(entries: Buffer): number {
  if (entries.length < 8 + ENTRY_BYTES) return 0
  return (PCM_BYTES.get(entries.toString('latin1', 12, 16)) ?? 0) * entries.readUInt16BE(8 + 24)
}

/** The descriptions in the entry, which must all agree: decoders differ in which of them they take. */
function only(entry: Buffer, name: string, formOf: (description: Buffer) => PacketForm): PacketForm {
  let found: PacketForm | null = null
  let count = 0
  for (let at = entry.indexOf(name, ENTRY_BYTES, 'latin1'); at !== -1; at = entry.indexOf(name, at + 4, 'latin1')) {
    count += 1
    const form = formOf(entry.subarray(at + 8))
    if (count > FOUND_MAX || (found !== null && JSON.stringify(form) !== JSON.stringify(found))) return UNKNOWN
    found = form
  }
  return found ?? UNKNOWN
}

/** The elementary stream descriptor: it contains that of the decoder, which contains that of the codec. */
function mp4aForm(descriptor: Buffer): PacketForm {
  const stream = contentOf(descriptor, 0x03)
  if (stream === null) return UNKNOWN
  const flags = stream[2] ?? 0
  const url = (flags & 0x40) === 0 ? 0 : 1 + (stream[3 + ((flags & 0x80) === 0 ? 0 : 2)] ?? 0)
  const decoder = contentOf(
    stream.subarray(3 + ((flags & 0x80) === 0 ? 0 : 2) + url + ((flags & 0x20) === 0 ? 0 : 2)),
    0x04,
  )
  if (decoder === null) return UNKNOWN
  const type = decoder[0] ?? 0
  if (MPEG_TYPES.has(type)) return { codec: 'mpeg' }
  const config = AAC_TYPES.has(type) ? contentOf(decoder.subarray(13), 0x05) : null
  return config === null ? UNKNOWN : aacForm(config)
}

/** The content of a descriptor of this tag; its size has seven bits in each of at most four bytes. */
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
