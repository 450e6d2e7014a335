import { BlockList, isIP } from 'node:net'

const PRIVATE = new BlockList()
for (const [address, bits] of [['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16], ['172.16.0.0', 12], ['192.0.0.0', 24], ['192.168.0.0', 16], ['198.18.0.0', 15], ['224.0.0.0', 3], ['168.63.129.16', 32]] as const) {
  PRIVATE.addSubnet(address, bits, 'ipv4')
}
for (const [address, bits] of [['::', 128], ['::1', 128], ['fc00::', 7], ['fe80::', 10], ['ff00::', 8], ['64:ff9b::', 96], ['2002::', 16]] as const) PRIVATE.addSubnet(address, bits, 'ipv6')

/** Whether a host name, as WHATWG URL writes it, is this machine's or a private network's by its very spelling. */
export function isPrivateAddress(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost') || bare.endsWith('.internal') || bare.endsWith('.local')) return true
  const family = isIP(bare)
  if (family === 0) return false
  const mapped = /^::(?:ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1]
  if (mapped !== undefined) return PRIVATE.check(mapped, 'ipv4')
  return PRIVATE.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}
