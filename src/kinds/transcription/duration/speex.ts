const HEAD = 'Speex   '
const HEAD_BYTES = 80
/** Samples of a frame of the narrow band; each further band doubles them. */
const SAMPLES = 160
const MODE_MAX = 2
/** Bits of a frame by its mode, the four bits after its first. */
const FRAME_BITS = [5, 43, 119, 160, 220, 300, 364, 492, 79] as const
const FRAME_BITS_MIN = 5
/** Bits of a layer for a higher band, by the three bits after its first. */
const LAYER_BITS = [4, 36, 112, 192, 352] as const
const TERMINATOR = 15
/** 10 MB at 8 kbit/s have half a million. */
const FRAMES_MAX = 600_000

/** The form of a Speex stream, by its head. */
export interface SpeexForm {
  readonly frameSeconds: number
  /** Frames of each packet, as the head says; a decoder may find more. */
  readonly packetFrames: number
}

/** null where no such stream begins here. */
export function speexForm(bytes: Buffer, at: number): SpeexForm | null {
  if (at + HEAD_BYTES > bytes.length || bytes.toString('latin1', at, at + HEAD.length) !== HEAD) return null
  const rate = bytes.readInt32LE(at + 36)
  const mode = bytes.readInt32LE(at + 40)
  if (rate <= 0 || mode < 0 || mode > MODE_MAX) return null
  // Decoders differ in whether they believe the head.
  const samples = Math.max(SAMPLES * 2 ** mode, bytes.readInt32LE(at + 56))
  return { frameSeconds: samples / rate, packetFrames: Math.max(1, bytes.readInt32LE(at + 64)) }
}

/** Counts the frames of packets, up to so many that it takes no time. */
export class SpeexFrames {
  #left = FRAMES_MAX

  /**
   * The most seconds that the packet decodes to: as many frames as the head says, or as its bits make. `isPart`: a part
   * of one, whose frames begin anywhere.
   */
  seconds(
    bytes: Buffer,
    start: number,
    size: number,
    { frameSeconds, packetFrames }: SpeexForm,
    isPart = false,
  ): number {
    if (size === 0) return 0
    const frames =
      isPart || this.#left <= 0
        ? Math.ceil((size * 8) / FRAME_BITS_MIN)
        : this.#frames(bytes, start * 8, (start + size) * 8)
    return Math.max(packetFrames, frames) * frameSeconds
  }

  #frames(bytes: Buffer, from: number, end: number): number {
    let found = 0
    let at = from
    for (; end - at >= FRAME_BITS_MIN; this.#left -= 1) {
      const head = ((((bytes[at >> 3] ?? 0) << 8) | (bytes[(at >> 3) + 1] ?? 0)) >> (11 - (at & 7))) & 31
      const isLayer = head > 15
      if (head === TERMINATOR) return found
      const bits = isLayer ? LAYER_BITS[(head >> 1) & 7] : FRAME_BITS[head]
      // A message between frames has any length.
      if (bits === undefined) return found + Math.ceil((end - at) / FRAME_BITS_MIN)
      if (!isLayer) found += 1
      at += bits
    }
    return found
  }
}
