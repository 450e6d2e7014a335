import aws4 from 'aws4'
import { isoTime } from '../../base/time.ts'

/** The bytes to sign. */
export interface SignedRequest {
  readonly service: 'bedrock' | 'sts'
  readonly region: string
  readonly method: 'GET' | 'POST'
  readonly host: string
  /** The path, encoded as it is sent. */
  readonly path: string
  readonly contentType: string
  readonly body: Buffer
}

/** The headers that sign a request with `ID:SECRET[:SESSION_TOKEN]`. */
export function awsSignature(
  { service, region, method, host, path, contentType, body }: SignedRequest,
  key: string,
  nowMs: number,
): Readonly<Record<string, string>> {
  const [accessKeyId = '', secretAccessKey = '', ...token] = key.split(':')
  const datetime = isoTime(nowMs).replaceAll(/[:-]|\.\d{3}/g, '')
  const headers: Record<string, string> = {
    'content-type': contentType,
    'x-amz-date': datetime,
    ...(token.length === 0 ? {} : { 'x-amz-security-token': token.join(':') }),
  }
  const signer = new aws4.RequestSigner(
    // Only these headers and the host are signed: a proxy may change others, such as the length or the encoding.
    { service, region, method, host, path, body, headers, doNotModifyHeaders: true },
    { accessKeyId, secretAccessKey },
  )
  signer.datetime = datetime
  return { ...headers, authorization: signer.authHeader() }
}

const BEDROCK_REGION = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2,}(?:-[a-z]+)+-\d+)\./
const REGION_DEFAULT = 'us-east-1'

/** The same for Bedrock, whose hosts name their region; a proxy's name does not. `path` follows the base address. */
export function bedrockSignature(
  key: string,
  baseUrl: string,
  path: string,
  body: Buffer,
  nowMs: number,
): Readonly<Record<string, string>> {
  const { host, pathname } = new URL(baseUrl)
  const whole = `${pathname === '/' ? '' : pathname}${path}`
  const region = BEDROCK_REGION.exec(host)?.[1] ?? REGION_DEFAULT
  const contentType = 'application/json'
  return awsSignature({ service: 'bedrock', region, method: 'POST', host, path: whole, contentType, body }, key, nowMs)
}
