import { audioContainer } from '../../src/kinds/transcription/audio-container.ts'
import { audioLength } from '../../src/kinds/transcription/audio-length.ts'

/** Small audio files, built byte by byte: containers as encoders write them, filled with silence. */

/** The duration that we read from the file, in seconds; null = none. */
export async function soundSeconds(bytes: Buffer): Promise<number | null> {
  return (await audioLength(bytes, audioContainer(bytes))).seconds
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A WAV file of 16-bit mono PCM; `declared` is the audio size in its header. */
export function wavFile(
  seconds: number,
  { rate = 16_000, declared }: { rate?: number; declared?: number } = {},
): Buffer {
  const data = Buffer.alloc(Math.round(seconds * rate) * 2)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(declared ?? data.length, 40)
  return Buffer.concat([head, data])
}

/** A WAV file of `bytes` bytes whose header declares only the start of the audio, like a recording cut off. */
export function wavOf(bytes: number): Buffer {
  const head = wavFile(0)
  head.writeUInt32LE(0, 40)
  return Buffer.concat([head, Buffer.alloc(bytes - head.length)])
}

/** Frames of MPEG-1 layer 3, 44.1 kHz, 1,152 samples each; `bitRates` are used in turn. */
export function mp3Frames(count: number, bitRates: readonly (64 | 128 | 320)[] = [128]): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_value, index) => {
      const kbits = bitRates[index % bitRates.length] ?? 128
      const frame = Buffer.alloc(Math.floor((144_000 * kbits) / 44_100))
      frame.writeUInt32BE((0xfffb_0000 | ({ 64: 5, 128: 9, 320: 14 }[kbits] << 12)) >>> 0)
      return frame
    }),
  )
}

/** An ID3 tag of `size` bytes before the audio. */
export function id3Tag(size: number): Buffer {
  return Buffer.concat([
    Buffer.from('ID3\u0004\u0000\u0000', 'latin1'),
    Buffer.from([(size >> 21) & 127, (size >> 14) & 127, (size >> 7) & 127, size & 127]),
    Buffer.alloc(size, 0xff),
  ])
}

export function oggPage(serial: number, granule: bigint, body: Buffer): Buffer {
  const head = Buffer.alloc(27)
  head.write('OggS', 0, 'latin1')
  head.writeBigInt64LE(granule, 6)
  head.writeUInt32LE(serial, 14)
  const lacing = [...Array.from({ length: Math.floor(body.length / 255) }, () => 255), body.length % 255]
  head[26] = lacing.length
  return Buffer.concat([head, Buffer.from(lacing), body])
}

export function opusHead(preSkip: number): Buffer {
  const head = Buffer.alloc(19)
  head.write('OpusHead', 0, 'latin1')
  head.writeUInt16LE(preSkip, 10)
  head.writeUInt32LE(48_000, 12)
  return head
}

/** FLAC's marker and its STREAMINFO, without frames. */
export function flacFile(rate: number, samples: number): Buffer {
  const info = Buffer.alloc(34)
  info.writeUIntBE(rate << 4, 10, 3)
  info[13] = Math.floor(samples / 2 ** 32)
  info.writeUInt32BE(samples % 2 ** 32, 14)
  return Buffer.concat([Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), info])
}

/** An AIFF file of 16-bit mono PCM; `frames` is the length in its header. */
export function aiffFile(
  seconds: number,
  { rate = 16_000, frames, type }: { rate?: number; frames?: number; type?: string } = {},
): Buffer {
  const data = Buffer.alloc(Math.round(seconds * rate) * 2)
  const common = Buffer.alloc(type === undefined ? 26 : 32)
  common.write('COMM', 0, 'latin1')
  common.writeUInt32BE(common.length - 8, 4)
  common.writeUInt16BE(1, 8)
  common.writeUInt32BE(frames ?? data.length / 2, 10)
  common.writeUInt16BE(16, 14)
  const exponent = Math.floor(Math.log2(rate))
  common.writeUInt16BE(16_383 + exponent, 16)
  common.writeBigUInt64BE(BigInt(rate) << BigInt(63 - exponent), 18)
  if (type !== undefined) common.write(type, 26, 'latin1')
  return Buffer.concat([
    Buffer.from('FORM'),
    u32(4 + common.length + 16 + data.length),
    Buffer.from(type === undefined ? 'AIFF' : 'AIFC'),
    common,
    Buffer.from('SSND'),
    u32(8 + data.length),
    Buffer.alloc(8),
    data,
  ])
}

/** Frames of AMR, 20 ms each, of a narrow-band or wide-band frame type; type 15 has no sound. */
export function amrFile(count: number, band: 'narrow' | 'wide', form: 7 | 8 | 15): Buffer {
  const size = form === 15 ? 1 : form === 7 ? (band === 'narrow' ? 32 : 59) : band === 'narrow' ? 6 : 61
  const frame = Buffer.alloc(size)
  frame[0] = (form << 3) | 4
  const head = Buffer.from(band === 'narrow' ? '#!AMR\n' : '#!AMR-WB\n')
  return Buffer.concat([head, ...Array.from({ length: count }, () => frame)])
}

/** ADTS frames of 1,024 samples at 24 kHz. */
export function adtsFrames(count: number): Buffer {
  const frame = Buffer.alloc(16)
  frame.set([0xff, 0xf1, 0x40 | (6 << 2), 0x40, 16 >> 3, (16 & 7) << 5, 0])
  return Buffer.concat(Array.from({ length: count }, () => frame))
}

export function box(name: string, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([u32(body.length + 8), Buffer.from(name, 'latin1'), body])
}

export function words(...values: readonly number[]): Buffer {
  return Buffer.concat(values.map(u32))
}

function track(id: number, handler: string, timescale: number, duration: number): Buffer {
  return box(
    'trak',
    box('tkhd', words(0, 0, 0, id, 0, duration)),
    box(
      'mdia',
      box('mdhd', words(0, 0, 0, timescale, duration, 0)),
      box('hdlr', words(0, 0), Buffer.from(handler), words(0, 0, 0)),
    ),
  )
}

/** An M4A file that also has a video track of an hour; its index comes after the data, as cameras write it. */
export function m4aFile(timescale: number, duration: number): Buffer {
  const movie = box(
    'moov',
    box('mvhd', words(0, 0, 0, 600, 600 * 3_600, 0)),
    track(1, 'vide', 600, 600 * 3_600),
    track(2, 'soun', timescale, duration),
  )
  return Buffer.concat([box('ftyp', Buffer.from('M4A '), words(0)), box('mdat', Buffer.alloc(100, 0xff)), movie])
}

export function element(id: string, content: Buffer, size: 'known' | 'unknown' = 'known'): Buffer {
  const length = Buffer.alloc(8)
  if (size === 'known') length.writeBigUInt64BE((1n << 56n) | BigInt(content.length))
  else length.fill(0xff).writeUInt8(0x01)
  return Buffer.concat([Buffer.from(id, 'hex'), length, content])
}

/** A multipart body as a client's `FormData` writes it, with a file of this name; a list repeats a field. */
export function audioForm(
  fields: Readonly<Record<string, string | readonly string[]>>,
  file: { readonly bytes: Buffer; readonly name?: string; readonly type?: string } | null,
): { readonly body: Buffer; readonly headers: Record<string, string> } {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(fields)) {
    for (const text of typeof value === 'string' ? [value] : value)
      parts.push(Buffer.from(`--form\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`))
  }
  if (file !== null) {
    const { bytes, name = 'sound.wav', type = 'application/octet-stream' } = file
    parts.push(
      Buffer.from(
        `--form\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    )
  }
  return {
    body: Buffer.concat([...parts, Buffer.from('--form--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=form' },
  }
}
