import { AAC_RATES } from './aac-rates.ts'
import type { PacketForm } from './packet-form.ts'

const BLOCK_SAMPLES = 1_024
/** The longest frame of USAC, told at the rate it is played at. */
const USAC_SAMPLES_MAX = 4_096
/** Types of sound of ISO/IEC 14496-3: those with spectral replication name the type that they stand on. */
const OBJECT = { low: 2, replicated: 5, stereo: 29, resilient: 17, delay: 39, usac: 42, escape: 31 } as const
const RESILIENT_MAX = 23
const RATE_ESCAPE = 15

/**
 * Reads the form of AAC packets from their AudioSpecificConfig. Spectral replication doubles both the samples and their
 * rate, so a frame stays as long.
 */
export function aacForm(config: Buffer): PacketForm {
  let at = 0
  const bits = (count: number): number => {
    let value = 0
    for (const end = at + count; at < end; at += 1) value = value * 2 + (((config[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    return value
  }
  const readObject = (): number => {
    const short = bits(5)
    return short === OBJECT.escape ? 32 + bits(6) : short
  }
  const readRate = (): { readonly index: number; readonly rate: number } => {
    const index = bits(4)
    return { index, rate: index === RATE_ESCAPE ? bits(24) : (AAC_RATES[index] ?? 0) }
  }
  let object = readObject()
  const { index, rate } = readRate()
  bits(4)
  if (object === OBJECT.replicated || object === OBJECT.stereo) {
    readRate()
    object = readObject()
  }
  if (config.length < 2 || rate === 0) return { codec: 'unknown' }
  // The next bit is set where frames have 960 samples, which divides their bands in another way.
  if (object === OBJECT.low)
    return { codec: 'aac', rate, rateIndex: index === RATE_ESCAPE || bits(1) === 1 ? null : index }
  // A decoder takes one frame of these from a packet.
  if (object === OBJECT.usac) return { codec: 'frames', seconds: USAC_SAMPLES_MAX / rate }
  if (object === OBJECT.delay || (object >= OBJECT.resilient && object <= RESILIENT_MAX))
    return { codec: 'frames', seconds: BLOCK_SAMPLES / rate }
  return { codec: 'unknown' }
}
