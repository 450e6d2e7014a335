import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { request } from 'undici'
import { ask, NodeBench, until } from '../../harness/node-bench.ts'
import { admitted, patient } from '../../harness/patience.ts'
import type { Answer, Tollgate } from '../../harness/server.ts'

/** Their keys are in all three shards. */
const ACCOUNTS = 9
/** Shorter than the wait for nodes that do not answer. */
const SOON_MS = 3_000

const bench = await NodeBench.start({ valkey: 'cluster' })
if (bench === null) test.skip('nodes with a Valkey cluster: no PostgreSQL or no Valkey on this machine')
else clusterTests(bench)

function clusterTests(shared: NodeBench): void {
  describe('nodes with a Valkey cluster of three shards', async () => {
    const nodes = await shared.pair(await shared.newDatabase())
    after(() => shared.stop())

    const each = (key: string, count: number): Promise<readonly Answer[]> =>
      Promise.all(
        Array.from({ length: count }, (_, index) => admitted(() => ask(nodes[index % 2] ?? nodes[0], key, 'words=1'))),
      )

    test('the windows of accounts and the limits of keys are exact over nodes, in whichever shard', async () => {
      for (let index = 0; index < ACCOUNTS; index += 1) {
        const account = { rate_limit: { requests: 5, window: 600 } }
        const limited = await nodes[0].createAccount(
          index % 2 === 0 ? { account } : { key: { requests_per_minute: 5 } },
        )
        const answers = await each(limited.key, 12)
        assert.equal(answers.filter(({ status }) => status === 200).length, 5, said(answers))
        assert.ok(
          answers.every(({ status }) => status === 200 || status === 429),
          said(answers),
        )
      }
    })

    test('the data of an account, of an API key and of a stream hash together, and every shard has some', async () => {
      const named: (readonly [string, number])[] = []
      const streams: Promise<unknown>[] = []
      const stop = new AbortController()
      for (let index = 0; index < ACCOUNTS; index += 1) {
        const { id, key, keyId } = await nodes[0].createAccount({
          account: { rate_limit: { requests: 100, window: 600 } },
          key: { requests_per_minute: 100, running_requests: 5 },
        })
        const { headers, body } = await streamed(nodes[0], key, stop.signal)
        streams.push(body.text().catch(() => ''))
        named.push([id, 1], [keyId, 2], [String(headers['x-generation-id']), 2])
      }
      const held = async (): Promise<readonly (readonly number[])[]> => {
        const shards = (await shared.valkey?.names()) ?? []
        return named.map(([id]) => shards.map((names) => names.filter((name) => name.includes(id)).length))
      }
      // A copy is written some milliseconds after its events.
      await until(10_000, 'everybody has data', async () =>
        (await held()).every((counts, index) => sum(counts) === named[index]?.[1]),
      )
      for (const [index, counts] of (await held()).entries())
        assert.equal(counts.filter((count) => count > 0).length, 1, `${named[index]?.[0]}: ${counts.join(', ')}`)
      assert.ok(((await shared.valkey?.names()) ?? []).every((names) => names.length > 0))
      stop.abort()
      await Promise.all(streams)
    })

    test('a stream is cancelled from the other node, and one that nobody has is unknown at once', async () => {
      const { key } = await nodes[0].createAccount()
      const answer = await streamed(nodes[0], key)
      const ended = answer.body.text().then(
        () => 'ended',
        () => 'broke',
      )
      const id = String(answer.headers['x-generation-id'])
      const cancelled = await nodes[1].request('DELETE', `/v1/streams?id=${id}`, { key })
      assert.equal(cancelled.status, 200, cancelled.text)
      assert.equal(await ended, 'broke')
      const startedMs = performance.now()
      const unknown = await nodes[1].request('DELETE', '/v1/streams?id=gen-never', { key })
      assert.equal(unknown.status, 404)
      assert.ok(performance.now() - startedMs < patient(SOON_MS), 'the cluster counts who heard the question')
    })

    test('a shard that dies costs no paid request, and limits are exact again when it is back', async () => {
      const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => nodes[0].createAccount()))
      await shared.valkey?.kill()
      for (const { key } of accounts) {
        const answers = await each(key, 4)
        assert.ok(
          answers.every(({ status }) => status === 200),
          said(answers),
        )
      }
      await shared.valkey?.start()
      const account = { rate_limit: { requests: 5, window: 600 } }
      await until(30_000, 'each shard is asked again', async () => {
        const exact = await Promise.all(
          Array.from({ length: ACCOUNTS }, async () => {
            const { key } = await nodes[0].createAccount({ account })
            return (await each(key, 12)).filter(({ status }) => status === 200).length === 5
          }),
        )
        return exact.every(Boolean)
      })
    })
  })
}

/** A stream of twenty seconds, at its beginning. */
function streamed(node: Tollgate, key: string, signal?: AbortSignal): ReturnType<typeof request> {
  return request(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': randomUUID() },
    body: JSON.stringify({
      model: 'sandbox/chat',
      stream: true,
      messages: [{ role: 'user', content: 'Hello\nsandbox: words=2000 gap_ms=10' }],
    }),
    ...(signal === undefined ? {} : { signal }),
  })
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

function said(answers: readonly Answer[]): string {
  return answers.map(({ status, text }) => `${status} ${text}`).join('\n')
}
