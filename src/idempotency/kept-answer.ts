import type { AnswerBody } from '../pay/relay/operation.ts'

/** A larger answer is not kept (guarantees.md requirement 24). */
const ANSWER_BYTES_MAX = 1_048_576
const LINE_END = 0x0a

/** An answer as the client received it. */
export interface KeptAnswer {
  readonly status: number
  /** null = JSON. */
  readonly contentType: string | null
  readonly bytes: Buffer
}

/** The bytes that the HTTP server sends for the answer; null when there are too many to keep. */
export function keptAnswer(status: number, { body, contentType }: AnswerBody): KeptAnswer | null {
  const bytes = contentType === undefined ? Buffer.from(JSON.stringify(body)) : bytesOf(body)
  return bytes === null || bytes.length > ANSWER_BYTES_MAX ? null : { status, contentType: contentType ?? null, bytes }
}

function bytesOf(body: unknown): Buffer | null {
  if (typeof body === 'string') return Buffer.from(body)
  if (Buffer.isBuffer(body)) return body
  const parts = Array.isArray(body) ? body.filter((part) => Buffer.isBuffer(part)) : []
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return parts.length === 0 || length > ANSWER_BYTES_MAX ? null : Buffer.concat(parts, length)
}

/** A line of JSON, then the bytes. */
export function writeKeptAnswer({ status, contentType, bytes }: KeptAnswer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ status, contentType })}\n`), bytes])
}

export function readKeptAnswer(written: Buffer): KeptAnswer {
  const end = written.indexOf(LINE_END)
  // Written by `writeKeptAnswer`, and encrypted since then.
  const head = JSON.parse(written.subarray(0, end).toString('utf8')) as Pick<KeptAnswer, 'status' | 'contentType'>
  return { ...head, bytes: written.subarray(end + 1) }
}
