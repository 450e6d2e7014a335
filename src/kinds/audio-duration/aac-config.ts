import { RATES } from './adts.ts'

/** Bytes of a second of what no walk explains: frames that are near to silence need few more. */
export const CAUTIOUS_BYTES_PER_SECOND = 50
/** A decoder may take several small frames from one sample, which no table tells: no track is shorter than at this rate. */
export const AAC_BYTES_PER_SECOND = 1_000
/** The most bytes of a channel in one frame (ISO/IEC 14496-3); what a sample has beyond them is taken for more frames. */
const CHANNEL_BYTES_MAX = 768
const CHANNELS_MAX = 8
const BLOCK_SAMPLES = 1_024
/** The longest frame of USAC, told at the rate it is played at. */
const USAC_SAMPLES_MAX = 4_096
const OBJECT_ESCAPE = 31
const OBJECT_USAC = 42
const RATE_ESCAPE = 15

export interface FrameForm {
  readonly seconds: number
  /** A frame with more bytes than these is none. */
  readonly bytesMax: number
}

/**
 * What an AAC frame can be by its AudioSpecificConfig; null where that cannot be read. Spectral replication doubles
 * both the samples and their rate, so a frame stays as long.
 */
export function aacForm(config: Buffer): FrameForm | null {
  if (config.length < 2) return null
  let at = 0
  const bits = (count: number): number => {
    let value = 0
    for (const end = at + count; at < end; at += 1) value = value * 2 + (((config[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    return value
  }
  const short = bits(5)
  const object = short === OBJECT_ESCAPE ? 32 + bits(6) : short
  const index = bits(4)
  const rate = index === RATE_ESCAPE ? bits(24) : RATES[index]
  const channels = bits(4) || CHANNELS_MAX
  if (rate === undefined || rate === 0) return null
  return {
    seconds: (object === OBJECT_USAC ? USAC_SAMPLES_MAX : BLOCK_SAMPLES) / rate,
    bytesMax: CHANNEL_BYTES_MAX * Math.min(channels, CHANNELS_MAX),
  }
}
