import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchangeRaw } from '../harness/raw-http.ts'
import { gateway } from '../harness/gateway.ts'

/**
 * Malformed requests (guarantees.md F45, F46, F52; S4), each on a separate connection, with a second request hidden
 * behind.
 */

const tollgate = await gateway({
  catalog: '{ rate_limit: { requests: 100000, window: 60 }, ip_block: { failures: 100000, window: 60, duration: 1 } }',
})
const port = Number(new URL(tollgate.url).port)
const key = (await tollgate.createAccount()).key

const BODY = '{"model":"sandbox/chat","max_tokens":5,"messages":[{"role":"user","content":"x"}]}'
const LENGTH = `Content-Length: ${BODY.length}`
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const head = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, ...headers, '', ''].join('\r\n')
const post = (...headers: readonly string[]): string =>
  head(
    'POST /v1/chat/completions',
    'Host: x',
    'Authorization: Bearer KEY',
    'Content-Type: application/json',
    ...headers,
  )
const get = (...headers: readonly string[]): string =>
  head('GET /v1/key', 'Host: x', 'Authorization: Bearer KEY', ...headers)
/** A request that must not be answered while it is part of another request. */
const HIDDEN = head('GET /v1/user/balance', 'Host: x', 'Authorization: Bearer KEY')
const ANSWERED = '"available":'

/**
 * `refused`: 4xx, then the connection closes. `plain`: one ordinary answer. `open`: as plain, and the rest is read as
 * another request.
 */
type Verdict = 'refused' | 'plain' | 'open'
type Case = readonly [what: string, bytes: string, verdict: Verdict]

const TRANSFER_ENCODINGS: readonly (readonly [string, Verdict])[] = [
  ['Transfer-Encoding: chunked', 'open'],
  ['Transfer-Encoding: Chunked', 'open'],
  ['transfer-encoding:chunked', 'open'],
  ['Transfer-Encoding:\tchunked', 'open'],
  ['Transfer-Encoding : chunked', 'refused'],
  [' Transfer-Encoding: chunked', 'refused'],
  ['\tTransfer-Encoding: chunked', 'refused'],
  ['Transfer-Encoding: xchunked', 'refused'],
  ['Transfer-Encoding: chunked, identity', 'refused'],
  ['Transfer-Encoding: chunkedx', 'refused'],
  ['Transfer-Encoding: "chunked"', 'refused'],
  ['Transfer-Encoding: identity', 'refused'],
  ['Transfer-Encoding: chunked;q=1', 'refused'],
  ['Transfer-Encoding: chunked chunked', 'refused'],
  ['Transfer-Encoding:\x0bchunked', 'refused'],
  ['Transfer-Encoding: chunked\0', 'refused'],
  ['Transfer-Encoding:\r\n chunked', 'refused'],
  ['Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', 'refused'],
  ['Transfer-Encoding: identity\r\nTransfer-Encoding: x', 'refused'],
  ['Transfer-Encoding\x00: chunked', 'refused'],
  ['Transfer\x2dEncoding\xa0: chunked', 'refused'],
  ['X: y\nTransfer-Encoding: chunked', 'refused'],
  ['X: y\rTransfer-Encoding: chunked', 'refused'],
]

const LENGTHS: readonly (readonly [string, Verdict])[] = [
  [LENGTH, 'open'],
  [`Content-Length:\t${BODY.length}  `, 'open'],
  [`Content-Length: 00${BODY.length}`, 'open'],
  [`${LENGTH}\r\n${LENGTH}`, 'refused'],
  [`${LENGTH}\r\nContent-Length: 0`, 'refused'],
  [`Content-Length: 0\r\n${LENGTH}`, 'refused'],
  [`Content-Length: ${BODY.length}, ${BODY.length}`, 'refused'],
  [`Content-Length: +${BODY.length}`, 'refused'],
  [`Content-Length: -${BODY.length}`, 'refused'],
  ['Content-Length: 0x52', 'refused'],
  ['Content-Length: 8e1', 'refused'],
  ['Content-Length: 82.0', 'refused'],
  ['Content-Length: 8 2', 'refused'],
  ['Content-Length: ', 'refused'],
  ['Content-Length: 99999999999999999999', 'refused'],
  ['Content-Length: 18446744073709551698', 'refused'],
  ['Content-Length: NaN', 'refused'],
  [`Content-Length : ${BODY.length}`, 'refused'],
  [` Content-Length: ${BODY.length}`, 'refused'],
  [`Content-Length:\r\n ${BODY.length}`, 'refused'],
  [`Content-Length: ${BODY.length}\0`, 'refused'],
  ['Content-Length: \xb9', 'refused'],
  [`${LENGTH}\r\nTransfer-Encoding: chunked`, 'refused'],
  [`Transfer-Encoding: chunked\r\n${LENGTH}`, 'refused'],
  [`${LENGTH}\r\nTransfer-Encoding: x`, 'refused'],
  [`Transfer-Encoding: chunked\r\nContent-Length: 0`, 'refused'],
]

const size = BODY.length.toString(16)
const CHUNKS: readonly (readonly [string, Verdict])[] = [
  [CHUNKED, 'open'],
  [`000${CHUNKED}`, 'open'],
  [`${size};name=value\r\n${BODY}\r\n0\r\n\r\n`, 'open'],
  [`${size}\r\n${BODY}\r\n0\r\nX-Trailer: y\r\n\r\n`, 'open'],
  [`0x${CHUNKED}`, 'refused'],
  [`+${CHUNKED}`, 'refused'],
  [`-${CHUNKED}`, 'refused'],
  [` ${CHUNKED}`, 'refused'],
  [`g\r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`\r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size} \r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size}\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size}\r\n${BODY}\n0\r\n\r\n`, 'refused'],
  [`${size}\r\n${BODY}0\r\n\r\n`, 'refused'],
  [`${size}\r\n${BODY}\r\n0\n\n`, 'refused'],
  [`fffffffffffffffff\r\n${BODY}`, 'refused'],
  [`10000000000000052\r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size};${'x'.repeat(1_048_576)}\r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size};a\nb\r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size};a\0b\r\n${BODY}\r\n0\r\n\r\n`, 'refused'],
  [`${size}\r\n${BODY}\r\n0\r\nBad Trailer: y\r\n\r\n`, 'refused'],
  [`${size}\r\n${BODY}\r\n0\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 'refused'],
]

const LINES: readonly (readonly [string, Verdict])[] = [
  ['GET /v1/key HTTP/1.1', 'open'],
  ['HEAD /v1/key HTTP/1.1', 'open'],
  ['GET  /v1/key HTTP/1.1', 'open'],
  ['GET /v1/key  HTTP/1.1', 'open'],
  ['GET\t/v1/key\tHTTP/1.1', 'refused'],
  ['GET /v1/key', 'refused'],
  ['GET', 'refused'],
  ['get /v1/key HTTP/1.1', 'refused'],
  ['GETT /v1/key HTTP/1.1', 'refused'],
  ['G\0T /v1/key HTTP/1.1', 'refused'],
  ['TRACE /v1/key HTTP/1.1', 'open'],
  ['PRI * HTTP/2.0', 'refused'],
  ['OPTIONS * HTTP/1.1', 'refused'],
  ['GET /v1/key HTTP/1.2', 'refused'],
  ['GET /v1/key HTTP/2.0', 'refused'],
  ['GET /v1/key HTTP/0.9', 'refused'],
  ['GET /v1/key HTTP/1.11', 'refused'],
  ['GET /v1/key http/1.1', 'refused'],
  ['GET /v1/key HTTP/1.1 ', 'refused'],
  ['GET /v1/key FTP/1.1', 'refused'],
  ['GET http://x/v1/key HTTP/1.1', 'refused'],
  ['GET https://evil.example/v1/key HTTP/1.1', 'refused'],
  ['GET v1/key HTTP/1.1', 'refused'],
  ['GET ?x HTTP/1.1', 'refused'],
  ['GET *  HTTP/1.1', 'refused'],
  ['GET \\v1\\key HTTP/1.1', 'refused'],
  ['GET /v1/\0key HTTP/1.1', 'refused'],
  ['GET /v1/k\x01ey HTTP/1.1', 'refused'],
  ['GET /v1/k\x7fey HTTP/1.1', 'refused'],
  ['GET /v1/ключ HTTP/1.1', 'open'],
  [`GET /${'a'.repeat(9_000)} HTTP/1.1`, 'refused'],
  [`GET /${'a'.repeat(20_000)} HTTP/1.1`, 'refused'],
  ['GET //v1/key HTTP/1.1', 'open'],
  ['GET //evil.example/v1/key HTTP/1.1', 'open'],
  ['GET /v1/../v1/key HTTP/1.1', 'open'],
  ['GET /v1/%2e%2e/v1/key HTTP/1.1', 'open'],
  ['GET /./v1/key HTTP/1.1', 'open'],
  ['GET /v1%2fkey HTTP/1.1', 'open'],
  ['GET /v1/key%00 HTTP/1.1', 'open'],
  ['GET /v1/key/ HTTP/1.1', 'open'],
  ['GET /V1/KEY HTTP/1.1', 'open'],
  ['GET /v1/key; HTTP/1.1', 'open'],
  ['GET /v1/key# HTTP/1.1', 'open'],
  ['GET /v1/models/%ZZ HTTP/1.1', 'open'],
  ['GET /v1/models/%c0%ae%c0%ae HTTP/1.1', 'open'],
  ['\r\nGET /v1/key HTTP/1.1', 'open'],
  ['\n\nGET /v1/key HTTP/1.1', 'open'],
  [' GET /v1/key HTTP/1.1', 'refused'],
  ['\0GET /v1/key HTTP/1.1', 'refused'],
  ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'refused'],
]

const HEADERS: readonly (readonly [string, Verdict])[] = [
  ['X: y', 'open'],
  ['X:', 'open'],
  ['X: \xe9\xff', 'open'],
  ['X: "quoted \\" text"', 'open'],
  [': y', 'refused'],
  ['X', 'refused'],
  ['X y: z', 'refused'],
  ['X : y', 'refused'],
  ['X\t: y', 'refused'],
  ['(X): y', 'refused'],
  ['X\xe9: y', 'refused'],
  ['X@: y', 'refused'],
  ['X: a\0b', 'refused'],
  ['X: a\x01b', 'refused'],
  ['X: a\x7fb', 'refused'],
  ['X: a\rb', 'refused'],
  ['X: a\nb', 'refused'],
  ['X: a\r\n b', 'refused'],
  ['X: a\r\n\tb', 'refused'],
  ['X: a\n\nb', 'refused'],
  [`X: ${'y'.repeat(17_000)}`, 'refused'],
  [`${'X'.repeat(17_000)}: y`, 'refused'],
  [Array.from({ length: 98 }, (_value, index) => `H${index}: y`).join('\r\n'), 'open'],
  [Array.from({ length: 99 }, (_value, index) => `H${index}: y`).join('\r\n'), 'refused'],
  [Array.from({ length: 3_000 }, (_value, index) => `a${index}:`).join('\r\n'), 'refused'],
  ['Host: y', 'refused'],
  ['host: x', 'refused'],
  ['HOST: x', 'refused'],
  ['Host : x', 'refused'],
  ['Host\0: x', 'refused'],
  [
    'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13',
    'plain',
  ],
  ['Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__', 'plain'],
  ['Upgrade: x', 'open'],
  ['Connection: close', 'plain'],
  ['Connection: keep-alive, Authorization', 'open'],
  ['Expect: 100-continue', 'plain'],
  ['Expect: 200-ok', 'open'],
  ['Authorization: Bearer other', 'open'],
  ['Content-Type: text/html', 'open'],
  ['X-HTTP-Method-Override: DELETE', 'open'],
  ['X-Original-URL: /admin/v1/accounts', 'open'],
  ['X-Rewrite-URL: /admin/v1/accounts', 'open'],
  ['X-Forwarded-Host: evil.example', 'open'],
  ['X-Forwarded-Prefix: /admin', 'open'],
  ['Forwarded: for=127.0.0.1;host=evil.example', 'open'],
  ['Proxy: http://evil.example', 'open'],
  ['Proxy-Connection: keep-alive', 'open'],
  ['TE: trailers', 'open'],
  ['Trailer: Host', 'open'],
  ['Content-Length: 0', 'open'],
]

const CASES: readonly Case[] = [
  ...TRANSFER_ENCODINGS.map(([line, verdict]): Case => [
    `transfer encoding ${JSON.stringify(line)}`,
    post(line) + CHUNKED,
    verdict,
  ]),
  ...LENGTHS.map(([line, verdict]): Case => [`length ${JSON.stringify(line)}`, post(line) + BODY, verdict]),
  ...CHUNKS.map(([body, verdict]): Case => [
    `chunks ${JSON.stringify(body.slice(0, 40))}`,
    post('Transfer-Encoding: chunked') + body,
    verdict,
  ]),
  ...LINES.map(([line, verdict]): Case => [
    `line ${JSON.stringify(line.slice(0, 60))}`,
    `${line}\r\nHost: x\r\nAuthorization: Bearer KEY\r\n\r\n`,
    verdict,
  ]),
  ...HEADERS.map(([line, verdict]): Case => [`header ${JSON.stringify(line.slice(0, 60))}`, get(line), verdict]),
  ['no Host', head('GET /v1/key', 'Authorization: Bearer KEY'), 'refused'],
  ['bare line feeds', get().replaceAll('\r\n', '\n'), 'refused'],
  ['carriage returns alone', get().replaceAll('\r\n', '\r'), 'refused'],
  ['HTTP/1.0 without Host', 'GET /v1/health HTTP/1.0\r\n\r\n', 'plain'],
  [
    'HTTP/1.0 that keeps alive and chunks',
    post('Transfer-Encoding: chunked', 'Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0') + CHUNKED,
    'refused',
  ],
  ['a body where none belongs', get('Content-Length: 5') + 'hello', 'open'],
  ['a body of a HEAD', get('Content-Length: 5').replace('GET', 'HEAD') + 'hello', 'open'],
  ['a request within a body', post(`Content-Length: ${HIDDEN.length}`) + HIDDEN, 'plain'],
  ['a body that ends too early', post('Content-Length: 500') + BODY, 'plain'],
]

/** Status lines of the answer; `HTTP/1.1 100` does not count. */
function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)]
    .map(([, status]) => Number(status))
    .filter((status) => status !== 100)
}

function withKey(text: string): Buffer {
  return Buffer.from(text.replaceAll('KEY', key), 'latin1')
}

for (const [what, bytes, verdict] of CASES) {
  test(`${verdict}: ${what}`, async () => {
    const sent = withKey(bytes + HIDDEN)
    const text = await exchangeRaw(
      port,
      sent,
      verdict === 'open'
        ? { idleMs: 4_000, until: (got) => got.includes(ANSWERED) }
        : { idleMs: verdict === 'refused' ? 4_000 : 400 },
    )
    const [first, ...others] = statuses(text)
    assert.ok(!text.includes('HTTP/1.1 101'), 'no protocol is switched')
    assert.ok(others.every((status) => status < 500) && (first ?? 0) < 500, text.slice(0, 300))
    if (verdict === 'refused') {
      assert.ok(first !== undefined && first >= 400, text.slice(0, 300))
      assert.deepEqual(others, [], text)
      assert.match(text, /connection: close/i)
      assert.match(text, /"error_type":"/)
    }
    assert.equal(
      text.includes(ANSWERED),
      verdict === 'open',
      `what is hidden is ${verdict === 'open' ? 'a request of its own' : 'no request'}: ${text.slice(0, 600)}`,
    )
  })
}

/** Paths are literal: nothing is resolved, decoded or folded before a route is found. */
test('no path but its own reaches a route', async () => {
  for (const path of [
    '//v1/key',
    '//evil.example/v1/key',
    '/v1/../v1/key',
    '/v1/%2e%2e/v1/key',
    '/./v1/key',
    '/v1%2fkey',
    '/v1/key%00',
    '/v1/key/',
    '/V1/KEY',
    '/v1/key;',
    '/v1/key#',
    '/v1/./key',
    '/v1//key',
    '/%76%31/key',
    '/v1/ke%79',
  ]) {
    const text = await exchangeRaw(
      port,
      withKey(head(`GET ${path}`, 'Host: x', 'Authorization: Bearer KEY', 'Connection: close')),
    )
    assert.equal(statuses(text)[0], 404, path)
  }
  const tunnel = await exchangeRaw(port, withKey(head('CONNECT 127.0.0.1:1', 'Host: x') + HIDDEN))
  assert.equal(tunnel, '', 'no tunnel is opened')
})

test('after all of them the server lives, nothing is held, and the books agree', async () => {
  assert.equal((await tollgate.request('GET', '/healthz')).status, 200)
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.equal(body.reserved, 0)
  assert.deepEqual(
    tollgate.logs().filter((line) => line.includes('"bug"')),
    [],
  )
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
})

test('F52: a request id, title and referer never reach a header or a log line raw', async () => {
  const ids = [
    'a b',
    'a\tb',
    '<script>',
    '"',
    "'",
    '\\',
    'é',
    'x'.repeat(129),
    '{}',
    ';',
    'a,b',
    '%0d%0aSet-Cookie: a=b',
    '☃',
    '../..',
    'a\u2028b',
    '\u0085',
  ]
  for (const id of ids) {
    const text = await exchangeRaw(
      port,
      Buffer.concat([
        Buffer.from('GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: '),
        Buffer.from(id),
        Buffer.from(`\r\nX-Title: ${'<img src=x onerror=alert(1)>'}\r\nHTTP-Referer: javascript:alert(1)\r\n\r\n`),
      ]),
    )
    assert.match(text, /^HTTP\/1\.1 200/)
    const shown = /^x-request-id: (.*)$/im.exec(text)?.[1] ?? ''
    assert.match(shown, /^[A-Za-z0-9._:-]{1,128}$/)
    assert.ok(!text.includes('Set-Cookie') && !text.includes('<script>'))
  }
  for (const line of tollgate.logs().filter((entry) => entry.startsWith('{'))) {
    const { request_id: id } = JSON.parse(line)
    assert.match(id, /^[A-Za-z0-9._:-]{1,128}$/)
    assert.ok(!line.includes('onerror') && !line.includes('javascript:'))
  }
})

test('F44: a thousand requests at once on one connection are answered in their order', async () => {
  const wanted = Array.from({ length: 1_000 }, (_value, index) =>
    head('GET /v1/health', 'Host: x', `X-Request-Id: n-${index}`),
  ).join('')
  const text = await exchangeRaw(port, wanted, { idleMs: 3_000, until: (so) => so.includes('x-request-id: n-999\r\n') })
  const seen = [...text.matchAll(/x-request-id: n-(\d+)\r/g)].map(([, index]) => Number(index))
  assert.deepEqual(
    seen,
    Array.from({ length: 1_000 }, (_value, index) => index),
  )
})
