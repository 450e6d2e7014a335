import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { type LookupFunction, isIP } from 'node:net'
import { type SecureContext, createSecureContext, getCACertificates } from 'node:tls'
import { Agent, buildConnector } from 'undici'
import { isPublicAddress } from '../../base/public-address.ts'
import { thrownMessage } from '../../base/text.ts'
import type { Provider } from '../../catalog/catalog.ts'
import { readCertificates } from '../../catalog/certificates.ts'
import { isForbiddenAddress } from '../../catalog/upstream-address.ts'
import { type AttemptFailure, type NoAnswer, failure } from '../ports/attempt-failure.ts'

const HEADERS_BYTES_MAX = 16_384
/**
 * How many bytes the buffer of a socket may hold before its next read, which adds up to 64 kB; for TLS this is Node's
 * own bound.
 */
const BUFFERED_BYTES = 16_384
/**
 * The most bytes of one piece for the parser. When the parser is paused, it puts the rest of a piece back, and one more
 * read is taken in.
 */
const PIECE_BYTES = 32_768

interface ConnectOptions {
  /** Milliseconds. */
  readonly timeout: number
  readonly lookup: LookupFunction
}

interface Secure {
  readonly secureContext?: SecureContext
}

/** An agent for requests that set their own limits on the time to an answer. */
export function patientAgent(connect: ConnectOptions | buildConnector.connector, options: Agent.Options = {}): Agent {
  return new Agent({
    ...options,
    connect: typeof connect === 'function' ? connect : boundedConnector(connect),
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Connects only to public addresses: for addresses that clients and providers name (guarantees.md requirement 13). */
export function publicConnector(
  timeoutMs: number,
  resolve: Resolve = lookup,
  refusal = 'the address is not public',
  secure: Secure = {},
): buildConnector.connector {
  const lookUp = guardedLookup(isPublicAddress, resolve, refusal)
  const connect = boundedConnector({ timeout: timeoutMs, lookup: lookUp, ...secure })
  return (options, callback) => {
    // A literal address is connected without a look-up, so a guard of look-ups would not see it.
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isPublicAddress(host)) callback(new AddressRefusedError(refusal), null)
    else connect(options, callback)
  }
}

/**
 * An agent for providers that may be private, another for all others, and two for each file of certificates, so that
 * none uses the connections of another.
 */
export class UpstreamAgents {
  readonly #timeoutMs: number
  readonly #options: Agent.Options
  readonly #private: Agent
  readonly #public: Agent
  /** Agents by reach and path; there are only as many as the catalogue has ever had. */
  readonly #trusting = new Map<string, Agent>()

  constructor(timeoutMs: number, options: Agent.Options = {}) {
    this.#timeoutMs = timeoutMs
    this.#options = options
    this.#private = this.#made(false)
    this.#public = this.#made(true)
  }

  of({ publicOnly, dialect: { caFile } }: Pick<Provider, 'publicOnly' | 'dialect'>): Agent {
    const isPublic = publicOnly === true
    if (caFile === null) return isPublic ? this.#public : this.#private
    const name = `${isPublic} ${caFile}`
    let agent = this.#trusting.get(name)
    if (agent === undefined) {
      agent = this.#made(isPublic, caFile)
      this.#trusting.set(name, agent)
    }
    return agent
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#private, this.#public, ...this.#trusting.values()].map((agent) => agent.destroy()))
  }

  #made(isPublic: boolean, caFile?: string): Agent {
    const connectorOf = (secure: Secure = {}): buildConnector.connector =>
      isPublic
        ? publicConnector(this.#timeoutMs, lookup, PRIVATE_REFUSED, secure)
        : boundedConnector({ timeout: this.#timeoutMs, lookup: upstreamLookup, ...secure })
    return patientAgent(caFile === undefined ? connectorOf() : trustingConnector(caFile, connectorOf), this.#options)
  }
}

/**
 * A connector with a file of certificates. A renewed file is used from the next connection on. The failure does not
 * reveal the contents of the file.
 */
function trustingConnector(
  caFile: string,
  connectorOf: (secure: Secure) => buildConnector.connector,
): buildConnector.connector {
  let pem: string | null = null
  let connect: buildConnector.connector | null = null
  return (target, callback) => {
    const read = readCertificates(caFile)
    if (read === null) return callback(new Error("the provider's ca_file cannot be read as certificates"), null)
    if (connect === null || read !== pem) {
      pem = read
      connect = connectorOf({ secureContext: createSecureContext({ ca: [...getCACertificates(), read] }) })
    }
    connect(target, callback)
  }
}

/** Why a request had no answer, by the words of Node's error; the first match applies. */
const NO_ANSWER: readonly (readonly [why: NoAnswer, words: string, says: RegExp])[] = [
  ['unknown_host', 'its host was not found', /ENOTFOUND|EAI_AGAIN|EAI_NODATA/],
  ['closed', 'its host refused the connection', /ECONNREFUSED/],
  ['slow', 'its host did not connect in time', /CONNECT_TIMEOUT|ETIMEDOUT|connect timeout/i],
  [
    'certificate',
    'its certificate or its TLS is not valid',
    /certificate|self[- ]signed|altname|SSL|TLS|CERT_|EPROTO/i,
  ],
  ['unreachable', 'its host could not be reached', /(?:)/],
]

/** The failure of a request without an answer, with the reason in our words. */
export function connectFailure(error: Error): AttemptFailure {
  const found = failure('connect', null, error.message)
  if (error instanceof AddressRefusedError) return { ...found, why: 'private', said: error.message }
  const causes = error instanceof AggregateError ? error.errors : []
  const text = [error, ...causes, error.cause].map((one) => `${codeOf(one)} ${thrownMessage(one)}`).join(' ')
  const [why, words] = NO_ANSWER.find(([, , says]) => says.test(text)) ?? ['unreachable', '']
  return { ...found, why, said: words }
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}

/**
 * Works around two faults of undici. First, a complete answer that was paused at its last byte is reported as cut when
 * its connection closes: here the parser, which by then has no bytes left to deliver, is resumed before undici sees the
 * end. Second, the parser takes everything that a socket has, so that each pause takes in more than it passes on: here
 * it gets pieces, so that a slow reader's answer stays within its bound (guarantees.md F41).
 */
function boundedConnector(options: ConnectOptions & Secure): buildConnector.connector {
  // A socket takes this option, but undici's types do not name it.
  const bounded = { ...options, highWaterMark: BUFFERED_BYTES, allowH2: false }
  const connect = buildConnector(bounded)
  return (target, callback) => {
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      socket.on('end', () => parserOf(socket)?.resume())
      const read = socket.read.bind(socket)
      socket.read = (bytes = Math.min(socket.readableLength, PIECE_BYTES) || undefined) => read(bytes)
      callback(null, socket)
    })
  }
}

interface ResponseParser {
  /** Has no effect unless it is paused. */
  resume(): void
}

/** undici's parser of a connection, which has no public name; null once the connection is closed. */
function parserOf(socket: object): ResponseParser | null | undefined {
  const name = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser')
  // The test of a paused answer checks that this member exists.
  return name === undefined ? null : (socket as Partial<Record<symbol, ResponseParser | null>>)[name]
}

/** Resolves a name to all its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Thrown if the host is, or resolves to, a forbidden address. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
}

/** Why no connection is made to a provider that the API has set. */
const PRIVATE_REFUSED =
  'the address is private: a catalogue file may use it, the admin API only with ALLOW_PRIVATE_UPSTREAMS=true'

/**
 * A look-up for `connect`, so that the checked address is the connected one. One forbidden address refuses the whole
 * answer, since we do not choose which one is used.
 */
export function guardedLookup(
  mayConnect: (address: string) => boolean,
  resolve: Resolve,
  refusal = 'the address may not be connected to',
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null) callback(error, '', 0)
      else if (first === undefined || !addresses.every(({ address }) => mayConnect(address)))
        callback(new AddressRefusedError(refusal), '', 0)
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

/**
 * The operator's upstreams may have any address except those at which clouds serve a machine's credentials
 * (guarantees.md requirement 14).
 */
export const upstreamLookup: LookupFunction = guardedLookup((address) => !isForbiddenAddress(address), lookup)
