import { FRAME_BYTES_MIN } from './aac-frames.ts'
import { aacSeconds, type AacForm, type Packets } from './aac-packets.ts'
import { flacFrameSeconds } from './flac.ts'
import { mp3PacketSeconds } from './mp3.ts'
import { opusPacketSeconds } from './ogg.ts'

/** Bytes of a second of what no walk explains: two of Opus hold 120 ms. */
export const CAUTIOUS_BYTES_PER_SECOND = 16
/** Of MPEG audio at its lowest rate. */
const MPEG_BYTES_PER_SECOND = 1_000
const OPUS_SECONDS_MAX = 0.12
const AAC_SAMPLES = 1_024
/** The form of the packets, as the container states it. */
export type PacketForm =
  | { readonly codec: 'opus' | 'mpeg' | 'unknown' }
  /** Every packet is one frame and none is longer. */
  | { readonly codec: 'frames'; readonly seconds: number }
  /** A frame is as long as the others; how many a packet has only its bytes tell. */
  | AacForm
  | { readonly codec: 'flac'; readonly rate: number }
  | { readonly codec: 'pcm'; readonly bytesPerSecond: number }

/** The most seconds that these packets decode to. */
export function packetsSeconds(bytes: Buffer, { starts, ends }: Packets, form: PacketForm): number {
  if (form.codec === 'aac') return aacSeconds(bytes, { starts, ends }, form)
  // Packets that lie over each other are read again and again.
  let left = bytes.length * 2
  let isWhole = true
  return starts.reduce((seconds, start, index) => {
    const size = Math.max(0, (ends[index] ?? 0) - start)
    left -= size
    const found: number | null =
      form.codec === 'mpeg' && isWhole && left >= 0 ? mp3PacketSeconds(bytes, start, start + size) : null
    // A frame that goes on in the next packet hides where that one's begin.
    isWhole &&= found !== null
    return seconds + (found ?? packetSeconds(bytes, { start, size, isRead: left >= 0 }, form))
  }, 0)
}

/** The same of packets of which only the sizes are known. */
export function unreadSeconds(size: number, packets: number, form: PacketForm): number {
  switch (form.codec) {
    case 'opus':
      return packets * OPUS_SECONDS_MAX
    case 'mpeg':
      return size / MPEG_BYTES_PER_SECOND
    case 'frames':
      return packets * form.seconds
    case 'aac':
      return (Math.max(packets, size / FRAME_BYTES_MIN) * AAC_SAMPLES) / form.rate
    case 'pcm':
      return size / form.bytesPerSecond
    case 'flac':
    case 'unknown':
      return size / CAUTIOUS_BYTES_PER_SECOND
  }
}

function packetSeconds(
  bytes: Buffer,
  { start, size, isRead }: { start: number; size: number; isRead: boolean },
  form: PacketForm,
): number {
  if (size === 0) return 0
  if (form.codec === 'opus') return opusPacketSeconds(bytes, start)
  if (form.codec === 'flac' && isRead) return flacFrameSeconds(bytes.subarray(start, start + size), 0, form.rate)
  return unreadSeconds(size, 1, form)
}
