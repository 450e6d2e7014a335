import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { TurnClient } from '../../harness/turn-client.ts'
import { auditClean } from '../../harness/api-client.ts'
import { freshFolder } from '../../harness/lasting.ts'

const SOCKETS = 6
const MODEL = 'sandbox/chat'

test('kill -9 under turns of sockets: what had ended is charged once, what ran is free, no hold is left', async () => {
  const dataDir = freshFolder()
  let tollgate = await startTollgate({ dataDir })
  try {
    const { id: account, key } = await tollgate.createAccount()
    const clients = await Promise.all(
      Array.from({ length: SOCKETS }, () => TurnClient.open(tollgate.url, { authorization: `Bearer ${key}` })),
    )
    const ended = new Map<string, number>()
    for (const client of clients) {
      const { response } = (await client.turn({ model: MODEL, input: 'Hello' })).at(-1)
      ended.set(response.id.replace('resp-', 'gen-'), response.usage.cost)
    }
    const running = await Promise.all(
      clients.map(async (client) => {
        client.send({ model: MODEL, input: 'sandbox: words=2000 gap_ms=20' })
        let event = await client.next()
        const { id } = event.response
        while (event.type !== 'response.output_text.delta') event = await client.next()
        return String(id)
      }),
    )
    await tollgate.kill('SIGKILL')
    for (const client of clients) assert.equal(await client.closed, 1_006, 'the socket breaks, and is not closed')
    tollgate = await startTollgate({ dataDir })
    const reserved = async (): Promise<number> =>
      (await tollgate.admin('GET', `/admin/v1/accounts/${account}`)).body.reserved
    await until(20_000, 'no hold is left', async () => (await reserved()) === 0)
    const { data } = (await tollgate.admin('GET', `/admin/v1/generations?account=${account}&limit=100`)).body
    const charged = new Map<string, number>()
    for (const row of data) if (row.total_cost > 0) charged.set(row.generation_id, row.total_cost)
    // Maps are equal in any order.
    assert.deepEqual(charged, ended)
    // A client goes on with a new socket, and sends the whole conversation.
    const again = await TurnClient.open(tollgate.url, { authorization: `Bearer ${key}` })
    const lost = (await again.turn({ model: MODEL, input: 'x', previous_response_id: running[0] })).at(-1)
    assert.deepEqual([lost.status, lost.error.code], [400, 'previous_response_not_found'])
    assert.equal((await again.turn({ model: MODEL, input: 'x' })).at(-1).type, 'response.completed')
    again.socket.close()
    await auditClean(tollgate)
  } finally {
    await tollgate.stop()
  }
})
