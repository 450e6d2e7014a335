import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { auditClean } from '../harness/api-client.ts'
import { percentile, spread } from '../harness/figures.ts'
import { form, isChaos } from '../harness/form.ts'
import { ask, NodeBench, until } from '../harness/node-bench.ts'
import { paced, patient } from '../harness/patience.ts'
import type { Answer, Tollgate } from '../harness/server.ts'

/** Answers in a sample. */
const ANSWERS = form({ short: 60, long: 400, chaos: 3_000 })
const CLIENTS = 8
/**
 * F4: the allowed growth of p99. With few requests, some of which notice first that Valkey is gone, and on a shared
 * machine it grows more: the short form only requires that each is answered.
 */
const ADDED_MS = form({ short: Number.POSITIVE_INFINITY, long: 100, chaos: 5 })
const PAUSE_MS = 15
/** Another busy program during one of two phases spoils their difference. */
const TRIES = 4

const bench = await NodeBench.start({ valkey: true })
if (bench === null) test.skip('nodes with Valkey: no PostgreSQL or no Valkey on this machine')
else valkeyTests(bench)

function valkeyTests(shared: NodeBench): void {
  describe('nodes with Valkey', async () => {
    /** They wait for Valkey only as long as a server does by default. */
    const valkey = shared.valkey
    assert.ok(valkey)
    const catalog =
      'rate_limit: { requests: 100000, window: 60 }\nip_block: { failures: 20, window: 60, duration: 600 }'
    const pair = async (isHasty: boolean): Promise<readonly [Tollgate, Tollgate]> => {
      const database = await shared.newDatabase()
      return [await shared.node(database, { catalog, hasty: isHasty }), await shared.node(database, { hasty: isHasty })]
    }
    const nodes = await pair(false)
    const hasty = await pair(true)
    after(() => shared.stop())

    test('a rate limit is exact over nodes, and the three headers are right on every response', async () => {
      await exactWindow(nodes)
    })

    test('accepted requests outlive a flush: each node reports its window again', async () => {
      const limit = 20
      const { key } = await nodes[0].createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
      const used = await models(nodes, key, limit - 4)
      assert.equal(accepted(used), limit - 4)
      await valkey.command('FLUSHALL')
      // Each node has reported what it had accepted with its first request after the flush; before that the other could
      // not count it.
      const later = await models(nodes, key, limit)
      assert.ok(accepted(later) >= 4 && accepted(later) <= 4 + limit / 2, String(accepted(later)))
      assert.equal(accepted(await models(nodes, key, 4)), 0)
    })

    test('F4, R6: Valkey killed, back, frozen, thawed and flushed under load: every paid request is answered, and hardly later', async (context) => {
      const { id, key } = await hasty[0].createAccount({ balance: 10_000 })
      const load = new Load(hasty, key)
      const sample = async (what: string): Promise<number> => {
        const from = load.answers.length
        await until(120_000, `${what}: requests flow`, async () => load.answers.length >= from + ANSWERS)
        const some = load.answers.slice(from)
        const failed = some.filter(({ status }) => status !== 200)
        assert.deepEqual(
          [...new Set(failed.filter(({ text }) => !text.includes('"service_unavailable"')).map(({ text }) => text))],
          [],
          `${what}: ${hasty.flatMap((node) => node.logs().filter((line) => line.includes('"level":50'))).join('\n')}`,
        )
        // A slow store, or a node that sheds, is due to the machine, not to Valkey.
        assert.ok(failed.length < some.length, `${what}: every request was refused`)
        const times = load.times.slice(from).filter((_ms, index) => some[index]?.status === 200)
        context.diagnostic(`${what}: ${spread(times)}, ${failed.length} refused by a busy node`)
        return percentile(times, 0.99)
      }
      /** The growth of p99 over the phase before. */
      const during = async (what: string, change: () => Promise<void> | void): Promise<number> => {
        // Without a bound on the times, nothing is compared.
        const before = Number.isFinite(ADDED_MS) ? await sample('before') : 0
        await change()
        // The measurement before the change shows how busy the machine is.
        return (await sample(what)) - (isChaos ? before : 2 * before)
      }
      const gains = async (): Promise<number[]> => [
        await during('killed', () => valkey.kill()),
        await during('started again, empty', () => valkey.start()),
        await during('frozen', () => valkey.freeze()),
        await during('thawed', () => valkey.thaw()),
        await during('flushed', async () => void (await valkey.command('FLUSHALL'))),
      ]
      let best: readonly number[] = []
      try {
        for (let tries = 0; tries < TRIES && (best.length === 0 || Math.max(...best) > ADDED_MS); tries += 1) {
          best = (await gains()).map((gain, index) => Math.min(gain, best[index] ?? gain))
        }
      } finally {
        await load.stop()
      }
      context.diagnostic(
        `p99 gained at most ${Math.max(...best).toFixed(1)} ms; ${load.answers.length} paid requests, none failed by Valkey`,
      )
      assert.ok(Math.max(...best) <= patient(ADDED_MS), String(best))
      const { body } = await hasty[1].admin('GET', `/admin/v1/accounts/${id}`)
      const charged = load.answers
        .filter(({ status }) => status === 200)
        .reduce((sum, { body: answer }) => sum + Math.round(answer.usage.cost * 1e6), 0)
      assert.deepEqual([Math.round(body.balance * 1e6), body.reserved], [10_000 * 1e6 - charged, 0])
      await auditClean(hasty[0])
    })

    test('while Valkey is gone a limit lets at most L + N - 1 through; when it is back the limit is exact again and counts the requests accepted meanwhile', async () => {
      const limit = 11
      const { key } = await nodes[0].createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
      const before = nodes.map(returns)
      await valkey.kill()
      await models(nodes, (await nodes[0].createAccount()).key, 12)
      const without = accepted(await models(nodes, key, 2 * limit))
      assert.ok(without >= limit && without <= limit + 1, String(without))
      await valkey.start()
      await until(10_000, 'Valkey answers again', async () =>
        nodes.every((node, index) => returns(node) > (before[index] ?? 0)),
      )
      assert.equal(accepted(await models(nodes, key, 2)), 0, 'the window knows them')
      await exactWindow(nodes)
    })

    test('a node starts and serves where Valkey is not there at all, and says why', async () => {
      const node = await shared.node(await shared.newDatabase(), { env: { VALKEY_URL: 'redis://127.0.0.1:1' } })
      const { key } = await node.createAccount()
      const answer = await ask(node, key, 'words=3')
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['x-ratelimit-remaining'], '299')
      await until(10_000, 'it says so', () =>
        Promise.resolve(node.logs().some((line) => line.includes('Valkey does not answer (connect ECONNREFUSED'))),
      )
    })

    test('an address is blocked after 20 failures on all nodes together, but for keys that had proved themselves there', async () => {
      const known = await nodes[0].createAccount()
      assert.equal((await nodes[0].get('/v1/models', known.key)).status, 200)
      const strangers = (): Promise<readonly Answer[]> =>
        Promise.all(
          Array.from({ length: 30 }, (_, index) => (nodes[index % 2] ?? nodes[0]).request('GET', '/v1/models')),
        )
      const attempts = await strangers()
      assert.equal(attempts.filter(({ status }) => status === 401).length, 20)
      assert.equal(attempts.filter(({ status }) => status === 429).length, 10)
      const fresh = await nodes[0].createAccount()
      for (const node of nodes) {
        assert.equal((await node.get('/v1/models', fresh.key)).status, 429, 'a key that never worked from there')
        assert.equal((await node.get('/v1/models', known.key)).status, 200, 'a key that worked from there')
      }
      await unblocked(nodes)
    })

    test('a block whose beginning no node has heard of, since Valkey answered too late, is shown and lifted on every node', async () => {
      await valkey.command('SET', 'tollgate:block:{127.0.0.1}', '1', 'PX', '600000')
      const { key } = await nodes[0].createAccount()
      assert.equal((await nodes[1].get('/v1/models', key)).status, 429)
      await until(
        20_000,
        'the other node shows the block',
        async () => (await nodes[0].admin('GET', '/admin/v1/ip-blocks')).body.total === 1,
      )
      await unblocked(nodes)
    })

    test('a block that another node has just begun stops a key at its first use; while Valkey hangs each node counts for itself', async () => {
      for (let count = 0; count < 20; count += 1) await nodes[0].request('GET', '/v1/models')
      const fresh = await nodes[0].createAccount()
      assert.equal(
        (await nodes[1].get('/v1/models', fresh.key)).status,
        429,
        'before the node has heard of it by the database',
      )
      await unblocked(nodes)
      await valkey.freeze()
      for (const node of hasty) assert.equal((await node.request('GET', '/v1/models')).status, 401)
      await valkey.thaw()
    })
  })
}

/** One node lifts the block: the other is told, and the shared count starts again. */
async function unblocked(nodes: readonly [Tollgate, Tollgate]): Promise<void> {
  const lift = async (): Promise<void> => {
    const { body } = await nodes[0].admin('GET', '/admin/v1/ip-blocks')
    for (const { ip } of body.data) await nodes[0].admin('DELETE', `/admin/v1/ip-blocks/${encodeURIComponent(ip)}`)
  }
  await lift()
  for (const node of nodes)
    await until(10_000, 'the end of the block', async () => {
      // A stranger's check would count as a failure, and leave the next round two fewer.
      const { key } = await nodes[0].createAccount()
      if ((await node.get('/v1/models', key)).status === 200) return true
      // A node whose Valkey answered too late may start its own block a moment after the other lifted it.
      await lift()
      return false
    })
}

async function exactWindow(nodes: readonly [Tollgate, Tollgate]): Promise<void> {
  const limit = 25
  const { key } = await nodes[0].createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
  const answers = await models(nodes, key, 40)
  assert.equal(accepted(answers), limit)
  const left = answers
    .filter(({ status }) => status === 200)
    .map(({ headers }) => Number(headers['x-ratelimit-remaining']))
  assert.deepEqual(
    left.toSorted((a, b) => a - b),
    Array.from({ length: limit }, (_, index) => index),
    'each accepted request has its own place',
  )
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
  const one = (index: number): Promise<Answer> => (nodes[index % 2] ?? nodes[0]).get('/v1/models', key)
  const answers: Answer[] = []
  while (answers.length < count / 2) answers.push(await one(answers.length))
  return [
    ...answers,
    ...(await Promise.all(Array.from({ length: count - answers.length }, (_, index) => one(answers.length + index)))),
  ]
}

function accepted(answers: readonly Answer[]): number {
  return answers.filter(({ status }) => status === 200).length
}

/** Paid requests on both nodes, with short pauses: at its peak a node would show only its queue. */
class Load {
  readonly answers: Answer[] = []
  /** Duration of each, ms. */
  readonly times: number[] = []
  readonly #clients: Promise<void>[]
  #stopped = false

  constructor(nodes: readonly [Tollgate, Tollgate], key: string) {
    this.#clients = Array.from({ length: CLIENTS }, async (_, index) => {
      while (!this.#stopped) {
        const startedMs = performance.now()
        this.answers.push(await ask(nodes[index % 2] ?? nodes[0], key, 'words=3'))
        this.times.push(performance.now() - startedMs)
        await paced(PAUSE_MS, 'the pace of a client')
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
  }
}
