import { BlockList, isIP } from 'node:net'

/** Addresses that no provider may have: link-local ones, and those at which clouds serve a machine's credentials. */
const FORBIDDEN = ranges(['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32'], ['fe80::/10', 'fd00:ec2::/32'])
const UNSPECIFIED = ranges(['0.0.0.0/32'], ['::/128'])
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
])
/** IPv6 prefixes that carry an IPv4 address: in the last 32 bits for the first two, in bits 16 to 48 for 6to4. */
const CARRIES_IPV4 = ranges([], ['::ffff:0:0/96', '64:ff9b::/96', '::/96'])
const SIX_TO_FOUR = ranges([], ['2002::/16'])

/**
 * True for an address that no provider may have, even in the operator's file (guarantees.md requirement 14); names are
 * resolved only when the connection is made.
 */
export function forbiddenUpstream(baseUrl: string): boolean {
  const host = hostOf(baseUrl)
  return host === null || FORBIDDEN_NAMES.has(host) || within(FORBIDDEN, host)
}

/** The same for an address to which a name resolved. It may not be `0.0.0.0` either, with which sinkholes answer. */
export function isForbiddenAddress(address: string): boolean {
  const url = `http://${isIP(address) === 6 ? `[${address.split('%', 1)[0] ?? ''}]` : address}/`
  return forbiddenUpstream(url) || within(UNSPECIFIED, hostOf(url) ?? '')
}

/** The host as URL writes it: `0x7f.1` and full-width digits become an address. null = not a URL. */
function hostOf(baseUrl: string): string | null {
  if (!URL.canParse(baseUrl)) return null
  return new URL(baseUrl).hostname
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()
}

function within(list: BlockList, host: string): boolean {
  if (isIP(host) === 0) return false
  if (isIP(host) === 4) return list.check(host, 'ipv4')
  const carried = carriedIpv4(host)
  return list.check(host, 'ipv6') || (carried !== null && list.check(carried, 'ipv4'))
}

function carriedIpv4(host: string): string | null {
  const groups = fullGroups(host)
  const [high, low] = CARRIES_IPV4.check(host, 'ipv6')
    ? groups.slice(6)
    : SIX_TO_FOUR.check(host, 'ipv6')
      ? groups.slice(1, 3)
      : []
  return high === undefined || low === undefined ? null : `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** The eight groups of an IPv6 address as URL writes it, without a dotted tail. */
function fullGroups(host: string): readonly number[] {
  const [head = '', tail] = host.split('::', 2)
  const numbers = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  if (tail === undefined) return numbers(head)
  const left = numbers(head)
  const right = numbers(tail)
  return [...left, ...Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => 0), ...right]
}

function ranges(ipv4: readonly string[], ipv6: readonly string[]): BlockList {
  const list = new BlockList()
  for (const [family, cidrs] of [
    ['ipv4', ipv4],
    ['ipv6', ipv6],
  ] as const) {
    for (const cidr of cidrs) {
      const [address = '', bits] = cidr.split('/')
      list.addSubnet(address, Number(bits), family)
    }
  }
  return list
}
