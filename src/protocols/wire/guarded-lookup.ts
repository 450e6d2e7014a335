import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isForbiddenAddress } from '../../catalog/upstream-address.ts'

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
export const PRIVATE_REFUSED =
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
