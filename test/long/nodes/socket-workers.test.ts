import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { NodeBench, until } from '../../harness/node-bench.ts'
import { TurnClient } from '../../harness/turn-client.ts'

const MODEL = 'sandbox/chat'
const WORKERS = 2
const SOCKETS = 8
const TURNS = 3

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('sockets of several workers: no PostgreSQL on this machine')
else socketTests(bench)

function socketTests(shared: NodeBench): void {
  after(() => shared.stop())

  test('turns of sockets at several workers: ended or abandoned, each hold ends exactly once', async () => {
    const tollgate = await shared.node(await shared.newDatabase(), { env: { TOLLGATE_WORKERS: String(WORKERS) } })
    const { id: account, key } = await tollgate.createAccount({
      account: { rate_limit: { requests: 1_000, window: 60 } },
    })
    const clients = await Promise.all(
      Array.from({ length: SOCKETS }, () => TurnClient.open(tollgate.url, { authorization: `Bearer ${key}` })),
    )
    const ended = new Map<string, number>()
    const abandoned = await Promise.all(
      clients.map(async (client) => {
        let previous: string | null = null
        for (let turn = 0; turn < TURNS; turn += 1) {
          const { type, response } = (
            await client.turn({ model: MODEL, input: 'Hello', previous_response_id: previous })
          ).at(-1)
          assert.equal(type, 'response.completed')
          ended.set(response.id.replace('resp-', 'gen-'), response.usage.cost)
          previous = response.id
        }
        client.send({ model: MODEL, input: 'sandbox: words=2000 gap_ms=20', previous_response_id: previous })
        let event = await client.next()
        const id = String(event.response.id).replace('resp-', 'gen-')
        while (event.type !== 'response.output_text.delta') event = await client.next()
        client.socket.terminate()
        await client.closed
        return id
      }),
    )
    const { text } = await tollgate.request('GET', '/metrics?per=worker')
    const busy = [...text.matchAll(/^tollgate_tokens_total\{[^}]*worker="(\d+)"[^}]*\} [1-9]/gm)].map(([, pid]) => pid)
    assert.equal(new Set(busy).size, WORKERS, text)
    const state = async (): Promise<{ reserved: number; balance: number }> =>
      (await tollgate.admin('GET', `/admin/v1/accounts/${account}`)).body
    await until(30_000, 'no hold is left', async () => (await state()).reserved === 0)
    const { data } = (await tollgate.admin('GET', `/admin/v1/generations?account=${account}&limit=100`)).body
    const rows: readonly { generation_id: string; total_cost: number; status: string }[] = data
    assert.equal(rows.length, SOCKETS * (TURNS + 1))
    const charged = new Map(rows.map((row) => [row.generation_id, row]))
    assert.equal(charged.size, rows.length, 'each once')
    for (const [id, cost] of ended)
      assert.partialDeepStrictEqual(charged.get(id), { status: 'completed', total_cost: cost })
    for (const id of abandoned) assert.partialDeepStrictEqual(charged.get(id), { status: 'cancelled' })
    const micro = (rubles: number): number => Math.round(rubles * 1e6)
    const spent = rows.reduce((sum, { total_cost: cost }) => sum + micro(cost), 0)
    assert.equal(micro(100) - micro((await state()).balance), spent)
  })
}
