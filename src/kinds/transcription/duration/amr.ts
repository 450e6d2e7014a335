/** Bytes of a frame by the form that its first byte names (RFC 4867, 5.3); a form without sound is that byte only. */
const NARROW = [13, 14, 16, 18, 20, 21, 27, 32, 6, 1, 1, 1, 1, 1, 1, 1] as const
const WIDE = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1] as const
const FRAME_SECONDS = 0.02
const HEADS = [
  { mark: '#!AMR\n', sizes: NARROW },
  { mark: '#!AMR-WB\n', sizes: WIDE },
] as const

/** Whether the file is AMR of one channel. */
export function isAmr(bytes: Buffer): boolean {
  return headOf(bytes) !== null
}

/** Seconds of AMR, frame by frame: each lasts as long, also one without sound. */
export function amrSeconds(bytes: Buffer): number {
  const head = headOf(bytes)
  if (head === null) return 0
  let frames = 0
  for (let at = head.mark.length; at < bytes.length; frames += 1) at += head.sizes[((bytes[at] ?? 0) >> 3) & 15] ?? 1
  return frames * FRAME_SECONDS
}

function headOf(bytes: Buffer): (typeof HEADS)[number] | null {
  return HEADS.find(({ mark }) => bytes.toString('latin1', 0, mark.length) === mark) ?? null
}
