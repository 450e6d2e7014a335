import { crc32 } from 'node:zlib'
import { createHash, createHmac } from 'node:crypto'

/** One message of `application/vnd.amazon.eventstream`, as AWS encodes it. */
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

interface SignedRequest {
  readonly method: string
  /** As sent, without the query. */
  readonly path: string
  /** The signed headers, the host among them; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly region: string
  readonly service: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/**
 * The `authorization` that AWS expects (Signature Version 4), written after the specification, without the code under
 * test.
 */
export function authorizationOf({
  method,
  path,
  headers,
  body,
  region,
  service,
  accessKeyId,
  secretAccessKey,
}: SignedRequest): string {
  const names = Object.keys(headers).toSorted()
  const datetime = headers['x-amz-date'] ?? ''
  const scope = [datetime.slice(0, 8), region, service, 'aws4_request']
  const canonicalPath = path.split('/').map(uriEncoded).join('/')
  const canonical = [
    method,
    canonicalPath,
    '',
    ...names.map((name) => `${name}:${headers[name]?.trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', datetime, scope.join('/'), sha256(canonical)].join('\n')
  const key = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`)
  return `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${names.join(';')}, Signature=${hmac(key, toSign).toString('hex')}`
}

/**
 * Encodes every byte but the unreserved characters of RFC 3986. A path that is already encoded is encoded again, as all
 * services but S3 require.
 */
function uriEncoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) =>
      /[A-Za-z0-9\-._~]/.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('')
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
