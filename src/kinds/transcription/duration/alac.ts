import type { PacketForm } from './packet-form.ts'

const COOKIE_BYTES = 24

/**
 * The form of packets of Apple Lossless by the head for the decoder: a packet is one frame, and none is longer than
 * the head says.
 */
export function alacForm(cookie: Buffer, containerRate = Infinity): PacketForm {
  const rate = cookie.length < COOKIE_BYTES ? 0 : Math.min(cookie.readUInt32BE(20), containerRate)
  return rate === 0 ? { codec: 'unknown' } : { codec: 'frames', seconds: cookie.readUInt32BE(0) / rate }
}
