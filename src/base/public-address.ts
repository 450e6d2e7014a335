import { BlockList, isIP } from 'node:net'

/**
 * Addresses that are not public unicast (IANA's special-purpose registries), and public ones that a cloud uses for its
 * hosts.
 */
const IPV4 = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['168.63.129.16', 32],
] as const)
  IPV4.addSubnet(address, bits, 'ipv4')

/** The only block of IPv6 from which public addresses are assigned. */
const IPV6_GLOBAL = new BlockList()
IPV6_GLOBAL.addSubnet('2000::', 3, 'ipv6')
/** Blocks within it that are not public: protocol assignments with Teredo, documentation, 6to4 and AS112. */
const IPV6_SPECIAL = new BlockList()
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['2620:4f:8000::', 48],
] as const)
  IPV6_SPECIAL.addSubnet(address, bits, 'ipv6')

/** Whether an IP address is known to be public. An IPv4 address inside an IPv6 one is checked by itself. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '')
  const family = isIP(bare)
  if (family === 4) return !IPV4.check(bare, 'ipv4')
  if (family === 0) return false
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1]
  if (mapped !== undefined) return !IPV4.check(mapped, 'ipv4')
  return IPV6_GLOBAL.check(bare, 'ipv6') && !IPV6_SPECIAL.check(bare, 'ipv6')
}

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
