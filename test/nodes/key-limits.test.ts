import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { ask, NodeBench, until } from '../harness/node-bench.ts'
import type { Answer } from '../harness/server.ts'

const RUNS_MS = 20_000

const bench = await NodeBench.start({ valkey: true })
if (bench === null) test.skip('limits of keys over nodes: no PostgreSQL or no Valkey on this machine')
else limitTests(bench)

function limitTests(shared: NodeBench): void {
  describe('limits of keys over nodes', async () => {
    const nodes = await shared.pair(await shared.newDatabase())
    after(() => shared.stop())

    const each = (key: string, count: number, line = 'words=1'): Promise<readonly Answer[]> =>
      Promise.all(Array.from({ length: count }, (_, index) => ask(nodes[index % 2] ?? nodes[0], key, line)))

    test('requests per minute are counted together, asked at once of both', async () => {
      const { key } = await nodes[0].createAccount({ key: { requests_per_minute: 7 } })
      const answers = await each(key, 20)
      assert.equal(accepted(answers), 7, said(answers))
      for (const { status, headers } of answers)
        if (status === 429) assert.equal(headers['x-ratelimit-remaining-requests'], '0')
    })

    test('tokens that one node reserved and corrected count on the other', async () => {
      const { key } = await nodes[0].createAccount({ key: { tokens_per_minute: 1_000 } })
      const first = await ask(nodes[0], key, 'words=140', { max_tokens: 600 })
      assert.equal(first.status, 200, first.text)
      await until(RUNS_MS, 'the correction is known', async () => {
        const { headers, status, text } = await ask(nodes[1], key, 'words=1', { max_tokens: 10 })
        assert.equal(status, 200, text)
        return Number(headers['x-ratelimit-remaining-tokens']) > 700
      })
      const { status, headers } = await ask(nodes[1], key, 'words=1', { max_tokens: 900 })
      assert.deepEqual([status, headers['x-ratelimit-limit-tokens']], [429, '1000'], 'the first node has used 150')
    })

    const runningOf = (keyId: string): string => `tollgate:key:{${keyId}}:running`
    const runs = (keyId: string): Promise<unknown> =>
      until(RUNS_MS, 'it runs', async () => (await shared.valkey?.command('ZCARD', runningOf(keyId))) === 1)

    test('running requests are counted together, and given back where the answer ends', async () => {
      const { key, keyId } = await nodes[0].createAccount({ key: { running_requests: 1 } })
      const slow = ask(nodes[0], key, 'words=1 delay_ms=2000')
      await runs(keyId)
      const second = await ask(nodes[1], key, 'words=1')
      assert.equal(second.status, 429, second.text)
      assert.match(second.text, /This key may run 1 requests at once/)
      assert.equal((await slow).status, 200)
      await until(RUNS_MS, 'its place is free', async () => (await ask(nodes[1], key, 'words=1')).status === 200)
    })

    test('a node that was killed in the middle of an answer keeps no place longer than its lease', async () => {
      const third = await shared.node(await shared.newDatabase())
      const { key, keyId } = await third.createAccount({ key: { running_requests: 1 } })
      const slow = ask(third, key, 'words=1 delay_ms=30000').catch(() => null)
      await runs(keyId)
      await third.kill('SIGKILL')
      await slow
      const left = Number(await shared.valkey?.command('PTTL', runningOf(keyId)))
      assert.ok(left > 0 && left <= 60_000, String(left))
    })

    test('while Valkey is gone each node keeps to its share, and every request is answered', async () => {
      const { key } = await nodes[0].createAccount({ key: { requests_per_minute: 5 } })
      await shared.valkey?.kill()
      const answers = await each(key, 20)
      assert.ok(accepted(answers) >= 5 && accepted(answers) <= 6, said(answers))
      assert.deepEqual(
        answers.filter(({ status }) => status !== 200 && status !== 429).map(({ text }) => text),
        [],
      )
      await shared.valkey?.start()
    })
  })
}

function accepted(answers: readonly Answer[]): number {
  return answers.filter(({ status }) => status === 200).length
}

function said(answers: readonly Answer[]): string {
  return answers.map(({ status, text }) => `${status} ${text}`).join('\n')
}
