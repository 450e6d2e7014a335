import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { form } from '../../harness/form.ts'
import type { Answer } from '../../harness/gateway.ts'
import { paced, patient, until } from '../../harness/patience.ts'
import { frame, RawSocket, TurnClient } from '../../harness/turn-client.ts'
import { key, serveResponses, tollgate } from '../../harness/responses-world.ts'
import { Random } from '../../sim/random.ts'

await serveResponses()

const open = (as: string): Promise<TurnClient> => TurnClient.open(tollgate.url, { authorization: `Bearer ${as}` })
const TURN = Buffer.from(JSON.stringify({ type: 'response.create', model: 'test/sandbox', input: 'x' }))
type Account = Awaited<ReturnType<typeof tollgate.createAccount>>

async function heldOf(id: string): Promise<number> {
  return (await tollgate.admin('GET', `/admin/v1/accounts/${id}`)).body.reserved
}

/** What is changed while a socket is open; its next turn must be refused, and the one after it answered again. */
const CHANGES: Readonly<
  Record<string, readonly [change: object | null, of: 'keys' | 'accounts', status: number, code: string, undo: object]>
> = {
  'the key is switched off': [{ disabled: true }, 'keys', 403, 'key_deactivated', { disabled: false }],
  'the key has expired': [{ expires_at: '2020-01-01T00:00:00Z' }, 'keys', 401, 'key_expired', { expires_at: null }],
  'the key may not be used from here': [
    { allowed_ips: ['203.0.113.9'] },
    'keys',
    403,
    'access_denied',
    { allowed_ips: null },
  ],
  'the key may not use the model': [
    { allowed_models: ['a/b'] },
    'keys',
    403,
    'access_denied',
    { allowed_models: null },
  ],
  'the key has spent its limit': [{ limit: 0.000001 }, 'keys', 429, 'insufficient_quota', { limit: null }],
  'the key has used its requests': [
    { requests_per_minute: 1 },
    'keys',
    429,
    'rate_limit_exceeded',
    { requests_per_minute: null },
  ],
  'the key has used its tokens': [
    { tokens_per_minute: 1 },
    'keys',
    429,
    'rate_limit_exceeded',
    { tokens_per_minute: null },
  ],
  'the model has used its requests': [
    { model_limits: { 'test/*': { requests_per_minute: 1 } } },
    'keys',
    429,
    'rate_limit_exceeded',
    { model_limits: null },
  ],
  'the account is deactivated': [
    { status: 'deactivated' },
    'accounts',
    403,
    'account_deactivated',
    { status: 'active' },
  ],
  'the account is locked': [{ status: 'locked' }, 'accounts', 403, 'api_locked', { status: 'active' }],
}

for (const [what, [change, of, status, code, undo]] of Object.entries(CHANGES))
  test(`${what} while its socket is open: the next turn is refused, holds nothing, and the socket lives on`, async () => {
    const account = await tollgate.createAccount()
    const patch = (body: object | null): Promise<Answer> =>
      tollgate.admin('PATCH', `/admin/v1/${of}/${of === 'keys' ? account.keyId : account.id}`, body)
    const client = await open(account.key)
    assert.equal((await client.turn({ input: 'x' })).at(-1).type, 'response.completed')
    assert.equal((await patch(change)).status, 200)
    // A limit counts from when it is set.
    if (code === 'rate_limit_exceeded')
      assert.equal((await client.turn({ input: 'x' })).at(-1).type, 'response.completed')
    const refused = await client.turn({ input: 'x' })
    assert.deepEqual(
      [refused.length, refused[0].type, refused[0].status, refused[0].error.code],
      [1, 'error', status, code],
      JSON.stringify(refused),
    )
    if (code === 'rate_limit_exceeded') assert.ok(Number(refused[0].headers['retry-after']) > 0)
    assert.equal(await heldOf(account.id), 0)
    assert.equal((await patch(undo)).status, 200)
    assert.equal((await client.turn({ input: 'x' })).at(-1).type, 'response.completed')
    client.socket.close()
  })

test('a turn takes one of the places of its key, and gives it back', async () => {
  const account = await tollgate.createAccount({ key: { running_requests: 1 } })
  const [first, second] = [await open(account.key), await open(account.key)]
  first.send({ input: 'sandbox: words=400 gap_ms=20' })
  await first.next()
  const refused = (await second.turn({ input: 'x' })).at(-1)
  assert.deepEqual([refused.status, refused.error.code], [429, 'rate_limit_exceeded'])
  first.socket.close()
  await until(
    10_000,
    'its place is free',
    async () => (await second.turn({ input: 'x' })).at(-1).type === 'response.completed',
  )
  second.socket.close()
})

test('a close frame in the middle of a turn: what came is charged, and nothing after it is answered', async () => {
  const account = await tollgate.createAccount()
  const raw = await RawSocket.open(tollgate.url, account.key)
  const input = 'sandbox: words=400 gap_ms=20'
  raw.send(frame(0x81, Buffer.from(JSON.stringify({ type: 'response.create', model: 'test/sandbox', input }))))
  await until(5_000, 'it answers', () => raw.texts.includes('output_text.delta'))
  raw.send(frame(0x88, Buffer.from([0x03, 0xe8])), frame(0x81, TURN), frame(0x81, TURN))
  assert.equal(await raw.closed, 1_000)
  const rows = async (): Promise<Record<string, unknown>[]> =>
    (await tollgate.get('/v1/generation', account.key)).body.logs
  await until(5_000, 'it is settled', async () => (await rows()).length > 0 && (await heldOf(account.id)) === 0)
  const [row, ...others] = await rows()
  assert.deepEqual([row?.['status'], others.length], ['cancelled', 0])
  assert.ok(Number(row?.['total_cost']) > 0 && Number(row?.['output_tokens']) < 200)
})

test('compression is not agreed to, and what looks compressed is refused', async () => {
  const offered = 'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n'
  const raw = await RawSocket.open(tollgate.url, key, offered)
  assert.doesNotMatch(raw.head, /permessage-deflate/i)
  raw.send(frame(0xc1, TURN))
  assert.equal(await raw.closed, 1_002)
})

const text = (value: string): Buffer => Buffer.from(value)
const CLOSING: Readonly<Record<string, readonly [frames: readonly Buffer[], code: number]>> = {
  'a text before the end of another': [[frame(0x01, text('{')), frame(0x81, text('}'))], 1_002],
  'a close without a whole code': [[frame(0x88, Buffer.from([3]))], 1_002],
  'a close with a code that is none': [[frame(0x88, Buffer.from([0x03, 0xed]))], 1_002],
  'a close whose reason is no UTF-8': [[frame(0x88, Buffer.from([0x03, 0xe8, 0xff, 0xfe]))], 1_007],
  'a ping that is too long': [[frame(0x89, Buffer.alloc(126))], 1_002],
  'a close that is too long': [[frame(0x88, Buffer.alloc(126))], 1_002],
  'UTF-8 that is cut at the end of a message': [
    [frame(0x01, text('{"a":"')), frame(0x80, Buffer.from([0xe2, 0x82]))],
    1_007,
  ],
  'pieces that announce more than a message may have': [
    [frame(0x01, Buffer.alloc(1_000, 0x20)), frame(0x80, Buffer.alloc(100), { length: 10 * 1_048_576 })],
    1_009,
  ],
  'a message in more pieces than any client makes': [
    [frame(0x01, text('{')), ...Array.from({ length: 17_000 }, () => frame(0x00, text(' ')))],
    1_008,
  ],
  'empty pieces without end': [
    [frame(0x01, text('{')), ...Array.from({ length: 17_000 }, () => frame(0x00, text('')))],
    1_008,
  ],
}

for (const [what, [frames, code]] of Object.entries(CLOSING))
  test(`${what}: the socket closes with ${code}`, async () => {
    const raw = await RawSocket.open(tollgate.url, key)
    raw.send(...frames)
    assert.equal(await raw.closed, code)
  })

const SOCKETS = form({ short: 60, long: 2_000 })

test('random frames: no bug, no stall, no bytes kept, and the books agree', async (context) => {
  const random = new Random(form({ short: 1, long: 2 }))
  const account: Account = await tollgate.createAccount({ account: { rate_limit: { requests: 100_000, window: 60 } } })
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  let sent = 0
  for (let count = 0; count < SOCKETS; count += 1) {
    const raw = await RawSocket.open(tollgate.url, account.key)
    for (let frames = 1 + random.below(12); frames > 0; frames -= 1) {
      sent += 1
      raw.send(randomFrame(random))
    }
    if (random.chance(0.3)) raw.socket.destroy()
    else raw.send(frame(0x88, Buffer.from([0x03, 0xe8])))
    // A frame that announces more than comes waits for the rest.
    const slow = paced(100, 'the rest of a frame never comes').then(() => raw.socket.destroy())
    await raw.closed
    await slow
  }
  delay.disable()
  context.diagnostic(`${SOCKETS} sockets, ${sent} frames, longest stall ${Math.round(delay.max / 1e6)} ms`)
  assert.ok(delay.max / 1e6 < patient(500))
  await until(10_000, 'no bytes are held', () => tollgate.app.edge.bodyBytes === 0)
  await until(10_000, 'no money is held', async () => (await heldOf(account.id)) === 0)
  assert.deepEqual(tollgate.bugs(), [])
})

function randomFrame(random: Random): Buffer {
  const payload = random.pick([
    TURN,
    Buffer.alloc(0),
    text('{}'),
    text('[[['),
    text('{"type":"response.create","input":"\\ud800"}'),
    text(JSON.stringify({ type: 'response.create', model: 'test/sandbox', generate: false, input: 'x' })),
    text(
      JSON.stringify({ type: 'response.create', model: 'test/sandbox', input: 'x', previous_response_id: 'resp-none' }),
    ),
    Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256))),
    Buffer.alloc(random.below(100_000), 0x20),
  ])
  const first = random.chance(0.6) ? 0x81 : random.below(256)
  if (random.chance(0.9)) return frame(first, payload, { masked: random.chance(0.95) })
  return frame(first, payload, { length: random.pick([0, payload.length + 1, 126, 65_536, 1 << 30]) })
}
