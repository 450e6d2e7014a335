import { BlockList, isIP } from 'node:net'

/** Addresses and CIDR ranges, IPv4 and IPv6. */
export interface IpList {
  has(ip: string): boolean
}

/** Whether a text is an address or a CIDR range such as `10.0.0.0/8` or `2001:db8::/32`. */
export function isIpRange(entry: string): boolean {
  return rangeOf(entry) !== null
}

/** Invalid entries are left out. */
export function ipList(entries: readonly string[]): IpList {
  const list = new BlockList()
  for (const range of entries.map(rangeOf)) if (range !== null) list.addSubnet(range.address, range.bits, range.family)
  return { has: (ip) => list.check(ip, ip.includes(':') ? 'ipv6' : 'ipv4') }
}

function rangeOf(
  entry: string,
): { readonly address: string; readonly bits: number; readonly family: 'ipv4' | 'ipv6' } | null {
  const [address = '', bitsText, ...more] = entry.trim().split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return null
  const most = family === 6 ? 128 : 32
  const bits = bitsText === undefined ? most : /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : -1
  return bits < 0 || bits > most ? null : { address, bits, family: family === 6 ? 'ipv6' : 'ipv4' }
}
