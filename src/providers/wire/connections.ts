import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { isPublicAddress } from '../../base/public-address.ts'
import { AddressRefusedError, guardedLookup, type Resolve } from '../../protocols/wire/guarded-lookup.ts'

const HEADERS_BYTES_MAX = 16_384

interface ConnectOptions {
  /** Milliseconds. */
  readonly timeout: number
  readonly lookup: LookupFunction
}

/** Connections whose requests set their own limits on the time to an answer. */
export function patientAgent(connect: ConnectOptions | buildConnector.connector, options: Agent.Options = {}): Agent {
  return new Agent({
    ...options,
    connect: typeof connect === 'function' ? connect : wholeConnector(connect),
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/** Connects only to public addresses: for addresses that clients and providers name (guarantees.md requirement 13). */
export function publicConnector(timeoutMs: number, resolve: Resolve = lookup): buildConnector.connector {
  const connect = wholeConnector({ timeout: timeoutMs, lookup: guardedLookup(isPublicAddress, resolve) })
  return (options, callback) => {
    // A literal address is connected without a look-up, so a guard of look-ups would not see it.
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isPublicAddress(host)) callback(new AddressRefusedError('the address is not public'), null)
    else connect(options, callback)
  }
}

/**
 * Works around undici: a complete answer that was paused at its last byte is reported as cut when its connection
 * closes. Here the parser is resumed before undici sees the end; it has no bytes left to deliver by then.
 */
function wholeConnector(options: ConnectOptions): buildConnector.connector {
  const connect = buildConnector({ ...options, allowH2: false })
  return (target, callback) => {
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      socket.on('end', () => parserOf(socket)?.resume())
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
  // A test of a paused answer checks that it exists.
  return name === undefined ? null : (socket as Partial<Record<symbol, ResponseParser | null>>)[name]
}
