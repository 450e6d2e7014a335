import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isForbiddenAddress } from '../../catalog/upstream-address.ts'

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
