import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/**
 * Whether a host name, as WHATWG URL writes it, is this machine's or a private network's by its very spelling. An
 * address that is not known to be public is.
 */
export function isPrivateAddress(hostname: string): boolean {
  const bare = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  if (isIP(bare) !== 0) return !isPublicAddress(bare)
  // A name without a dot is looked up in the domains of this machine's own network.
  return (
    !bare.includes('.') ||
    ['.localhost', '.internal', '.local', '.lan', '.home.arpa', '.intranet', '.corp', '.home'].some((suffix) =>
      bare.endsWith(suffix),
    )
  )
}
