import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { request } from 'undici'
import { foldStream } from '../harness/chat-fold.ts'
import { auditClean } from '../harness/api-client.ts'
import { ask, NodeBench, until } from '../harness/node-bench.ts'
import { admitted } from '../harness/patience.ts'

const WORKERS = 3

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('workers: no PostgreSQL on this machine')
else workerTests(bench)

function workerTests(shared: NodeBench): void {
  describe('workers behind one port', async () => {
    const tollgate = await shared.node(await shared.newDatabase(), { env: { TOLLGATE_WORKERS: String(WORKERS) } })
    after(() => shared.stop())

    test('one ready line, no demo account beside a database, and every worker answers', async () => {
      assert.equal(tollgate.logs().filter((line) => line.startsWith('Tollgate ready on')).length, 1)
      assert.equal(tollgate.logs().filter((line) => line.startsWith('API key')).length, 0)
      assert.equal(children(tollgate.pid).length, WORKERS)
      const { key } = await tollgate.createAccount()
      const answers = await Promise.all(Array.from({ length: 30 }, () => admitted(() => ask(tollgate, key, 'words=3'))))
      assert.deepEqual(
        answers.map(({ status }) => status),
        answers.map(() => 200),
      )
    })

    test('/metrics answers for all of them, whichever is asked, and probes leave no line in the log', async () => {
      for (let count = 0; count < WORKERS + 1; count += 1) {
        const { text } = await tollgate.request('GET', '/metrics')
        assert.match(text, /^tollgate_requests_total\{route="\/v1\/chat\/completions",status="200"\} 30$/m)
        assert.match(text, /^tollgate_ready 1$/m)
        const each = (await tollgate.request('GET', '/metrics?per=worker')).text
        const ready = [...each.matchAll(/^tollgate_ready\{worker="(\d+)"\} 1$/gm)].map(([, pid]) => Number(pid))
        assert.deepEqual(new Set(ready), new Set(children(tollgate.pid)))
        assert.equal((await tollgate.request('GET', '/healthz')).status, 200)
        assert.equal((await tollgate.request('GET', '/readyz')).status, 200)
      }
      assert.deepEqual(
        tollgate.logs().filter((line) => /"route":"\/(?:metrics|healthz|readyz)"/.test(line)),
        [],
      )
    })

    test('a worker that is stopped where it stands is killed, and another takes its place', async () => {
      const [victim] = children(tollgate.pid)
      assert.ok(victim !== undefined)
      process.kill(victim, 'SIGSTOP')
      await until(60_000, 'another worker', async () => {
        const now = children(tollgate.pid)
        return now.length === WORKERS && !now.includes(victim)
      })
      assert.ok(
        tollgate.logs().some((line) => line.startsWith(`A worker (process ${victim}) has not answered for 10 s`)),
      )
    })

    test('a worker that is killed takes its requests with it and no others, and another takes its place', async () => {
      const { key } = await tollgate.createAccount()
      const [victim] = children(tollgate.pid)
      assert.ok(victim !== undefined)
      process.kill(victim, 'SIGKILL')
      await until(15_000, 'another worker', async () => {
        const now = children(tollgate.pid)
        return now.length === WORKERS && !now.includes(victim)
      })
      const answers = await Promise.all(Array.from({ length: 30 }, () => admitted(() => ask(tollgate, key, 'words=3'))))
      assert.deepEqual(
        answers.map(({ status }) => status),
        answers.map(() => 200),
      )
      await auditClean(tollgate)
    })

    test('F10: at SIGTERM it is not ready at once, takes requests for 5 s, lets streams end, and exits with 0', async () => {
      const { key } = await tollgate.createAccount()
      const body = JSON.stringify({
        model: 'sandbox/chat',
        stream: true,
        messages: [{ role: 'user', content: 'Hello\nsandbox: words=80 gap_ms=100' }],
      })
      const streams = await Promise.all(
        Array.from({ length: 6 }, () =>
          request(`${tollgate.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body,
          }),
        ),
      )
      const texts = Promise.all(streams.map((stream) => stream.body.text()))
      const stopped = tollgate.kill('SIGTERM')
      await until(2_000, 'it is not ready', async () => (await tollgate.request('GET', '/readyz')).status === 503)
      assert.equal((await ask(tollgate, key, 'words=3')).status, 200, 'a balancer that has not looked yet is served')
      for (const text of await texts) assert.equal(foldStream(200, text, {}).done, true)
      await stopped
      assert.equal(tollgate.exitCode, 0, tollgate.errors())
      assert.deepEqual(children(tollgate.pid), [])
    })
  })
}

/** Process ids of the workers. */
function children(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((word) => word !== '')
      .map(Number)
  } catch {
    return []
  }
}
