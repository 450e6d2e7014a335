/** The bytes of a file to send, `start` and `end` included; null = the whole file. */
export type ByteRange = { readonly start: number; readonly end: number } | null

const SINGLE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/

/**
 * Reads one range of a file of this size (RFC 9110, 14.2); `unsatisfiable` = it covers no byte of the file. Units other
 * than bytes are ignored.
 */
export function byteRange(header: string | undefined, bytes: number): ByteRange | 'unsatisfiable' {
  if (header === undefined || !/^bytes\s*=/i.test(header)) return null
  const match = SINGLE.exec(header)
  const [, first = '', last = ''] = match ?? []
  if (match === null || (first === '' && last === '')) return 'unsatisfiable'
  if (first === '') {
    const length = Math.min(Number(last), bytes)
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes - 1 }
  }
  const start = Number(first)
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  return start >= bytes || end < start ? 'unsatisfiable' : { start, end }
}
