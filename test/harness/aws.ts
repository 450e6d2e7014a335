import { createHash, createHmac } from 'node:crypto'

export interface SignedRequest {
  readonly method: string
  /** As on the wire; without a query. */
  readonly path: string
  /** Those that are signed, the host among them; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly region: string
  readonly service: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/**
 * The `authorization` that AWS expects (Signature Version 4), written from its specification and not from the library
 * under test.
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
 * Every byte but the unreserved characters of RFC 3986: a path that is already encoded is encoded again, as all
 * services but S3 do.
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
