import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { request } from 'undici'
import { foldStream, leaveAfter } from '../../harness/chat-fold.ts'
import { auditClean } from '../../harness/api-client.ts'
import { NodeBench, until } from '../../harness/node-bench.ts'
import { patient } from '../../harness/patience.ts'
import type { Tollgate } from '../../harness/server.ts'
import { loggedRow } from '../../harness/money-check.ts'

const bench = await NodeBench.start({ valkey: true })
if (bench === null) test.skip('streams of other nodes: no PostgreSQL or no Valkey on this machine')
else streamTests(bench)

function streamTests(shared: NodeBench): void {
  describe('streams of other nodes', async () => {
    const database = await shared.newDatabase()
    const one = await shared.node(database, { catalog: 'stream_resume: { grace: 6, retention: 300 }' })
    const two = await shared.node(database)
    const alone = await shared.node(database, { valkey: false })
    after(() => shared.stop())

    test('D-7.8: a stream that broke off on one node is resumed on another with its past events, its next ones and its end', async () => {
      const { key } = await one.createAccount()
      // Far longer than the grace: the reader on the other node keeps it running.
      const { text, id } = await leave(one, key, 'words=60 gap_ms=80', 8, 'far-1')
      const seen = [...text.matchAll(/^id: (\d+)$/gm)].length - 1
      const kept = text.split('\n\n').slice(0, seen).join('\n\n')
      const resumed = await two.get(`/v1/streams?id=far-1&after=${seen}`, key)
      assert.equal(resumed.status, 200)
      assert.equal(resumed.headers['x-generation-id'], id)
      assert.match(resumed.text, new RegExp(`^id: ${seen + 1}\n`))
      const whole = foldStream(200, `${kept}\n\n${resumed.text}`, {})
      assert.equal(whole.choices.get(0)?.text.trim().split(' ').length, 60)
      assert.equal(whole.done, true)
      assert.equal((await logged(two, key, id))['status'], 'completed')
      const again = await two.get(`/v1/streams?id=${id}`, key)
      assert.equal(
        foldStream(200, again.text, {}).choices.get(0)?.text,
        whole.choices.get(0)?.text,
        'kept after its end, found by its generation id too',
      )
    })

    test('a stream of which Valkey took some writes late is resumed as a whole', async () => {
      const valkey = shared.valkey
      assert.ok(valkey !== null)
      const { key } = await one.createAccount()
      const { text, id } = await leave(one, key, 'words=60 gap_ms=40', 8, 'far-9')
      const slow = new Redis(valkey.url)
      // Longer than a node waits for an answer, and too short to open the circuit.
      await slow.call('CLIENT', 'PAUSE', '120', 'ALL')
      await slow.quit()
      const seen = [...text.matchAll(/^id: (\d+)$/gm)].length - 1
      const resumed = await two.get(`/v1/streams?id=${id}&after=${seen}`, key)
      assert.equal(resumed.status, 200)
      const kept = text.split('\n\n').slice(0, seen).join('\n\n')
      const whole = foldStream(200, `${kept}\n\n${resumed.text}`, {})
      assert.deepEqual([whole.choices.get(0)?.text.trim().split(' ').length, whole.done], [60, true])
    })

    test('a stream without a reader on any node is abandoned after its grace period', async () => {
      const { key } = await one.createAccount()
      const { id } = await leave(one, key, 'words=250 gap_ms=20', 6, 'far-2')
      await leave(two, key, '', 3, 'far-2', 'resume')
      const tookMs = await until(15_000, 'it ends', async () => (await row(one, key, id)) !== null)
      assert.ok(tookMs > 1_000, String(tookMs))
      assert.equal((await logged(one, key, id))['status'], 'cancelled')
    })

    test('a cancel on another node stops the stream, charges the tokens so far, and breaks its connections', async () => {
      const { key } = await one.createAccount()
      const running = leave(one, key, 'words=2000 gap_ms=10', 5_000, 'far-3').then(
        () => 'ended',
        () => 'broke',
      )
      await until(
        5_000,
        'it runs',
        async () =>
          (await request(`${two.url}/v1/streams?id=far-3`, {
            method: 'GET',
            headers: { authorization: `Bearer ${key}` },
          }).then(({ statusCode, body }) => {
            body.on('error', () => undefined).destroy()
            return statusCode
          })) === 200,
      )
      const cancelled = await two.request('DELETE', '/v1/streams?id=far-3', { key })
      assert.equal(cancelled.status, 200, cancelled.text)
      assert.equal(cancelled.body.status, 'cancelled')
      assert.equal(await running, 'broke')
      assert.equal((await logged(two, key, cancelled.body.id))['status'], 'cancelled')
      await assert.rejects(
        two.get('/v1/streams?id=far-3', key),
        'a stream that was cut does not end as if it were whole',
      )
    })

    test('a stream without X-Request-Id is cancelled by its generation id, also from another node', async () => {
      const { key } = await one.createAccount()
      const answer = await request(`${one.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: body('words=2000 gap_ms=10'),
      })
      const id = String(answer.headers['x-generation-id'])
      const ended = answer.body.text().then(
        () => 'ended',
        () => 'broke',
      )
      assert.equal((await two.request('DELETE', `/v1/streams?id=${id}`, { key })).status, 200)
      assert.equal(await ended, 'broke')
    })

    test('404 stream_not_found: of another account, unknown, and everywhere else without Valkey', async () => {
      const { key } = await one.createAccount()
      const other = await one.createAccount()
      const { id } = await leave(one, key, 'words=3', 100, 'far-4')
      for (const [node, asked, who] of [
        [two, 'far-4', other.key],
        [two, id, other.key],
        [two, 'never', key],
        [alone, 'far-4', key],
        [alone, id, key],
      ] as const) {
        for (const method of ['GET', 'DELETE']) {
          const startedMs = performance.now()
          const answer = await node.request(method, `/v1/streams?id=${asked}`, { key: who })
          assert.equal(answer.status, 404, `${method} ${asked}`)
          assert.equal(answer.body.error.metadata.error_type, 'stream_not_found')
          assert.ok(performance.now() - startedMs < patient(2_000))
        }
      }
    })

    test('a Response is retrieved, resumed and cancelled on a node that does not run it', async () => {
      const { key } = await one.createAccount()
      const other = await one.createAccount()
      const { text, id } = await leave(one, key, 'words=60 gap_ms=100', 8, 'far-7', 'respond')
      const name = id.replace(/^gen-/, 'resp-')
      // Asked first: on a slow machine it would have ended after the other checks.
      const running = await two.get(`/v1/responses/${name}`, key)
      assert.deepEqual([running.status, running.body.id, running.body.status], [200, name, 'in_progress'])
      for (const [node, who] of [
        [two, other.key],
        [alone, key],
      ] as const) {
        for (const [method, path] of [
          ['GET', ''],
          ['GET', '?stream=true'],
          ['POST', '/cancel'],
        ] as const) {
          assert.equal(
            (await node.request(method, `/v1/responses/${name}${path}`, { key: who })).status,
            404,
            `${method} ${path}`,
          )
        }
      }
      const last = [...text.matchAll(/"sequence_number":(\d+)/g)].length - 2
      const resumed = await two.get(`/v1/responses/${name}?stream=true&starting_after=${last}`, key)
      assert.equal(Number(/"sequence_number":(\d+)/.exec(resumed.text)?.[1]), last + 1)
      assert.match(resumed.text, /event: response\.completed\n/)
      const ended = await two.get(`/v1/responses/${name}`, key)
      assert.equal(ended.body.status, 'completed')
      assert.deepEqual(ended.body, (await one.get(`/v1/responses/${name}`, key)).body)
      assert.ok(ended.body.output[0].content[0].text.split(' ').length >= 60)
    })

    test('a Response that another node cancels ends there, and is said to be cancelled', async () => {
      const { key } = await one.createAccount()
      const { id } = await leave(one, key, 'words=2000 gap_ms=10', 8, 'far-8', 'respond')
      const cancelled = await two.request('POST', `/v1/responses/${id.replace(/^gen-/, 'resp-')}/cancel`, { key })
      assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
      assert.equal((await logged(two, key, id))['status'], 'cancelled')
    })

    test('a kept answer is stopped through the store where Valkey does not lead to its node: by a cancel, or by its removal', async () => {
      const { key } = await one.createAccount()
      const other = await one.createAccount()
      for (const [runs, asks] of [
        [one, alone],
        [alone, two],
      ] as const) {
        // The sandbox bills to the end: the second one ends soon, to be looked up in the log.
        const begin = async (delayMs: number): Promise<string> =>
          (
            await runs.post('/v1/responses', key, {
              model: 'sandbox/chat',
              background: true,
              input: `Hello\nsandbox: delay_ms=${delayMs}`,
            })
          ).body.id
        const of = (id: string): string => `/v1/responses/${id}`
        const [cancelled, removed] = [await begin(20_000), await begin(6_000)]
        assert.equal((await asks.request('POST', `${of(cancelled)}/cancel`, { key: other.key })).status, 404)
        assert.equal((await asks.get(of(cancelled), key)).body.status, 'in_progress')
        const answer = await asks.request('POST', `${of(cancelled)}/cancel`, { key })
        assert.deepEqual([answer.status, answer.body.status], [200, 'cancelled'], answer.text)
        assert.equal((await asks.request('DELETE', of(removed), { key })).status, 200)
        assert.equal((await logged(asks, key, removed.replace(/^resp-/, 'gen-')))['status'], 'cancelled')
        assert.equal((await asks.get(of(removed), key)).status, 404)
        const again = await asks.request('POST', `${of(cancelled)}/cancel`, { key })
        assert.deepEqual([again.status, again.body.status], [200, 'cancelled'])
      }
    })

    test('a stream of more than 1 MiB is not resumed anywhere', async () => {
      const { key } = await one.createAccount({ balance: 1_000 })
      const whole = await leave(one, key, 'words=6000', 1e6, 'far-5')
      assert.ok(whole.text.length > 1_048_576, String(whole.text.length))
      assert.equal((await two.get('/v1/streams?id=far-5', key)).status, 404)
    })

    test('who can read and write Valkey learns nothing of a stream, cancels none, and gives no reader a word', async () => {
      const valkey = shared.valkey
      assert.ok(valkey !== null)
      const { key, id: accountId } = await one.createAccount()
      const listener = new Redis(valkey.url)
      const messages: Buffer[] = []
      listener.on('pmessageBuffer', (_pattern: Buffer, _channel: Buffer, message: Buffer) => messages.push(message))
      await listener.psubscribe('tollgate:*')
      const thief = new Redis(valkey.url)
      // Waits for a new copy.
      const known = new Set(await thief.keys('tollgate:copy:*'))
      const copied = (what: string, bytes: number): Promise<unknown> =>
        until(10_000, what, async () => {
          const fresh = (await thief.keys('tollgate:copy:*')).filter((name) => !known.has(name))
          const [name] = fresh
          if (name === undefined || (await thief.strlen(name)) < bytes) return false
          known.add(name)
          return true
        })
      try {
        // Every key while a stream runs and afterwards, and every message of the nodes.
        const running = leave(one, key, 'words=2000 gap_ms=5', 1e6, 'again-1').then(
          () => 'ended',
          () => 'broke',
        )
        await copied('its copy grows', 5_000)
        const names = (await thief.keys('*')).filter((name) => !name.startsWith('tollgate:rate:'))
        const values = await Promise.all(names.map((name) => thief.getBuffer(name)))
        // Forms that were accepted once, and today's without the key.
        for (const channel of ['tollgate:streams', 'tollgate:sealed-streams']) {
          for (const op of ['cancel', 'leave'])
            await thief.publish(
              channel,
              JSON.stringify({ op, node: 'thief', accountId, id: 'again-1', ask: 'a', reader: 'r', atMs: Date.now() }),
            )
        }
        assert.equal((await one.get('/v1/user/balance', key)).status, 200)
        assert.equal(
          await Promise.race([running, new Promise((resolve) => setImmediate(() => resolve('goes on')))]),
          'goes on',
        )
        assert.equal((await two.request('DELETE', '/v1/streams?id=again-1', { key })).status, 200)
        assert.equal(await running, 'broke', 'its own client may')
        const said = Buffer.concat([
          ...values.filter((value) => value !== null),
          ...messages.filter(isSealed),
          Buffer.from(names.join('\n')),
        ]).toString('latin1')
        for (const secret of [accountId, 'again-1', 'content', 'completion', 'cancel'])
          assert.ok(!said.includes(secret), `${secret} can be read in Valkey`)
        // A repeated message of a node has no effect, even if the client's next stream has the same id.
        const again = leave(one, key, 'words=100 gap_ms=20', 1e6, 'again-1')
        await copied('the next one runs', 1)
        for (const message of messages.splice(0).filter(isSealed))
          await thief.publish('tollgate:sealed-streams', message)
        const whole = await again
        assert.equal(foldStream(200, whole.text, {}).done, true)
        assert.equal((await logged(one, key, whole.id))['status'], 'completed')
        // A copy that was changed, or filled from another stream, does not count.
        const other = await leave(one, key, 'words=30', 1e6, 'again-2')
        const copy = `tollgate:copy:{${whole.id}}`
        await thief.setrange(copy, 200, 'forged')
        await assert.rejects(two.get(`/v1/streams?id=${whole.id}`, key))
        await thief.copy(`tollgate:copy:{${other.id}}`, copy, 'REPLACE')
        await assert.rejects(two.get(`/v1/streams?id=${whole.id}`, key))
        await thief.copy(`tollgate:copy-state:{${other.id}}`, `tollgate:copy-state:{${whole.id}}`, 'REPLACE')
        assert.equal((await two.get(`/v1/streams?id=${whole.id}`, key)).status, 404)
        assert.equal(
          (await two.get(`/v1/streams?id=${other.id}`, key)).status,
          200,
          'the one it was taken from is as it was',
        )
      } finally {
        listener.disconnect()
        thief.disconnect()
      }
    })

    test('a reader of a node that dies is cut off, not left waiting', async () => {
      const { key } = await one.createAccount()
      await leave(one, key, 'words=2000 gap_ms=20', 6, 'far-6')
      const { statusCode, body: read } = await request(`${two.url}/v1/streams?id=far-6`, {
        method: 'GET',
        headers: { authorization: `Bearer ${key}` },
      })
      assert.equal(statusCode, 200)
      const reading = read.text().then(
        () => 'ended',
        () => 'broke',
      )
      await one.kill('SIGKILL')
      assert.equal(await reading, 'broke')
    })

    test('the audit is clean after all of it', () => auditClean(two))
  })
}

function body(line: string): string {
  return JSON.stringify({
    model: 'sandbox/chat',
    stream: true,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
  })
}

const begun = {
  start: (node: Tollgate, headers: Record<string, string>, line: string) =>
    request(`${node.url}/v1/chat/completions`, { method: 'POST', headers, body: body(line) }),
  respond: (node: Tollgate, headers: Record<string, string>, line: string) =>
    request(`${node.url}/v1/responses`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'sandbox/chat', stream: true, input: `Hello\nsandbox: ${line}` }),
    }),
  resume: (node: Tollgate, headers: Record<string, string>, _line: string, id: string) =>
    request(`${node.url}/v1/streams?id=${id}`, { method: 'GET', headers }),
}

/** Reads a stream, new or resumed, until it has `events` of them, then closes the connection. */
async function leave(
  node: Tollgate,
  key: string,
  line: string,
  events: number,
  id: string,
  how: 'start' | 'respond' | 'resume' = 'start',
): Promise<{ readonly text: string; readonly id: string }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': id }
  const answer = await begun[how](node, headers, line, id)
  assert.equal(answer.statusCode, 200)
  return { text: await leaveAfter(answer, events), id: String(answer.headers['x-generation-id']) }
}

/** Not one of the thief's own messages. */
function isSealed(message: Buffer): boolean {
  return message[0] !== '{'.charCodeAt(0)
}

async function row(node: Tollgate, key: string, id: string): Promise<Record<string, unknown> | null> {
  const page = await node.get(`/v1/generation?generation_id=${id}`, key)
  return page.body.total === 1 ? page.body.logs[0] : null
}

function logged(node: Tollgate, key: string, id: string): Promise<Record<string, unknown>> {
  return loggedRow(node, key, id)
}
