import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { request } from 'undici'
import { movingGateway } from '../harness/gateway.ts'
import { admitted, askedAgain, until } from '../harness/patience.ts'
import { startPostgres } from '../harness/postgres.ts'
import { startTollgate, type Answer, type Tollgate } from '../harness/server.ts'
import { balanceOf, videoUntil } from '../harness/video-jobs.ts'
import { auditClean } from '../harness/api-client.ts'
import { lasting } from '../harness/lasting.ts'

const CATALOG = `
rate_limit: { requests: 100000, window: 60 }
models:
  - { id: test/chat, type: chat, context_length: 128000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
  - { id: test/free, type: chat, context_length: 128000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 0, completion: 0 } }] }
`

type Body = Readonly<Record<string, unknown>>

function chat(line: string, fields: Body = {}): Body {
  return {
    model: 'test/chat',
    max_tokens: 200,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
    ...fields,
  }
}

function once(name: string): Record<string, string> {
  return { 'idempotency-key': name }
}

function isConflict(answer: Answer): boolean {
  return answer.status === 409 && answer.body.error.metadata.error_type === 'idempotency_conflict'
}

async function charged(
  client: Pick<Tollgate, 'get'>,
  key: string,
): Promise<readonly { readonly generation_id: string; readonly total_cost: number; readonly status: string }[]> {
  const { body } = await client.get('/v1/generation?limit=300', key)
  return body.logs.filter(({ status }: { status: string }) => status === 'completed')
}

/** Resolves when the key's request runs. */
function held(tollgate: Tollgate, key: string): Promise<number> {
  return until(10_000, 'it is held', async () => (await tollgate.get('/v1/user/balance', key)).body.reserved > 0)
}

/** Checks for every server; `ask` chooses one of the nodes. */
function replays(
  ask: (path: string, key: string, body: Body, name: string) => Promise<Answer>,
  customer: () => Promise<{ readonly key: string }>,
  server: () => Tollgate,
): void {
  test('F12: of a hundred equal requests at once one is run and charged; the others get a conflict, and later the same answer byte for byte', async () => {
    // Long enough that all of them arrive while it runs.
    const body = chat('words=20 delay_ms=2000')
    let key = ''
    let answers: readonly Answer[] = []
    // On a busy machine a node refuses some by itself: repeated with another account.
    for (let tries = 0; tries < 8 && (tries === 0 || answers.some(({ status }) => status === 503)); tries += 1) {
      ;({ key } = await customer())
      answers = await Promise.all(Array.from({ length: 100 }, () => ask('/v1/chat/completions', key, body, 'one')))
    }
    const [first, ...more] = answers.filter(({ status }) => status === 200)
    assert.ok(first !== undefined)
    for (const answer of more) assert.equal(answer.text, first.text)
    const waiting = answers.filter((answer) => answer.status !== 200)
    assert.ok(waiting.length > 50 && waiting.every(isConflict), `${waiting.length} waited`)
    for (const {
      headers,
      body: { error },
    } of waiting) {
      assert.equal(error.message, 'A request with this Idempotency-Key is still running')
      assert.deepEqual(
        [headers['retry-after'], headers['x-generation-id'], error.metadata.generation_id],
        ['1', first.headers['x-generation-id'], first.headers['x-generation-id']],
      )
    }
    const again = await Promise.all(
      Array.from({ length: 100 }, () => admitted(() => ask('/v1/chat/completions', key, body, 'one'))),
    )
    for (const { status, text, headers } of again) {
      assert.deepEqual(
        [status, text, headers['x-generation-id'], headers['content-type'], headers['idempotent-replayed']],
        [200, first.text, first.headers['x-generation-id'], first.headers['content-type'], 'true'],
      )
    }
    const rows = await charged(server(), key)
    assert.deepEqual(
      rows.map(({ generation_id: id }) => id),
      [first.headers['x-generation-id']],
    )
    assert.equal(first.body.usage.cost, rows[0]?.total_cost)
    await auditClean(server())
  })

  test('a failed request costs nothing and frees its key, each time; the one that succeeds ends it', async () => {
    const { key } = await customer()
    const free = { ...chat('status=500'), model: 'test/free' }
    for (let tries = 0; tries < 5; tries += 1) {
      assert.equal((await ask('/v1/chat/completions', key, chat('status=500'), 'two')).status, 502)
      assert.equal((await ask('/v1/chat/completions', key, { model: 'test/none', messages: [] }, 'two')).status, 400)
      assert.equal((await ask('/v1/chat/completions', key, free, 'two')).status, 502)
    }
    assert.deepEqual(await charged(server(), key), [])
    const done = await ask('/v1/chat/completions', key, chat('words=3'), 'two')
    assert.equal(done.status, 200)
    assert.equal((await ask('/v1/chat/completions', key, chat('words=3'), 'two')).text, done.text)
    assert.equal((await charged(server(), key)).length, 1)
  })
}

describe('one node', async () => {
  const ask = (path: string, key: string, body: unknown, name: string): Promise<Answer> =>
    tollgate.request('POST', path, { key, body, headers: once(name) })

  const tollgate = await lasting(startTollgate({ catalog: CATALOG }))
  replays(
    ask,
    () => tollgate.createAccount(),
    () => tollgate,
  )

  test('another body or another route under the same key is a 422, while it runs and after', async () => {
    const { key } = await tollgate.createAccount()
    const running = ask('/v1/chat/completions', key, chat('words=5 delay_ms=300'), 'k')
    await held(tollgate, key)
    const mismatches = [
      await ask('/v1/chat/completions', key, chat('words=6'), 'k'),
      await ask('/v1/embeddings', key, { model: 'sandbox/embeddings', input: 'x' }, 'k'),
    ]
    await running
    mismatches.push(
      await ask('/v1/chat/completions', key, chat('words=6'), 'k'),
      await ask('/v1/completions', key, chat('words=5 delay_ms=300', { prompt: 'x' }), 'k'),
    )
    for (const {
      status,
      body: { error },
    } of mismatches) {
      assert.deepEqual(
        [status, error.metadata.error_type, error.message],
        [422, 'idempotency_mismatch', 'This Idempotency-Key was used with another body'],
      )
    }
    assert.equal((await charged(tollgate, key)).length, 1)
  })

  test('it is of one API key: another one, of the same account or not, and another Idempotency-Key are another request', async () => {
    const one = await tollgate.createAccount()
    const second = await tollgate.admin('POST', `/admin/v1/accounts/${one.id}/keys`, { name: 'second' })
    const limited = await tollgate.admin('POST', `/admin/v1/accounts/${one.id}/keys`, {
      name: 'limited',
      allowed_models: ['sandbox/chat'],
    })
    const stranger = await tollgate.createAccount()
    const body = chat('words=4')
    const first = await ask('/v1/chat/completions', one.key, body, 'same')
    assert.equal((await ask('/v1/chat/completions', one.key, body, 'same')).text, first.text)
    const others = [
      await ask('/v1/chat/completions', second.body.key, body, 'same'),
      await ask('/v1/chat/completions', stranger.key, body, 'same'),
      await ask('/v1/chat/completions', one.key, body, 'other'),
      await ask('/v1/chat/completions', one.key, body, 'Same'),
    ]
    const ids = [first, ...others].map(({ body: { id } }) => id)
    assert.equal(new Set(ids).size, 5)
    const refused = await ask('/v1/chat/completions', limited.body.key, body, 'same')
    assert.deepEqual(
      [refused.status, refused.body.error.metadata.error_type, refused.text.includes(first.body.id)],
      [403, 'access_denied', false],
    )
    assert.equal((await charged(tollgate, one.key)).length, 4)
  })

  test('a repeat goes through the checks of its API key as they are now: models, disabled, deleted, the account', async () => {
    const { id, key, keyId } = await tollgate.createAccount()
    const change = (path: string, patch: Body): Promise<Answer> => tollgate.admin('PATCH', `/admin/v1/${path}`, patch)
    const body = chat('words=4')
    const video = { model: 'sandbox/video', prompt: 'a lantern' }
    const first = await ask('/v1/chat/completions', key, body, 'kept')
    const job = await ask('/v1/videos', key, video, 'job')
    assert.deepEqual([first.status, job.status], [200, 202], job.text)
    const told = async (): Promise<readonly unknown[]> => {
      const answers = [await ask('/v1/chat/completions', key, body, 'kept'), await ask('/v1/videos', key, video, 'job')]
      for (const { status, text } of answers) assert.ok(status < 300 || !text.includes(first.body.id), text)
      return answers.flatMap(({ status, body: { error } }) => [status, error?.metadata.error_type])
    }
    const both = (status: number, error: string): readonly unknown[] => [status, error, status, error]
    const good = [200, undefined, 202, undefined]
    assert.deepEqual(await told(), good)
    for (const path of [`keys/${keyId}`, `accounts/${id}`]) {
      await change(path, { allowed_models: ['sandbox/chat'] })
      assert.deepEqual(await told(), both(403, 'access_denied'), path)
      await change(path, { allowed_models: ['test/chat'] })
      assert.deepEqual(await told(), [200, undefined, 403, 'access_denied'], path)
      await change(path, { allowed_models: null })
      assert.deepEqual(await told(), good, path)
    }
    await change(`keys/${keyId}`, { disabled: true })
    assert.deepEqual(await told(), both(403, 'key_deactivated'))
    await change(`keys/${keyId}`, { disabled: false })
    assert.deepEqual(await told(), good)
    await change(`accounts/${id}`, { status: 'locked' })
    assert.deepEqual(await told(), both(403, 'api_locked'))
    await change(`accounts/${id}`, { status: 'active' })
    await videoUntil(tollgate, key, job.body.id, 'completed')
    await tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`)
    assert.deepEqual(await told(), both(401, 'invalid_api_key'))
  })

  test('a stream is answered once: while it runs and after it a repeat is a 409 with its generation id', async () => {
    const { key } = await tollgate.createAccount()
    const send = () =>
      request(`${tollgate.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...once('s') },
        body: JSON.stringify(chat('words=8 gap_ms=40', { stream: true })),
      })
    const stream = await send()
    const id = String(stream.headers['x-generation-id'])
    const during = await ask('/v1/chat/completions', key, chat('words=8 gap_ms=40', { stream: true }), 's')
    assert.ok(isConflict(during) && during.headers['x-generation-id'] === id)
    assert.match(await stream.body.text(), /\[DONE\]/)
    const later = await ask('/v1/chat/completions', key, chat('words=8 gap_ms=40', { stream: true }), 's')
    assert.ok(isConflict(later))
    assert.deepEqual(
      [later.headers['x-generation-id'], later.body.error.metadata.generation_id, later.headers['x-should-retry']],
      [id, id, 'false'],
    )
    assert.equal((await charged(tollgate, key)).length, 1)
    for (const line of ['error=0', 'error=2']) {
      const broken = await request(`${tollgate.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...once('cut') },
        body: JSON.stringify(chat(line, { stream: true })),
      })
      assert.match(await broken.body.text(), /"error"/)
    }
    assert.equal((await charged(tollgate, key)).length, 1)
  })

  test('a client that left finds the answer that it has paid for', async () => {
    const { key } = await tollgate.createAccount()
    const left = new AbortController()
    const body = chat('words=9 delay_ms=250')
    const gone = request(`${tollgate.url}/v1/chat/completions`, {
      method: 'POST',
      signal: left.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...once('gone') },
      body: JSON.stringify(body),
    })
    void held(tollgate, key).then(() => left.abort())
    await assert.rejects(gone)
    const again = await askedAgain(() => ask('/v1/chat/completions', key, body, 'gone'), isConflict)
    assert.equal(again.status, 200, again.text)
    const {
      body: { logs },
    } = await tollgate.get('/v1/generation', key)
    assert.deepEqual(
      logs.map((row: { generation_id: string; total_cost: number }) => [row.generation_id, row.total_cost]),
      [[again.headers['x-generation-id'], again.body.usage.cost]],
    )
  })

  test('every paid kind: a form with another boundary is the same request, sound is not kept, a video is created once', async () => {
    const { key } = await tollgate.createAccount({ balance: 1_000 })
    const form = (boundary: string, prompt: string): Promise<Answer> =>
      tollgate.request('POST', '/v1/audio/transcriptions', {
        key,
        body: Buffer.from(
          ['model', 'prompt']
            .map(
              (name) =>
                `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${name === 'model' ? 'sandbox/transcription' : prompt}\r\n`,
            )
            .join('') +
            `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n${WAV}\r\n--${boundary}--\r\n`,
          'latin1',
        ),
        headers: { ...once('form'), 'content-type': `multipart/form-data; boundary=${boundary}` },
      })
    const heard = await form('one', 'p')
    assert.equal(heard.status, 200, heard.text)
    assert.equal((await form('two', 'p')).text, heard.text)
    assert.equal((await form('two', 'q')).status, 422)
    for (const [path, body] of [
      ['/v1/embeddings', { model: 'sandbox/embeddings', input: 'x' }],
      ['/v1/rerank', { model: 'sandbox/rerank', query: 'x', documents: ['a'] }],
      ['/v1/responses', { model: 'sandbox/chat', input: 'x' }],
      ['/v1/completions', { model: 'sandbox/chat', prompt: 'x' }],
      ['/v1/images', { model: 'sandbox/image', prompt: 'x' }],
      ['/v1/videos', { model: 'sandbox/video', prompt: 'x', duration: 4 }],
    ] as const) {
      const first = await ask(path, key, body, path)
      assert.ok(first.status === 200 || first.status === 202, `${path} ${first.text}`)
      const again = await ask(path, key, body, path)
      assert.deepEqual(
        [again.status, again.text, again.headers['x-generation-id']],
        [first.status, first.text, first.headers['x-generation-id']],
        path,
      )
      if (path === '/v1/videos') await videoUntil(tollgate, key, first.body.id, 'completed')
    }
    const speech = { model: 'sandbox/tts', input: 'x', voice: 'alloy' }
    const spoken = await ask('/v1/audio/speech', key, speech, 'speech')
    assert.equal(spoken.status, 200, spoken.text)
    const mute = await ask('/v1/audio/speech', key, speech, 'speech')
    assert.ok(isConflict(mute) && mute.headers['x-generation-id'] === spoken.headers['x-generation-id'])
    const { body } = await tollgate.get('/v1/generation?limit=100', key)
    assert.equal(body.total, 8)
    await auditClean(tollgate)
  })

  test('an answer larger than a megabyte is charged once and not kept', async () => {
    const { key } = await tollgate.createAccount()
    const body = { model: 'sandbox/embeddings', input: Array.from({ length: 60 }, () => 'x'), dimensions: 2_048 }
    const large = await ask('/v1/embeddings', key, body, 'large')
    assert.ok(large.status === 200 && large.text.length > 1_048_576, `${large.status} ${large.text.length}`)
    assert.ok(isConflict(await ask('/v1/embeddings', key, body, 'large')))
    assert.equal((await charged(tollgate, key)).length, 1)
  })

  test('the header has at most 255 printable characters', async () => {
    const { key } = await tollgate.createAccount()
    for (const name of ['', ' ', 'x'.repeat(256), 'é', 'a\tb']) {
      const answer = await ask('/v1/chat/completions', key, chat('words=1'), name)
      assert.deepEqual(
        [answer.status, answer.body.error.metadata.error_type],
        [400, 'invalid_input'],
        JSON.stringify(name),
      )
    }
    assert.equal((await ask('/v1/chat/completions', key, chat('words=1'), `a b ${'x'.repeat(251)}`)).status, 200)
  })

  test('a stored answer cannot be read in the store, and a rotated key opens it', async () => {
    const { key } = await tollgate.createAccount()
    const first = await ask('/v1/chat/completions', key, chat('words=7'), 'sealed')
    assert.equal((await tollgate.admin('POST', '/admin/v1/kek/rotate')).status, 200)
    assert.equal((await ask('/v1/chat/completions', key, chat('words=7'), 'sealed')).text, first.text)
  })
})

/** Half a second of silence, as latin-1. */
const WAV = ((): string => {
  const bytes = Buffer.alloc(44 + 8_000)
  bytes.write('RIFF', 0).toString()
  bytes.writeUInt32LE(36 + 8_000, 4)
  bytes.write('WAVEfmt ', 8)
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(8_000, 24)
  bytes.writeUInt32LE(16_000, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36)
  bytes.writeUInt32LE(8_000, 40)
  return bytes.toString('latin1')
})()

describe('time', async () => {
  const server = await movingGateway({ catalog: CATALOG })
  test('a day later the key runs a new request', async () => {
    const { key } = await server.createAccount()
    const ask = (): Promise<Answer> =>
      server.request('POST', '/v1/chat/completions', { key, body: chat('words=2'), headers: once('day') })
    const first = await ask()
    server.clock.advance(23 * 3_600_000)
    assert.equal((await ask()).text, first.text)
    server.clock.advance(3_600_001)
    const next = await ask()
    assert.equal(next.status, 200)
    assert.notEqual(next.body.id, first.body.id)
    assert.deepEqual(server.notices, [])
  })
})

const postgres = await startPostgres()

if (postgres !== null)
  describe('two nodes on one database', async () => {
    const nodes: Tollgate[] = []
    let turn = 0
    const node = (): Tollgate => {
      const [one, two] = nodes
      assert.ok(one !== undefined && two !== undefined)
      return (turn += 1) % 2 === 0 ? one : two
    }

    const env = { DATABASE_URL: postgres.url, TOLLGATE_KEK: randomBytes(32).toString('base64') }
    nodes.push(await startTollgate({ env, catalog: CATALOG }))
    nodes.push(await startTollgate({ env }))
    after(async () => {
      await Promise.all(nodes.map((tollgate) => tollgate.stop()))
      await postgres.stop()
    })

    replays(
      (path, key, body, name) => node().request('POST', path, { key, body, headers: once(name) }),
      () => node().createAccount(),
      () => node(),
    )

    test('races of twenty keys, each asked for on both nodes until it is answered: each is charged once', async () => {
      const { key } = await node().createAccount()
      const before = (await balanceOf(node(), key)).balance
      const ids = await Promise.all(
        Array.from({ length: 20 }, async (_value, index) => {
          const seen = await Promise.all(
            Array.from({ length: 6 }, async () => {
              const answer = await askedAgain(
                () =>
                  node().request('POST', '/v1/chat/completions', {
                    key,
                    body: chat(`words=${index + 1} delay_ms=${index * 5}`),
                    headers: once(`race-${index}`),
                  }),
                // So many clients may overload the machine: a refused request is sent again.
                (one) => isConflict(one) || one.status === 503,
                25,
              )
              assert.equal(answer.status, 200, answer.text)
              return answer.text
            }),
          )
          assert.equal(new Set(seen).size, 1)
          return JSON.parse(seen[0] ?? '').id
        }),
      )
      const rows = await charged(node(), key)
      assert.deepEqual(new Set(rows.map(({ generation_id: id }) => id)), new Set(ids))
      assert.equal(rows.length, 20)
      const spent = rows.reduce((sum, { total_cost: cost }) => sum + Math.round(cost * 1e6), 0)
      assert.equal(Math.round((before - (await balanceOf(node(), key)).balance) * 1e6), spent)
      await auditClean(node())
    })

    test('beyond the room of an account a call runs, says that it will not be answered again, and is charged once', async () => {
      const { key, id: accountId } = await node().createAccount()
      const ask = (name: string, fields: Body = {}): Promise<Answer> =>
        node().request('POST', '/v1/chat/completions', { key, body: chat('words=2', fields), headers: once(name) })
      const small = await ask('small')
      assert.deepEqual([small.status, small.headers['idempotent-replayable']], [200, undefined])
      assert.equal((await ask('streamed', { stream: true })).headers['idempotent-replayable'], 'false')
      const client = new pg.Client({ connectionString: postgres.url })
      await client.connect()
      await client.query('UPDATE kept_answer SET bytes = $1 WHERE account_id = $2', [200 * 1_048_576, accountId])
      await client.end()
      const full = await Promise.all(Array.from({ length: 6 }, (_, index) => ask(`full-${index}`)))
      for (const answer of full)
        assert.deepEqual([answer.status, answer.headers['idempotent-replayable']], [200, 'false'], answer.text)
      for (const name of ['full-0', 'streamed']) {
        const again = await ask(name, name === 'streamed' ? { stream: true } : {})
        assert.ok(isConflict(again), again.text)
      }
      assert.equal((await ask('small')).text, small.text, 'what is kept stays')
      assert.equal((await charged(node(), key)).length, 8)
    })
  })
