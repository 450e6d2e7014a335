import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { patient } from '../../test/harness/patience.ts'
import { bugs, newEdge } from './server-fixture.ts'

/** On a busy machine, bodies of 10 MB need more time than the limits of the other tests allow. */
const PATIENT = { timeouts: { headers: 60_000, request: 60_000, upload: 60_000, check: 1_000 } }

const patientEdge = newEdge(PATIENT)
let port = 0
;({ port } = await patientEdge.listen('127.0.0.1', 0))
after(() => patientEdge.close(1_000))

const HEADERS = { authorization: 'Bearer good', 'content-type': 'application/json' }
const CODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gzipSync(bytes),
  'x-gzip': (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  Deflate: (bytes) => deflateRawSync(bytes),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }),
  zstd: (bytes) => zstdCompressSync(bytes),
}

interface Answered {
  readonly status: number
  readonly error: { readonly message: string; readonly type: string } | null
}

/** Sends the body in pieces, as over a slow line. */
function send(coding: string, body: Buffer, pieceBytes = body.length, at = port): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        port: at,
        path: '/v1/echo',
        method: 'POST',
        headers: { ...HEADERS, 'content-encoding': coding },
        timeout: patient(20_000),
      },
      (response) => void answered(response).then(resolve, reject),
    )
    // A refusal may close the connection while the rest is being written.
    sent.on('error', reject)
    for (let from = 0; from < body.length; from += pieceBytes) sent.write(body.subarray(from, from + pieceBytes))
    sent.end()
  })
}

async function answered(response: IncomingMessage): Promise<Answered> {
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part)
  const { error } = JSON.parse(Buffer.concat(parts).toString()) as {
    error?: { message: string; metadata: { error_type: string } }
  }
  return {
    status: response.statusCode ?? 0,
    error: error === undefined ? null : { message: error.message, type: error.metadata.error_type },
  }
}

/** A JSON body of this length, with text that hardly repeats. */
function jsonOf(bytes: number): Buffer {
  let state = 7
  const letters = Buffer.alloc(bytes, 0x61)
  for (let at = 0; at < bytes; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    letters[at] = 0x61 + ((state >>> 16) % 26)
  }
  letters.write('{"a":"', 0)
  letters.write('"}', bytes - 2)
  return letters
}

test('a body may come in each coding, whole or in pieces', async () => {
  const body = jsonOf(300_000)
  for (const [coding, code] of Object.entries(CODERS)) {
    const coded = code(body)
    assert.deepEqual([coding, await send(coding, coded)], [coding, { status: 200, error: null }])
    assert.deepEqual([coding, await send(coding, coded, 10_000)], [coding, { status: 200, error: null }])
  }
  assert.equal((await send('identity', Buffer.from('{}'))).status, 200)
  assert.equal((await send('gzip', gzipSync('{}'), 1)).status, 200)
})

test('several codings, and those that nobody decodes, are 415', async () => {
  for (const coding of ['gzip, gzip', 'gzip, br', 'zebra', 'identity, gzip', 'compress']) {
    const { status, error } = await send(coding, gzipSync('{}'))
    assert.deepEqual([status, error?.type], [415, 'unsupported_media_type'], coding)
    assert.match(error?.message ?? '', /one of gzip, deflate, br, zstd and identity/)
  }
})

test('what is not of its coding, is cut or goes on after its end is 400', async () => {
  for (const [coding, code] of Object.entries(CODERS)) {
    const coded = code(jsonOf(20_000))
    const bodies = {
      nonsense: Buffer.from('\x78nonsense'),
      cut: coded.subarray(0, coded.length - 5),
      none: Buffer.alloc(0),
    }
    for (const [what, bytes] of Object.entries(bodies)) {
      const { status, error } = await send(coding, bytes)
      assert.deepEqual([status, error?.type], [400, 'invalid_json'], `${coding}: ${what}`)
    }
  }
  const twice = Buffer.concat([deflateSync('{}'), deflateSync('{}')])
  assert.notEqual((await send('deflate', twice, deflateSync('{}').length)).status, 500)
})

test('what is decoded counts in the budget of the node', async () => {
  const { status, error } = await send('gzip', gzipSync(jsonOf(8_000_000)))
  assert.deepEqual([status, error?.type], [429, 'rate_limit_exceeded'])
})

test('a decoded body is bounded by its size, and a bomb by its ratio as well', async (t) => {
  const edge = newEdge({ ...PATIENT, bodyBudgetBytes: 256_000_000 })
  t.after(() => edge.close(1_000))
  const { port: roomy } = await edge.listen('127.0.0.1', 0)
  const asked = (coding: string, body: Buffer): Promise<Answered> => send(coding, body, body.length, roomy)
  const large = jsonOf(10_485_761)
  for (const coding of ['gzip', 'zstd']) {
    const { status, error } = await asked(coding, CODERS[coding]?.(large) ?? large)
    assert.deepEqual([status, error?.message], [413, 'Payload Too Large: request body exceeds 10 MB'], coding)
  }
  assert.equal((await asked('zstd', zstdCompressSync(jsonOf(9_000_000)))).status, 200)
  const bomb = Buffer.concat([Buffer.from('{'), Buffer.alloc(9_000_000, 0x20), Buffer.from('}')])
  for (const [coding, code] of Object.entries(CODERS)) {
    const { status, error } = await asked(coding, code(bomb))
    assert.equal(status, 413, coding)
    assert.match(error?.message ?? '', /decodes to more than 200 times its \S+ size\. Send it uncompressed$/)
  }
  // Empty blocks, which decode to nothing.
  const empty = Buffer.concat([
    Buffer.from('1f8b0800000000000003', 'hex'),
    Buffer.alloc(10_500_000, Buffer.from('000000ffff', 'hex')),
  ])
  assert.equal((await asked('gzip', empty)).status, 413)
  // A window of 2 GiB, which a decoder would have to allocate.
  const window = Buffer.concat([Buffer.from('28b52ffd', 'hex'), Buffer.from([0x00, 0xa8]), Buffer.alloc(64)])
  assert.equal((await asked('zstd', window)).status, 400)
  assert.deepEqual(bugs, [])
})
