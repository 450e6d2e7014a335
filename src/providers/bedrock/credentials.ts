import aws4 from 'aws4'
import type { JsonRequest } from '../../protocols/ports/upstream-request.ts'
import { isoTime } from '../../base/time.ts'

const SERVICE = 'bedrock'
const REGION_DEFAULT = 'us-east-1'
const REGION = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2,}(?:-[a-z]+)+-\d+)\./
const CONTENT_TYPE = 'application/json'

/**
 * The headers that authenticate a request: a Bedrock API key, or a signature with
 * `ACCESS_KEY_ID:SECRET_ACCESS_KEY[:SESSION_TOKEN]`. `path` follows the provider's base address, encoded as it is sent.
 */
export function credentialHeaders(
  apiKey: string | null,
  baseUrl: string,
  path: string,
  nowMs: number,
): JsonRequest['headers'] {
  if (apiKey === null) return {}
  const [accessKeyId = '', secretAccessKey = '', ...token] = apiKey.split(':')
  // A key without a colon is a Bedrock API key.
  if (accessKeyId === '' || secretAccessKey === '') return { authorization: `Bearer ${apiKey}` }
  const { host, pathname } = new URL(baseUrl)
  return (body) => {
    const datetime = isoTime(nowMs).replaceAll(/[:-]|\.\d{3}/g, '')
    const headers: Record<string, string> = {
      'content-type': CONTENT_TYPE,
      'x-amz-date': datetime,
      ...(token.length === 0 ? {} : { 'x-amz-security-token': token.join(':') }),
    }
    const signer = new aws4.RequestSigner(
      // Only these headers and the host are signed: a proxy may change others, such as the length or the encoding.
      {
        service: SERVICE,
        region: regionOf(host),
        method: 'POST',
        host,
        path: `${pathname === '/' ? '' : pathname}${path}`,
        body,
        headers,
        doNotModifyHeaders: true,
      },
      { accessKeyId, secretAccessKey },
    )
    signer.datetime = datetime
    return { ...headers, authorization: signer.authHeader() }
  }
}

/** A proxy's host name does not contain the region. */
function regionOf(host: string): string {
  return REGION.exec(host)?.[1] ?? REGION_DEFAULT
}
