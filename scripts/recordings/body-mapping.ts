import { crc32 } from 'node:zlib'
import type { CaseMapping } from './case-mapping.ts'

const SSE_FIELD = /^(data|event|id|retry|error): ?/
const TAG = /(<style>[\s\S]*?<\/style>|<[^>]*>)/
const TIMES = /^[\d:.,]+ --> /
/** Before the headers: total length, header length and a checksum; at the end another checksum. */
const PRELUDE_BYTES = 12
const CRC_BYTES = 4

/** The JSON texts of a body, from which its identifiers are collected. */
export function jsonTextsOf(body: Buffer, extension: string): readonly string[] {
  if (extension === 'json') return [body.toString('utf8')]
  if (extension === 'ndjson') return body.toString('utf8').split('\n')
  if (extension === 'sse')
    return body
      .toString('utf8')
      .split(/\r\n|\n|\r/)
      .map((line) => line.replace(SSE_FIELD, ''))
      .filter(isJson)
  return extension === 'eventstream'
    ? framesOf(body).map(({ payload }) => inner(payload)?.json ?? payload.toString('utf8'))
    : []
}

/** The body with its texts replaced, with the same number of bytes and the same framing. */
export function mappedBody(body: Buffer, extension: string, mapping: CaseMapping): Buffer {
  if (extension === 'eventstream') return Buffer.concat(framesOf(body).map((frame) => mappedFrame(frame, mapping)))
  const text = body.toString('utf8')
  const mapped = Buffer.from(mappedText(text, extension, mapping))
  if (mapped.length !== body.length) throw new Error(`${body.length} bytes became ${mapped.length}`)
  return mapped
}

function mappedText(text: string, extension: string, mapping: CaseMapping): string {
  switch (extension) {
    case 'json':
      return mapping.json(text)
    case 'ndjson':
      return text
        .split('\n')
        .map((line) => mapping.json(line))
        .join('\n')
    case 'sse':
      return mappedEvents(text, mapping)
    case 'html':
      return text
        .split(TAG)
        .map((part, index) => (index % 2 === 0 ? mapping.plain(part) : part))
        .join('')
    case 'txt':
      return text
        .split('\n')
        .map((line) => (line === 'WEBVTT' || TIMES.test(line) ? line : mapping.plain(line)))
        .join('\n')
    default:
      throw new Error(`no way to read .${extension}`)
  }
}

function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text) && text !== '[DONE]'
}

/** Lines that are not fields, such as an error in JSON over several lines, are read as one text. */
function mappedEvents(text: string, mapping: CaseMapping): string {
  const lines = text.split(/(\r\n|\n|\r)/)
  let out = ''
  let loose = ''
  for (const [index, line] of lines.entries()) {
    const isEnd = index % 2 === 1
    if (!isEnd && line !== '' && !SSE_FIELD.test(line) && !line.startsWith(':')) loose += line
    else if (isEnd && loose !== '' && lines[index + 1] !== '' && !SSE_FIELD.test(lines[index + 1] ?? '')) loose += line
    else {
      if (loose !== '') out += isJson(loose) ? mapping.json(loose) : mapping.plain(loose)
      loose = ''
      out += isEnd ? line : mappedField(line, mapping)
    }
  }
  return out + (loose === '' ? '' : isJson(loose) ? mapping.json(loose) : mapping.plain(loose))
}

function mappedField(line: string, mapping: CaseMapping): string {
  const head = SSE_FIELD.exec(line)?.[0] ?? ''
  const value = line.slice(head.length)
  if (!/^(?:data|error)/.test(head) || value === '[DONE]') return line
  return head + (isJson(value) ? mapping.json(value) : mapping.plain(value))
}

interface Frame {
  readonly headers: Buffer
  readonly payload: Buffer
}

function framesOf(body: Buffer): readonly Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at < body.length;) {
    const frame = body.subarray(at, at + body.readUInt32BE(at))
    const headersEnd = PRELUDE_BYTES + frame.readUInt32BE(4)
    frames.push({
      headers: frame.subarray(PRELUDE_BYTES, headersEnd),
      payload: frame.subarray(headersEnd, frame.length - CRC_BYTES),
    })
    at += frame.length
  }
  return frames
}

/** The event of another protocol that some frames contain in base64. */
function inner(payload: Buffer): { readonly base64: string; readonly json: string } | null {
  const found = /"bytes":"([A-Za-z0-9+/=]+)"/.exec(payload.toString('utf8'))?.[1]
  return found === undefined ? null : { base64: found, json: Buffer.from(found, 'base64').toString('utf8') }
}

function mappedFrame({ headers, payload }: Frame, mapping: CaseMapping): Buffer {
  const carried = inner(payload)
  const text = payload.toString('utf8')
  const mapped =
    carried === null
      ? mapping.json(text)
      : text
          .split(carried.base64)
          .map((part) => mapping.json(part))
          .join(Buffer.from(mapping.json(carried.json)).toString('base64'))
  const next = Buffer.from(mapped)
  if (next.length !== payload.length) throw new Error(`${payload.length} bytes of a frame became ${next.length}`)
  const whole = Buffer.alloc(PRELUDE_BYTES + headers.length + next.length + CRC_BYTES)
  whole.writeUInt32BE(whole.length, 0)
  whole.writeUInt32BE(headers.length, 4)
  whole.writeUInt32BE(crc32(whole.subarray(0, PRELUDE_BYTES - CRC_BYTES)), PRELUDE_BYTES - CRC_BYTES)
  headers.copy(whole, PRELUDE_BYTES)
  next.copy(whole, PRELUDE_BYTES + headers.length)
  whole.writeUInt32BE(crc32(whole.subarray(0, whole.length - CRC_BYTES)), whole.length - CRC_BYTES)
  return whole
}
