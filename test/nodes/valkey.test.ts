import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { auditClean } from '../harness/audit.ts'
import { ask, NodeBench, until } from '../harness/node-bench.ts'
import type { Answer, Tollgate } from '../harness/server.ts'

const LOAD_MS = 1_500
const CLIENTS = 8

const bench = await NodeBench.start({ valkey: true })
if (bench === null) test.skip('nodes with Valkey: no PostgreSQL or no Valkey on this machine')
else valkeyTests(bench)

function valkeyTests(shared: NodeBench): void {
  describe('nodes with Valkey', () => {
    let nodes: readonly [Tollgate, Tollgate]
    const valkey = shared.valkey
    assert.ok(valkey)
    before(async () => {
      const database = await shared.newDatabase()
      const catalog = 'rate_limit: { requests: 100000, window: 60 }\nip_block: { failures: 20, window: 60, duration: 600 }'
      nodes = [await shared.node(database, { catalog }), await shared.node(database)]
    })
    after(() => shared.stop())

    test('a rate limit is exact over nodes, and the three headers are right on every response', async () => {
      await exactWindow(nodes)
    })

    test('what the nodes accepted outlives a flush: the window is told again', async () => {
      const limit = 20
      const { key } = await nodes[0].createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
      const used = await models(nodes, key, limit - 4)
      assert.equal(accepted(used), limit - 4)
      await valkey.command('FLUSHALL')
      // Each node has told what it had accepted with its first request after the flush; before that the other could not count it.
      const later = await models(nodes, key, limit)
      assert.ok(accepted(later) >= 4 && accepted(later) <= 4 + limit / 2, String(accepted(later)))
      assert.equal(accepted(await models(nodes, key, 4)), 0)
    })

    test('F4: Valkey killed, back, frozen, thawed and flushed under load: every paid request is answered', async () => {
      const { key } = await nodes[0].createAccount({ balance: 1_000 })
      const load = new Load(nodes, key)
      const during = async (what: string, change: () => Promise<void> | void): Promise<void> => {
        await change()
        const from = load.answers.length
        await delay(LOAD_MS)
        const some = load.answers.slice(from)
        assert.ok(some.length > 0, `${what}: requests flow`)
        assert.deepEqual([...new Set(some.filter(({ status }) => status !== 200).map(({ text }) => text))], [], what)
      }
      await during('at first', () => undefined)
      await during('killed', () => valkey.kill())
      await during('started again, empty', () => valkey.start())
      await during('frozen', () => valkey.freeze())
      await during('thawed', () => valkey.thaw())
      await during('flushed', async () => void (await valkey.command('FLUSHALL')))
      await load.stop()
      await auditClean(nodes[0])
    })

    test('while Valkey is gone a limit is at most L + N - 1; when it is back it is exact again, with what was accepted meanwhile', async () => {
      const limit = 11
      const { key } = await nodes[0].createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
      const before = nodes.map(returns)
      await valkey.kill()
      await models(nodes, (await nodes[0].createAccount()).key, 12)
      const without = accepted(await models(nodes, key, 2 * limit))
      assert.ok(without >= limit && without <= limit + 1, String(without))
      await valkey.start()
      await until(10_000, 'Valkey answers again', async () => nodes.every((node, index) => returns(node) > (before[index] ?? 0)))
      assert.equal(accepted(await models(nodes, key, 2)), 0, 'the window knows them')
      await exactWindow(nodes)
    })

    test('a node starts and serves where Valkey is not there at all, and says why', async () => {
      const node = await shared.node(await shared.newDatabase(), { env: { VALKEY_URL: 'redis://127.0.0.1:1' } })
      const { key } = await node.createAccount()
      const answer = await ask(node, key, 'words=3')
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['x-ratelimit-remaining'], '299')
      assert.ok(node.logs().some((line) => line.includes('Valkey does not answer (connect ECONNREFUSED')), node.logs().join('\n'))
    })

    test('an address is blocked after 20 failures on all nodes together, but for keys that had proved themselves there', async () => {
      const known = await nodes[0].createAccount()
      assert.equal((await nodes[0].request('GET', '/v1/models', { key: known.key })).status, 200)
      const attempts = await Promise.all(Array.from({ length: 30 }, (_, index) => (nodes[index % 2] ?? nodes[0]).request('GET', '/v1/models')))
      assert.equal(attempts.filter(({ status }) => status === 401).length, 20)
      assert.equal(attempts.filter(({ status }) => status === 429).length, 10)
      const fresh = await nodes[0].createAccount()
      for (const node of nodes) {
        assert.equal((await node.request('GET', '/v1/models', { key: fresh.key })).status, 429, 'a key that never worked from there')
        assert.equal((await node.request('GET', '/v1/models', { key: known.key })).status, 200, 'a key that worked from there, on any node')
      }
    })
  })
}

async function exactWindow(nodes: readonly [Tollgate, Tollgate]): Promise<void> {
  const limit = 25
  const { key } = await nodes[0].createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
  const answers = await models(nodes, key, 40)
  assert.equal(accepted(answers), limit)
  const left = answers.filter(({ status }) => status === 200).map(({ headers }) => Number(headers['x-ratelimit-remaining']))
  assert.deepEqual(left.toSorted((a, b) => a - b), Array.from({ length: limit }, (_, index) => index), 'each accepted request has its own place')
  const nowSeconds = Date.now() / 1_000
  for (const { status, headers, body } of answers) {
    assert.equal(headers['x-ratelimit-limit'], String(limit))
    const resetIn = Number(headers['x-ratelimit-reset']) - nowSeconds
    assert.ok(resetIn > 580 && resetIn < 620, String(resetIn))
    if (status === 200) continue
    assert.equal(status, 429)
    assert.equal(headers['x-ratelimit-remaining'], '0')
    assert.ok(body.error.retry_after > 580 && body.error.retry_after <= 600, String(body.error.retry_after))
  }
}

function returns(node: Tollgate): number {
  return node.logs().filter((line) => line.includes('Valkey answers again')).length
}

/** Requests on both nodes in turn, half of them at once. */
async function models(nodes: readonly [Tollgate, Tollgate], key: string, count: number): Promise<Answer[]> {
  const one = (index: number): Promise<Answer> => (nodes[index % 2] ?? nodes[0]).request('GET', '/v1/models', { key })
  const answers: Answer[] = []
  while (answers.length < count / 2) answers.push(await one(answers.length))
  return [...answers, ...(await Promise.all(Array.from({ length: count - answers.length }, (_, index) => one(answers.length + index))))]
}

function accepted(answers: readonly Answer[]): number {
  return answers.filter(({ status }) => status === 200).length
}

/** Paid requests without pause on both nodes. */
class Load {
  readonly answers: Answer[] = []
  readonly #clients: Promise<void>[]
  #stopped = false

  constructor(nodes: readonly [Tollgate, Tollgate], key: string) {
    this.#clients = Array.from({ length: CLIENTS }, async (_, index) => {
      while (!this.#stopped) this.answers.push(await ask(nodes[index % 2] ?? nodes[0], key, 'words=3'))
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
  }
}
