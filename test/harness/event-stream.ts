import { crc32 } from 'node:zlib'

/** One message of `application/vnd.amazon.eventstream`, as AWS frames it. */
export function eventStreamMessage(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const fields = Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, value.length >> 8, value.length & 255]),
      Buffer.from(value),
    ]),
  )
  return framed(fields, Buffer.from(payload))
}

/** The same with headers of any type, given as bytes. */
export function framed(headers: Buffer, payload: Buffer): Buffer {
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const message = Buffer.concat([prelude, sum(prelude), headers, payload])
  return Buffer.concat([message, sum(message)])
}

/** An event of Converse. */
export function converseEvent(type: string, payload: unknown): Buffer {
  return eventStreamMessage(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(payload),
  )
}

/** An exception of Converse. */
export function converseException(type: string, message: string): Buffer {
  return eventStreamMessage(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  )
}

function sum(bytes: Buffer): Buffer {
  const written = Buffer.alloc(4)
  written.writeUInt32BE(crc32(bytes), 0)
  return written
}
