import type { IncomingMessage } from 'node:http'
import { isIP, type Socket, BlockList } from 'node:net'

const HOPS_MAX = 20
const UNKNOWN_IP = '0.0.0.0'
const KNOWN_MAX = 1_000

/** The operator's own proxies. Their headers are trusted, and connections from them are not counted by address. */
export class TrustedProxies {
  readonly #list: IpList | null
  /** Results by address: the same few proxies connect again and again. */
  readonly #known = new Map<string, boolean>()

  /** Addresses and CIDR ranges; throws one sentence naming the entry that is neither. */
  constructor(entries: readonly string[]) {
    this.#list = entries.length === 0 ? null : proxyList(entries)
  }

  has(ip: string): boolean {
    if (this.#list === null) return false
    const known = this.#known.get(ip)
    if (known !== undefined) return known
    const found = this.#list.has(ip)
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(ip, found)
    return found
  }

  /** The address at the other end of the socket. */
  peerOf(socket: Socket): string {
    return normalised(socket.remoteAddress)
  }

  /**
   * The client's address: that of the socket or, behind a trusted proxy, the nearest address in X-Forwarded-For that is
   * not a trusted proxy. `Forwarded` and `X-Real-IP` are ignored: if a proxy does not set them, a client can invent
   * them.
   */
  clientIp(request: IncomingMessage): string {
    const peer = this.peerOf(request.socket)
    const forwarded = request.headers['x-forwarded-for']
    if (this.#list === null || forwarded === undefined || !this.has(peer)) return peer
    return walk(this.#list, peer, Array.isArray(forwarded) ? forwarded.join(',') : forwarded)
  }

  /** Whether the client used TLS, as reported by a trusted proxy. Of several schemes the first is the client's. */
  isSecure({ headers, socket }: IncomingMessage): boolean {
    const scheme = headers['x-forwarded-proto']
    if (this.#list === null || typeof scheme !== 'string' || headers['x-forwarded-for'] === undefined) return false
    return scheme.split(',', 1)[0]?.trim().toLowerCase() === 'https' && this.has(this.peerOf(socket))
  }
}

/** The key of limits by address: an IPv4 address, or an IPv6 /64, which belongs to one customer. */
export function ipKey(ip: string): string {
  return ip.includes(':') ? prefix64(ip) : ip
}

/** Reads a list of addresses and CIDR ranges; throws one sentence naming the entry that is neither. */
export function proxyList(entries: readonly string[]): IpList {
  const wrong = entries.find((entry) => !isIpRange(entry))
  if (wrong !== undefined)
    throw new Error(`TRUSTED_PROXIES: '${wrong}' is not an IP address or a CIDR range such as 10.0.0.0/8`)
  return ipList(entries)
}

function walk(trusted: IpList, peer: string, header: string): string {
  const hops = header.split(',')
  let client = peer
  for (let index = hops.length - 1, seen = 0; index >= 0 && seen < HOPS_MAX; index -= 1, seen += 1) {
    const hop = hopAddress(hops[index] ?? '')
    if (hop === null) return client
    client = hop
    if (!trusted.has(hop)) return client
  }
  return client
}

/** The address of one hop, which may carry a port; null for anything else. */
function hopAddress(text: string): string | null {
  const hop = text.trim()
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
  return isIP(address) === 0 ? null : normalised(address)
}

/** Turns IPv4-mapped IPv6 into IPv4, so that a client has the same key on both kinds of socket. */
function normalised(address: string | undefined): string {
  if (address === undefined) return UNKNOWN_IP
  if (!address.includes(':')) return address
  const bare = address.split('%', 1)[0] ?? address
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(bare)?.[1]
  if (mapped !== undefined) return mapped
  const hexMapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(bare)
  if (hexMapped === null) return bare.toLowerCase()
  const high = Number.parseInt(hexMapped[1] ?? '0', 16)
  const low = Number.parseInt(hexMapped[2] ?? '0', 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function prefix64(ip: string): string {
  const [head = '', tail] = ip.split('::', 2)
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  // A dotted tail counts as two groups.
  const rightGroups = right.length + (right.at(-1)?.includes('.') === true ? 1 : 0)
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - rightGroups)
  const groups = [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`
}

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
