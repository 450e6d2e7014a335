/** kbit/s by index, of layers 1 to 3 of MPEG-1 and of layer 1 and layers 2 and 3 of MPEG-2. */
const KBITS = {
  v1l1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  v1l2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  v1l3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  v2l1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  v2l23: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const
const RATES = [44_100, 48_000, 32_000] as const
/** The place of an encoder's table of contents in the first frame, which is then not audio. */
const TABLE_BYTES = 48

/** Bytes that look like the start of a frame and are not: past this many the rest is not audio. */
const STRAYS_MAX = 100_000
/** So many frames of one form in a row are no accident. */
const CHAIN = 3
const FORM_BITS = 0x001e_0c00

interface Frame {
  readonly bytes: number
  readonly samples: number
  readonly rate: number
}

/** Seconds of MPEG audio, frame by frame, because a header's count may lie. null where there is none. */
export function mp3Seconds(bytes: Buffer, start: number): number | null {
  const { seconds } = mp3Sound(bytes, start)
  return seconds === 0 ? null : seconds
}

/** The same, with the bytes of its frames. */
export function mp3Sound(bytes: Buffer, start: number): { readonly seconds: number; readonly bytes: number } {
  const samplesByRate = new Map<number, number>()
  let synced = false
  let strays = 0
  let explained = 0
  for (let at = bytes.indexOf(0xff, start); at !== -1 && at + 4 <= bytes.length && strays < STRAYS_MAX;) {
    const frame = frameAt(bytes, at)
    // Anything may look like one frame; two in a row are no accident.
    if (frame === null || (!synced && !isFollowed(bytes, at + frame.bytes))) {
      synced = false
      strays += 1
      at = bytes.indexOf(0xff, at + 1)
      continue
    }
    if (synced || !isTable(bytes, at))
      samplesByRate.set(frame.rate, (samplesByRate.get(frame.rate) ?? 0) + frame.samples)
    synced = true
    explained += Math.min(frame.bytes, bytes.length - at)
    at += frame.bytes
  }
  return {
    seconds: [...samplesByRate].reduce((seconds, [rate, samples]) => seconds + samples / rate, 0),
    bytes: explained,
  }
}

/** Seconds of a packet filled by whole frames, one behind the other; null for any other. */
export function mp3PacketSeconds(bytes: Buffer, start: number, end: number): number | null {
  let seconds = 0
  let at = start
  while (at + 4 <= end) {
    const frame = frameAt(bytes, at)
    if (frame === null) return null
    seconds += frame.samples / frame.rate
    at += frame.bytes
  }
  return at === end ? seconds : null
}

/**
 * Whether MPEG audio begins in these bytes: frames of one form in a row, each where the last one ends, or fewer that
 * are all there is.
 */
export function hasMpegFrames(bytes: Buffer, from: number, to: number): boolean {
  for (let at = bytes.indexOf(0xff, from); at !== -1 && at < to; at = bytes.indexOf(0xff, at + 1)) {
    let frames = 0
    let next = at
    while (frames < CHAIN && isMpegFrame(bytes, next) && isSameForm(bytes, at, next)) {
      next += frameAt(bytes, next)?.bytes ?? 0
      frames += 1
    }
    const isAll = next === bytes.length || bytes.toString('latin1', next, next + 3) === 'TAG'
    if (frames === CHAIN || (frames > 0 && at === from && (isAll || (frames > 1 && next > bytes.length)))) return true
  }
  return false
}

function isMpegFrame(bytes: Buffer, at: number): boolean {
  return at + 4 <= bytes.length && frameAt(bytes, at) !== null
}

/** Version, layer and rate, which no encoder changes. */
function isSameForm(bytes: Buffer, one: number, other: number): boolean {
  return ((bytes.readUInt32BE(one) ^ bytes.readUInt32BE(other)) & FORM_BITS) === 0
}

function isFollowed(bytes: Buffer, at: number): boolean {
  return at >= bytes.length || isMpegFrame(bytes, at) || bytes.toString('latin1', at, at + 3) === 'TAG'
}

function isTable(bytes: Buffer, at: number): boolean {
  const head = bytes.toString('latin1', at, at + TABLE_BYTES)
  return head.includes('Xing') || head.includes('Info') || head.includes('VBRI')
}

function frameAt(bytes: Buffer, at: number): Frame | null {
  const header = bytes.readUInt32BE(at)
  const version = (header >>> 19) & 3
  const layer = 4 - ((header >>> 17) & 3)
  const rateIndex = (header >>> 10) & 3
  const rateBase = RATES[rateIndex]
  if (header >>> 21 !== 0x7ff || version === 1 || layer === 4 || rateBase === undefined) return null
  const first = version === 3
  const kbits = (first ? [KBITS.v1l1, KBITS.v1l2, KBITS.v1l3] : [KBITS.v2l1, KBITS.v2l23, KBITS.v2l23])[layer - 1]?.[
    (header >>> 12) & 15
  ]
  // Index 0 is a bit rate that the header does not give; 15 is none.
  if (kbits === undefined || kbits === 0) return null
  const rate = first ? rateBase : version === 2 ? rateBase / 2 : rateBase / 4
  const padding = (header >>> 9) & 1
  if (layer === 1) return { bytes: (Math.floor((12_000 * kbits) / rate) + padding) * 4, samples: 384, rate }
  const samples = layer === 3 && !first ? 576 : 1_152
  return { bytes: Math.floor((samples * 125 * kbits) / rate) + padding, samples, rate }
}
