import assert from 'node:assert/strict'
import { test } from 'node:test'
import { form } from '../../harness/form.ts'
import { until } from '../../harness/patience.ts'
import { startTollgate, type Answer } from '../../harness/server.ts'
import { auditClean } from '../../harness/api-client.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROUNDS = form({ short: 1, long: 4 })
const CLIENTS = form({ short: 4, long: 8 })
const ANSWERS = 8 * CLIENTS
const FAST = { rate_limit: { requests: 100_000, window: 60 } }

test('kill -9 with kept answers: each is there and charged once, or failed and free', async () => {
  const dataDir = freshFolder()
  let tollgate = await startTollgate({ dataDir })
  try {
    const { id: account, key } = await tollgate.createAccount({ balance: 10_000, account: FAST })
    const ids: string[] = []
    const load = { on: true }
    const ask = async (number: number, turn: number): Promise<void> => {
      const answer = await tollgate
        .post('/v1/responses', key, {
          model: 'sandbox/chat',
          input: `sandbox: words=${1 + ((number + turn) % 30)} delay_ms=${(number * turn) % 40}`,
          max_output_tokens: 64,
          ...(turn % 3 === 0 ? { store: true } : { background: true }),
        })
        .catch(() => null)
      if (answer?.status === 200) ids.push(answer.body.id)
    }
    const clients = Array.from({ length: CLIENTS }, async (_value, number) => {
      for (let turn = 0; load.on; turn += 1) await ask(number, turn)
    })
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = ids.length
      await until(30_000, 'answers are under way', () => ids.length >= before + ANSWERS)
      await tollgate.kill('SIGKILL')
      tollgate = await startTollgate({ dataDir })
    }
    load.on = false
    await Promise.all(clients)

    const read = (id: string): Promise<Answer> => tollgate.get(`/v1/responses/${id}`, key)
    const isOver = async (id: string): Promise<boolean> => (await read(id)).body.status !== 'in_progress'
    for (const id of ids) await until(20_000, `${id} is over`, () => isOver(id))
    const charged = new Map<string, number>()
    for (let offset = 0, more = true; more; offset += 1_000) {
      const { body } = await tollgate.admin(
        'GET',
        `/admin/v1/generations?account=${account}&limit=1000&offset=${offset}`,
      )
      for (const row of body.data) if (row.total_cost > 0) charged.set(row.generation_id, row.total_cost)
      more = body.data.length === 1_000
    }
    const ends = { completed: 0, failed: 0 }
    for (const id of ids) {
      const { status, body } = await read(id)
      assert.equal(status, 200, id)
      const cost = charged.get(id.replace('resp-', 'gen-'))
      if (body.status === 'completed') assert.equal(body.usage.cost, cost, `${id} says what it cost`)
      else assert.deepEqual([body.status, cost], ['failed', undefined], `${id} has no answer and costs nothing`)
      ends[body.status as keyof typeof ends] += 1
    }
    assert.ok(ends.completed > CLIENTS, JSON.stringify(ends))
    // Whatever was charged is there to be read, also where its client was told nothing.
    for (const generation of charged.keys())
      assert.equal((await read(generation)).body.status, 'completed', `${generation} was charged`)
    await auditClean(tollgate)
  } finally {
    await tollgate.stop()
  }
})
