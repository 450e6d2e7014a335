import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../src/base/errors.ts'
import { TrustedProxies } from '../../src/http/client-ip.ts'
import { parseJsonObject } from '../../src/http/body.ts'
import { JsonScan } from '../../src/base/json-scan.ts'
import { parseMultipart } from '../../src/http/multipart.ts'
import type { Meter } from '../../src/tables/meter-table.ts'
import { chargeMicro, METERS, type PriceSheet } from '../../src/tables/meters.ts'
import { parseDecimal } from '../../src/base/money.ts'
import { SseDecoder } from '../../src/protocols/wire/stream-decoders.ts'
import type { Random } from '../sim/random.ts'

/** One round: throws if the product and the slow reference differ. Everything follows from the generator. */
export type Target = (random: Random) => void

export const TARGETS: Readonly<Record<string, Target>> = { sse, json, multipart, forwarded, price }

function text(random: Random, pieces: readonly string[], most: number): string {
  return Array.from({ length: random.below(most) }, () => random.pick(pieces)).join('')
}

/** Some bytes changed, doubled, dropped or cut off. */
function damaged(random: Random, bytes: Buffer): Buffer {
  let result = Buffer.from(bytes)
  for (let count = random.below(4); count > 0 && result.length > 0; count -= 1) {
    const at = random.below(result.length)
    const kind = random.below(4)
    if (kind === 0) result[at] = random.below(256)
    else if (kind === 1) result = Buffer.concat([result.subarray(0, at), result.subarray(random.below(result.length))])
    else if (kind === 2) result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1)])
    else result = result.subarray(0, at)
  }
  return result
}

function pieces(random: Random, bytes: Buffer): readonly Buffer[] {
  const parts: Buffer[] = []
  const most = random.pick([1, 2, 3, 7, 40, 4_000])
  for (let at = 0; at < bytes.length;) {
    const next = at + 1 + random.below(most)
    // Copies, since a decoder may read its input only until it returns.
    parts.push(Buffer.from(bytes.subarray(at, next)))
    at = next
  }
  return parts
}

const SSE_PIECES = [
  'data:',
  'data: ',
  'data',
  'dat',
  'error: {"a":1}',
  'event: x',
  ': comment',
  'id:1',
  '{"a":"б"}',
  '[DONE]',
  ' ',
  ':',
  'x',
  '\uFEFF',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  '\r\r',
  '😀',
]

/** Every cut of every stream gives the events of the whole text. */
function sse(random: Random): void {
  const start = random.chance(0.2) ? '\uFEFF' : ''
  const bytes = damaged(random, Buffer.from(start + text(random, SSE_PIECES, 60)))
  const seen: string[] = []
  const decoder = new SseDecoder({
    event: (data) => seen.push(`event ${data.toString('latin1')}`),
    errorLine: (value) => seen.push(`error ${value.toString('latin1')}`),
  })
  for (const piece of pieces(random, bytes)) assert.ok(decoder.push(piece))
  decoder.end()
  assert.deepEqual(seen, sseTruth(bytes.toString('latin1')), JSON.stringify(bytes.toString('latin1')))
}

function sseTruth(whole: string): readonly string[] {
  const seen: string[] = []
  let data: string[] = []
  const flush = (): void => {
    if (data.length > 0) seen.push(`event ${data.join('\n')}`)
    data = []
  }
  for (const line of whole.replace(/^\u00EF\u00BB\u00BF/, '').split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':')
    const [name, value] = colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
    if (line === '') flush()
    else if (name === 'data') data.push(value)
    else if (name === 'error') seen.push(`error ${value}`)
  }
  flush()
  return seen
}

const JSON_PIECES = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\"',
  '\\u0041',
  '\\ud83d',
  '\\ude00',
  '\\ud800',
  'true',
  'null',
  '1',
  '-0',
  '1e400',
  '1.5',
  'a',
  'я',
  ' ',
  '\n',
  '"a":',
  '"__proto__":',
  '{"a":1}',
  '[1,2]',
  '"x"',
]

/**
 * An accepted text is read as JSON.parse reads it; an object of JSON.parse within the limits is accepted; cuts change
 * nothing.
 */
function json(random: Random): void {
  const whole = random.chance(0.5) ? JSON.stringify({ value: value(random, 5) }) : `{${text(random, JSON_PIECES, 40)}}`
  const body = random.chance(0.5) ? Buffer.from(whole) : damaged(random, Buffer.from(whole))
  const parsed = outcome(() => JSON.parse(body.toString('utf8')) as unknown)
  const taken = outcome(() => parseJsonObject(body))
  const name = JSON.stringify(body.toString('latin1'))
  if (taken.ok) {
    assert.ok(parsed.ok && isUtf8(body), name)
    assert.deepEqual(taken.value, parsed.value, name)
    assert.ok(wellFormed(taken.value), name)
  } else assert.ok(taken.error instanceof ApiError, `${name}: ${String(taken.error)}`)
  const plain = isUtf8(body) && !/\\u[dD][89a-fA-F]/.test(body.toString('utf8')) && body[0] !== 0xef
  const isObject =
    parsed.ok && typeof parsed.value === 'object' && parsed.value !== null && !Array.isArray(parsed.value)
  if (plain && isObject) assert.ok(taken.ok, name)
  const limits = {
    depth: 1 + random.below(6),
    containers: 1 + random.below(9),
    keys: random.below(9),
    commas: random.below(9),
    words: 9_999,
    escapes: null,
  }
  const [one, many] = [new JsonScan(limits), new JsonScan(limits)]
  const refused = one.push(body) !== null
  let refusedInParts = false
  for (const piece of pieces(random, body)) refusedInParts ||= many.push(piece) !== null
  if (parsed.ok) assert.equal(refusedInParts, refused, name)
}

function value(random: Random, depth: number): unknown {
  const kind = random.below(depth > 0 ? 6 : 4)
  if (kind === 0) return random.pick([0, -0, 1.5, 1e300, -7, null, true])
  if (kind < 4) return text(random, ['a', '"', '\\', '{', '}', '[', ',', ':', '\n', 'я', '😀', '\u0000'], 8)
  if (kind === 4) return Array.from({ length: random.below(4) }, () => value(random, depth - 1))
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, (_, index) => [
      text(random, ['k', '"', ':', '\\', 'я'], 3) + String(index),
      value(random, depth - 1),
    ]),
  )
}

function wellFormed(read: unknown): boolean {
  if (typeof read === 'string') return read.isWellFormed()
  if (typeof read !== 'object' || read === null) return true
  return Object.entries(read).every(([key, inner]) => key.isWellFormed() && wellFormed(inner))
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }

function outcome<T>(work: () => T): Outcome<T> {
  try {
    return { ok: true, value: work() }
  } catch (error) {
    return { ok: false, error }
  }
}

const FORM_PIECES = [
  '\r\n',
  '--',
  '-',
  'limit',
  '--limit',
  '\r\n--limi',
  'text',
  'я',
  '\u0000',
  '"',
  ';',
  'Content-Type: x',
  ' ',
]

/** A whole form is read as written; a damaged one is read or refused with an ApiError. */
function multipart(random: Random): void {
  const boundary = random.pick(['limit', 'limit limit', "a'()+_,-./:=?", 'x'.repeat(70)])
  const delimiter = `\r\n--${boundary}`
  const fields = Array.from(
    { length: random.below(5) },
    (_, index) => [`field${index}`, content(random, delimiter)] as const,
  )
  const file = random.chance(0.6) ? content(random, delimiter) : null
  const parts = fields.map(
    ([name, written]) =>
      `--${boundary}${random.pick(['', ' ', '\t'])}\r\nContent-Disposition: form-data; name=${random.pick([`"${name}"`, name])}\r\n\r\n${written}\r\n`,
  )
  if (file !== null)
    parts.splice(
      random.below(parts.length + 1),
      0,
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a;\\"b.mp3"\r\nContent-Type: Audio/MPEG; x=y\r\n\r\n${file}\r\n`,
    )
  const body = Buffer.from(
    `${random.pick(['', '', 'preamble\r\n'])}${parts.join('')}--${boundary}--${random.pick(['', '\r\n', 'epilogue'])}`,
  )
  const type = `multipart/form-data; boundary="${boundary}"`
  if (random.chance(0.5)) {
    const read = parseMultipart(type, body)
    assert.deepEqual(read.fields, fields, JSON.stringify(body.toString()))
    const [sent] = read.files
    assert.equal(sent?.bytes.toString() ?? null, file, JSON.stringify(body.toString()))
    if (sent !== undefined) assert.deepEqual([sent.fileName, sent.contentType], ['a;"b.mp3', 'audio/mpeg'])
    return
  }
  const read = outcome(() =>
    parseMultipart(damaged(random, Buffer.from(type)).toString('latin1'), damaged(random, body)),
  )
  assert.ok(read.ok || read.error instanceof ApiError, read.ok ? '' : String(read.error))
}

/** Anything but the delimiter itself. */
function content(random: Random, delimiter: string): string {
  const written = text(random, FORM_PIECES, 12)
  return `\r\n${written}\r\n`.includes(delimiter) ? 'plain' : written
}

/** Networks whose members differ only in their text. */
const TRUSTED = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8']
const isTrusted = (ip: string): boolean => ip.startsWith('10.') || ip === '192.0.2.7' || /^fd[0-9a-f]{2}:/.test(ip)

/**
 * From the right: the first address that is no proxy of ours, within 20 hops and before anything that is no address.
 */
function forwarded(random: Random): void {
  const address = (): string => {
    const octet = (): number => random.below(256)
    return random.pick([
      `10.${octet()}.${octet()}.${octet()}`,
      `203.0.113.${octet()}`,
      '192.0.2.7',
      `fd00::${1 + random.below(9)}`,
      `2001:db8::${1 + random.below(9)}`,
    ])
  }
  const peer = address()
  // A long way through only our proxies reaches the bound of hops.
  const near = random.chance(0.3)
  const hops = Array.from({ length: random.below(26) }, () =>
    near
      ? `10.0.0.${random.below(256)}`
      : random.chance(0.9)
        ? address()
        : random.pick(['', 'unknown', '1.2.3', '256.1.1.1', '::g', '_hidden', '<script>', '10.0.0.1 10.0.0.2']),
  )
  const dressed = (ip: string): string => {
    if (ip.includes(':') && /^[0-9a-f:]+$/.test(ip) && random.chance(0.3))
      return random.pick([`[${ip}]`, `[${ip}]:443`, ip.toUpperCase()])
    if (/^\d+\.\d+\.\d+\.\d+$/.test(ip) && ip !== '256.1.1.1' && random.chance(0.3))
      return random.pick([`${ip}:8080`, `::ffff:${ip}`, ` ${ip} `])
    return ip
  }
  const header = hops.map(dressed).join(random.pick([',', ', ', ' ,']))
  // The edge reads only the header and the socket's address of a request.
  const request = {
    socket: { remoteAddress: random.chance(0.3) && !peer.includes(':') ? `::ffff:${peer}` : peer },
    headers: hops.length === 0 ? {} : { 'x-forwarded-for': header },
  } as unknown as IncomingMessage
  let expected = peer
  if (isTrusted(peer)) {
    for (const hop of hops.toReversed().slice(0, 20)) {
      if (!/^(?:\d{1,3}\.){3}\d{1,3}$|^(?:fd00|2001:db8)::\d$/.test(hop) || hop === '256.1.1.1') break
      expected = hop
      if (!isTrusted(hop)) break
    }
  }
  assert.equal(new TrustedProxies(TRUSTED).clientIp(request), expected, `${peer} | ${header}`)
}

/** Σ meter × price, rounded up once, against fractions of whole numbers. */
function price(random: Random): void {
  const usage: Partial<Record<Meter, number>> = {}
  const sheet = {} as Record<Meter, PriceSheet[Meter]>
  let [above, below] = [0n, 1n]
  for (const meter of METERS) {
    const digits =
      BigInt(random.pick([0, 1, 9, 99, 15, random.below(1_000_000), random.below(2 ** 31)])) *
      BigInt(random.pick([1, 1, 1_000_003, 2 ** 30]))
    const places = random.below(25)
    const written = digits.toString().padStart(places + 1, '0')
    const decimal = parseDecimal(
      places === 0
        ? written
        : random.chance(0.7)
          ? `${written.slice(0, -places)}.${written.slice(-places)}`
          : `${digits}e-${places}`,
    )
    assert.ok(decimal !== null)
    sheet[meter] = decimal
    if (random.chance(0.5)) continue
    const units = random.pick([0, 1, 2, random.below(100_000), random.below(2 ** 31), Number.MAX_SAFE_INTEGER])
    usage[meter] = units
    const scale = 10n ** BigInt(places)
    above = above * scale + BigInt(units) * digits * below
    below *= scale
  }
  let expected = above / below
  if (expected * below !== above) expected += 1n
  assert.equal(chargeMicro(usage, sheet), expected, JSON.stringify(usage))
}
