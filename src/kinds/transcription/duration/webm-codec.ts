import { aacForm } from './aac-config.ts'
import { alacForm } from './alac.ts'
import { flacRate } from './flac.ts'
import { vorbisPacketSeconds } from './ogg.ts'
import type { PacketForm } from './packet-form.ts'

/** The data of a track of a WebM or Matroska file; of a field that occurs twice the lower value. */
export interface TrackHead {
  readonly codec: string
  /** `CodecPrivate`. */
  readonly config: Buffer
  readonly rate: number
  readonly channels: number
  readonly bits: number
}

/** The form of the frames of a track. */
export function trackForm({ codec, config, rate, channels, bits }: TrackHead): PacketForm {
  const unknown: PacketForm = { codec: 'unknown' }
  const bytesPerSecond = (rate * channels * bits) / 8
  switch (codec) {
    case 'A_OPUS':
      return { codec: 'opus' }
    case 'A_MPEG/L1':
    case 'A_MPEG/L2':
    case 'A_MPEG/L3':
      return { codec: 'mpeg' }
    case 'A_AAC':
      return aacForm(config)
    case 'A_ALAC':
      return alacForm(config, rate)
    case 'A_FLAC':
      return config.toString('latin1', 0, 4) === 'fLaC'
        ? { codec: 'flac', rate: Math.min(flacRate(config, 0), rate) }
        : unknown
    case 'A_PCM/INT/LIT':
    case 'A_PCM/INT/BIG':
    case 'A_PCM/FLOAT/IEEE':
      return bytesPerSecond > 0 ? { codec: 'pcm', bytesPerSecond } : unknown
    case 'A_VORBIS': {
      const seconds = vorbisPacketSeconds(config, vorbisStart(config))
      return seconds === null ? unknown : { codec: 'frames', seconds }
    }
    default:
      return unknown
  }
}

/** The place of the first of the three heads of Vorbis: behind their number and the sizes of the first two. */
function vorbisStart(config: Buffer): number {
  let at = 1
  for (let sizes = 0; sizes < 2 && at < config.length; at += 1) if (config[at] !== 255) sizes += 1
  return at
}
