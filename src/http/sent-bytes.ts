import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CSV_TYPE } from '../base/csv.ts'
import { HIJACKED, type Call } from './edge.ts'

/**
 * Sends bytes at the client's pace and ends the body. Also resolves if the client has left, or was cut off because it
 * does not read (`slow-readers.ts`). Throws the errors of the source: half a file must not look complete.
 */
export async function sendBytes(
  response: ServerResponse,
  bytes: AsyncIterable<Buffer | string> | Iterable<readonly Buffer[]>,
): Promise<void> {
  for await (const piece of bytes) {
    if (response.destroyed) return
    // The writes of one turn of the event loop become one system call.
    const flows = Array.isArray(piece) ? piece.map((part) => response.write(part)).at(-1) : response.write(piece)
    if (flows === false) await drained(response)
    // A fast client and a source that is always ready would block everything else.
    await nextTurn()
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve()
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

/**
 * Sends lines as a file at the client's pace. The first piece is read before the head, so that its failure has a
 * status.
 */
export async function sendCsv(
  { response, baseHeaders, log }: Call<unknown>,
  fileName: string,
  lines: AsyncGenerator<string, void>,
): Promise<typeof HIJACKED> {
  const first = await lines.next()
  response.writeHead(200, {
    ...baseHeaders,
    'content-type': CSV_TYPE,
    'content-disposition': `attachment; filename="${fileName}"`,
  })
  await sendBytes(response, after(first.value ?? '', lines))
  log.finish(200)
  return HIJACKED
}

async function* after(first: string, rest: AsyncGenerator<string, void>): AsyncIterable<string> {
  yield first
  yield* rest
}

/** The bytes of a file to send, `start` and `end` included; null = the whole file. */
export type ByteRange = { readonly start: number; readonly end: number } | null

const SINGLE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/

/**
 * Reads one range of a file of this size (RFC 9110, 14.2); `unsatisfiable` = the range covers no byte of the file.
 * Units other than bytes are ignored.
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
