import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { isForbiddenAddress } from '../../catalog/upstream-address.ts'
import { isPublicAddress } from '../../lib/public-address.ts'

const HEADERS_BYTES_MAX = 16_384

interface ConnectOptions {
  /** Milliseconds. */
  readonly timeout: number
  readonly lookup: LookupFunction
}

/** Resolves a name to all of its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** The address of a host is none that may be connected to. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
}

/**
 * A look-up for `connect`, so that what is judged is what is connected to. One answer that may not be spoils them all:
 * which one is taken is not ours to choose.
 */
export function guardedLookup(mayConnect: (address: string) => boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null) callback(error, '', 0)
      else if (first === undefined || !addresses.every(({ address }) => mayConnect(address)))
        callback(new AddressRefusedError('the address may not be connected to'), '', 0)
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

/**
 * Where the operator's own upstreams may be: anywhere but where clouds keep a machine's credentials, whatever their
 * names resolve to (guarantees.md requirement 14).
 */
export const upstreamLookup: LookupFunction = guardedLookup((address) => !isForbiddenAddress(address), lookup)

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

/** Connects to public addresses alone: for what others have named (guarantees.md requirement 13). */
export function publicConnector(timeoutMs: number, resolve: Resolve = lookup): buildConnector.connector {
  const connect = wholeConnector({ timeout: timeoutMs, lookup: guardedLookup(isPublicAddress, resolve) })
  return (options, callback) => {
    // An address is connected to without a look-up, so that a guard there alone never sees it.
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
