import assert from 'node:assert/strict'
import type { Exchange } from '../harness/recording.ts'

/** An object of a provider; its members are unknown. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * The documents of a body, one for each event; a plain body is one. Written for the recordings, without the product's
 * readers.
 */
export function documentsOf({ body, framing }: Exchange): readonly Fields[] {
  const text = body.toString('utf8')
  switch (framing) {
    case 'json':
      return [fieldsOf(JSON.parse(text))]
    case 'ndjson':
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => fieldsOf(JSON.parse(line)))
    case 'sse':
      return eventsOf(text)
    case 'eventstream':
      return framesOf(body)
    default:
      return []
  }
}

/** Data that is not JSON is left out: `[DONE]`, and other lines of some recorded streams. */
function eventsOf(text: string): readonly Fields[] {
  return text.split(/\r\n\r\n|\n\n|\r\r/).flatMap((event) => {
    const lines = event.split(/\r\n|\n|\r/).filter((line) => !line.startsWith(':'))
    const data = lines.flatMap((line) =>
      line.startsWith('data:') ? [line.slice('data:'.length).replace(/^ /, '')] : [],
    )
    // One recorded error has no field.
    const json = (data.length > 0 ? data : lines).join('\n')
    try {
      return [fieldsOf(JSON.parse(json))]
    } catch {
      return []
    }
  })
}

const PRELUDE_BYTES = 12
const CRC_BYTES = 4
const TEXT_HEADER = 7

/** Messages of AWS; the header `:event-type` names the only member. */
function framesOf(body: Buffer): readonly Fields[] {
  const documents: Fields[] = []
  for (let at = 0; at < body.length;) {
    const length = body.readUInt32BE(at)
    const payloadStart = at + PRELUDE_BYTES + body.readUInt32BE(at + 4)
    const payload = fieldsOf(JSON.parse(body.subarray(payloadStart, at + length - CRC_BYTES).toString('utf8')))
    const carried = textOf(payload['bytes'])
    documents.push(
      carried === null
        ? { [headersOf(body.subarray(at + PRELUDE_BYTES, payloadStart))[':event-type'] ?? '']: payload }
        : fieldsOf(JSON.parse(Buffer.from(carried, 'base64').toString('utf8'))),
    )
    at += length
  }
  return documents
}

function headersOf(bytes: Buffer): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < bytes.length;) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    assert.equal(bytes.readUInt8(nameEnd), TEXT_HEADER)
    const valueStart = nameEnd + 3
    const valueEnd = valueStart + bytes.readUInt16BE(nameEnd + 1)
    headers[bytes.subarray(at + 1, nameEnd).toString('utf8')] = bytes.subarray(valueStart, valueEnd).toString('utf8')
    at = valueEnd
  }
  return headers
}

export function fieldsOf(value: unknown): Fields {
  // A value that is not an object has no members.
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** The member at a path of names. */
export function at(value: unknown, ...names: readonly (string | number)[]): unknown {
  return names.reduce<unknown>((level, name) => fieldsOf(level)[name], value)
}

/** The last value at a path in any document. */
export function lastAt(documents: readonly Fields[], ...names: readonly (string | number)[]): unknown {
  return documents.map((document) => at(document, ...names)).findLast((value) => value !== undefined && value !== null)
}
