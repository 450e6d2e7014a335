import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { isPublicAddress } from '../../lib/public-address.ts'
import { AddressRefusedError, guardedLookup, type Resolve } from './guarded-lookup.ts'

const HEADERS_BYTES_MAX = 16_384

interface ConnectOptions {
  /** Milliseconds. */
  readonly timeout: number
  readonly lookup: LookupFunction
}

/** Connections whose requests bring limits of their own for the time that an answer takes. */
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

/** Connects to only to public addresses: for what others have named (guarantees.md requirement 13). */
export function publicConnector(timeoutMs: number, resolve: Resolve = lookup): buildConnector.connector {
  const connect = wholeConnector({ timeout: timeoutMs, lookup: guardedLookup(isPublicAddress, resolve) })
  return (options, callback) => {
    // An address is connected to without a look-up, so that a guard of look-ups never sees it.
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isPublicAddress(host)) callback(new AddressRefusedError('the address is not public'), null)
    else connect(options, callback)
  }
}

/**
 * An answer of a known length that was paused at its last byte is whole, and undici reports it as cut when its
 * connection then closes: the parser is woken before undici hears of the end. It has no bytes left to tell by then.
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
  /** Does nothing where nothing is paused. */
  resume(): void
}

/** undici's own parser of a connection, null once it is closed: it has no public name. */
function parserOf(socket: object): ResponseParser | null | undefined {
  const name = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser')
  // The test of a paused answer holds that it is there.
  return name === undefined ? null : (socket as Partial<Record<symbol, ResponseParser | null>>)[name]
}
