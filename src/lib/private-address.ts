import { isIP } from 'node:net'
import { isPublicAddress } from '../base/public-address.ts'

/**
 * Whether a host name, as WHATWG URL writes it, belongs to this machine or a private network by its spelling. An
 * address that is not known to be public counts as private.
 */
export function isPrivateAddress(hostname: string): boolean {
  const bare = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  if (isIP(bare) !== 0) return !isPublicAddress(bare)
  // Names without a dot are resolved in this machine's own network.
  return (
    !bare.includes('.') ||
    ['.localhost', '.internal', '.local', '.lan', '.home.arpa', '.intranet', '.corp', '.home'].some((suffix) =>
      bare.endsWith(suffix),
    )
  )
}
