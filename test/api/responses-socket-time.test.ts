import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway, movingGateway } from '../harness/gateway.ts'
import { paced, until } from '../harness/patience.ts'
import { TurnClient } from '../harness/turn-client.ts'
import { freshFolder } from '../harness/lasting.ts'

const CATALOG = `
markup: 1
providers: { sandbox: { name: Sandbox, adapter: sandbox, cancel_stops_billing: true } }
models: [{ id: test/sandbox, type: chat, context_length: 128000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }]
`

const server = await movingGateway({ catalog: CATALOG })

async function open(options: { readonly autoPong?: boolean } = {}): Promise<{ client: TurnClient; key: string }> {
  const { key } = await server.createAccount({ balance: 10_000 })
  return { client: await TurnClient.open(server.url, { authorization: `Bearer ${key}` }, options), key }
}

/** Pings and their answers are sent between two steps; `client` = one that answers them. */
async function pass(seconds: number, client: TurnClient | null = null): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 10) {
    server.clock.advance(10_000)
    await paced(2, 'pings and pongs know real time only')
    await client?.heard()
  }
}

test('an idle socket lives while it answers pings, and ends after an hour in the words that clients know', async () => {
  const { client } = await open()
  assert.equal((await client.turn({ input: 'x' })).at(-1).type, 'response.completed')
  await pass(3_000, client)
  assert.equal((await client.turn({ input: 'x' })).at(-1).type, 'response.completed')
  await pass(660, client)
  const end = await client.next()
  assert.deepEqual([end.type, end.status, end.error.code], ['error', 400, 'websocket_connection_limit_reached'])
  assert.equal(await client.closed, 1_000)
})

test('a turn that runs at the end of the hour is answered first', async () => {
  const { client } = await open()
  await pass(3_590, client)
  client.send({ input: 'sandbox: words=5 gap_ms=4000' })
  await client.next()
  await pass(60, client)
  assert.equal((await client.rest()).at(-1).type, 'response.completed')
  assert.equal((await client.next()).error.code, 'websocket_connection_limit_reached')
  assert.equal(await client.closed, 1_000)
})

test('a client that does not answer pings, or stops inside a message, is let go', async () => {
  const { client: silent } = await open({ autoPong: false })
  await pass(50)
  assert.equal(await silent.closed, 1_006)
  const { client: slow } = await open()
  slow.socket.send('{"type":', { fin: false })
  await pass(150)
  assert.equal(await slow.closed, 1_006)
  await until(5_000, 'no bytes are held', () => server.app.edge.bodyBytes === 0)
})

test('a client that stops reading pauses its answer, is cut within a minute, and pays', async () => {
  const { client, key } = await open()
  client.send({ input: 'sandbox: words=100000', max_output_tokens: 120_000 })
  await client.next()
  client.socket.pause()
  await pass(20)
  // Without a pause the sandbox would have said all of it by now.
  assert.equal(server.app.running, 1)
  await pass(50)
  await until(5_000, 'it is settled', () => server.app.running === 0)
  const { body } = await server.get('/v1/generation', key)
  assert.equal(body.logs[0].status, 'cancelled')
  assert.ok(body.logs[0].total_cost > 0)
  client.socket.terminate()
})

test('a shutdown closes idle sockets and lets a running turn end', async () => {
  const dataDir = freshFolder()
  const own = await gateway({ catalog: CATALOG, dataDir })
  const { key } = await own.createAccount()
  const clients = [0, 1].map(() => TurnClient.open(own.url, { authorization: `Bearer ${key}` }))
  const [idle, busy] = await Promise.all(clients)
  busy?.send({ input: 'sandbox: words=10 gap_ms=20' })
  assert.equal((await busy?.next())?.type, 'response.created')
  busy?.send({ input: 'never' })
  const stopped = own.app.stop()
  assert.equal(await idle?.closed, 1_001)
  assert.equal((await busy?.rest())?.at(-1)?.type, 'response.completed')
  assert.equal(await busy?.closed, 1_001)
  await stopped
})
