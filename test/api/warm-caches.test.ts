import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp, topUp } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { startRoutingUpstream } from './routing-bench.ts'
import { completion } from '../harness/provider-answers.ts'

// clients.md D-14.7: the fields by which a client identifies its conversation.

const upstream = await startRoutingUpstream()
const price = { currency: 'RUB', prompt: 1, completion: 1, input_cache_read: 0.1 }
const tollgate = await gateway({
  catalog: JSON.stringify({
    bundled: false,
    rate_limit: { requests: 10_000, window: 60 },
    providers: {
      p: { adapter: 'openai', base_url: upstream.baseUrl('p'), api_key: ['k1', 'k2', 'k3', 'k4'] },
    },
    models: [{ id: 'v/m', type: 'chat', context_length: 100_000, endpoints: [{ provider: 'p', model: 'm', price }] }],
  }),
})
const key = (await tollgate.createAccount({ balance: 1_000 })).key

let number = 0

/** The key that a turn was sent with; each turn begins with other words. */
async function keyOf(said: {
  readonly headers?: Record<string, string>
  readonly body?: object
  readonly path?: string
}): Promise<string> {
  const content = `question ${(number += 1)}`
  const responses = said.path === '/v1/responses'
  const { status, text } = await tollgate.request('POST', said.path ?? '/v1/chat/completions', {
    key,
    headers: said.headers ?? {},
    body: {
      model: 'v/m',
      ...(responses ? { input: content } : { max_tokens: 9, messages: [{ role: 'user', content }] }),
      ...said.body,
    },
  })
  assert.equal(status, 200, text)
  return upstream.asked.at(-1)?.apiKey ?? ''
}

const NAMES: Readonly<Record<string, (id: string) => Parameters<typeof keyOf>[0]>> = {
  session_id: (id) => ({ body: { session_id: id } }),
  'X-Session-Id': (id) => ({ headers: { 'x-session-id': id } }),
  prompt_cache_key: (id) => ({ body: { prompt_cache_key: id } }),
  'prompt_cache_key of Responses': (id) => ({ path: '/v1/responses', body: { prompt_cache_key: id } }),
  'x-claude-code-session-id': (id) => ({ headers: { 'x-claude-code-session-id': id } }),
  'session-id': (id) => ({ headers: { 'session-id': id } }),
  'session_id of Codex': (id) => ({ headers: { session_id: id } }),
  'thread-id': (id) => ({ headers: { 'thread-id': id } }),
  'x-session-affinity': (id) => ({ headers: { 'x-session-affinity': id } }),
  'metadata.user_id': (id) => ({ body: { metadata: { user_id: id } } }),
}

for (const [name, said] of Object.entries(NAMES)) {
  test(`${name}: turns of a session go to one key, other sessions to others`, async () => {
    const homes = new Set<string>()
    for (let session = 0; session < 12; session += 1) {
      const home = await keyOf(said(`session ${session} of ${name}`.replaceAll(' ', '-')))
      assert.equal(await keyOf(said(`session ${session} of ${name}`.replaceAll(' ', '-'))), home)
      homes.add(home)
    }
    assert.ok(homes.size > 1)
  })
}

test('what names the session best wins', async () => {
  const home = await keyOf({ body: { session_id: 's' } })
  for (let other = 0; other < 12; other += 1) {
    const body = { session_id: 's', prompt_cache_key: `other ${other}`, metadata: { user_id: `user ${other}` } }
    assert.equal(await keyOf({ body, headers: { 'x-session-affinity': `${other}` } }), home)
  }
})

/** From the best name of a session to the last one (clients.md D-14.7). */
const RANKED = Object.entries(NAMES).filter(([, said]) => said('').path === undefined)

for (const [rank, [name, best]] of RANKED.slice(0, -1).entries()) {
  test(`${name} wins over every name of a session that comes after it`, async () => {
    const named = best(`best-${rank}`)
    const home = await keyOf(named)
    for (let other = 0; other < 6; other += 1) {
      const said = RANKED.slice(rank + 1).map(([, lower]) => lower(`other-${rank}-${other}`))
      assert.equal(
        await keyOf({
          headers: Object.assign({}, ...said.map(({ headers }) => headers), named.headers),
          body: Object.assign({}, ...said.map(({ body }) => body), named.body),
        }),
        home,
      )
    }
  })
}

test('without a name the conversation is known by how it begins', async () => {
  for (let conversation = 0; conversation < 12; conversation += 1) {
    const opening = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: `task ${conversation}` },
    ]
    const home = await keyOf({ body: { messages: opening } })
    const later = [...opening, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'And then?' }]
    assert.equal(await keyOf({ body: { messages: later } }), home)
  }
})

/** A conversation that begins with `text`, in each protocol. */
const DOORS: Readonly<Record<string, (text: string) => object>> = {
  '/v1/messages': (text) => ({ model: 'v/m', max_tokens: 9, messages: [{ role: 'user', content: text }] }),
  '/v1/responses': (text) => ({ model: 'v/m', input: text }),
  '/v1/completions': (text) => ({ model: 'v/m', max_tokens: 9, prompt: text }),
  '/v1beta/models/v/m:generateContent': (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
  '/v2/chat': (text) => ({ model: 'v/m', messages: [{ role: 'user', content: text }] }),
}

for (const [path, bodyOf] of Object.entries(DOORS))
  test(`${path}: a conversation without a name is known by how it begins`, async () => {
    const home = async (text: string): Promise<string> => {
      const { status, text: said } = await tollgate.post(path, key, bodyOf(text))
      assert.equal(status, 200, said)
      return upstream.asked.at(-1)?.apiKey ?? ''
    }
    const homes = new Set<string>()
    for (let conversation = 0; conversation < 12; conversation += 1) {
      const text = `task ${conversation} by ${path}`
      homes.add(await home(text))
      assert.equal(await home(text), await home(text))
    }
    assert.ok(homes.size > 1)
  })

test('the record of a request says what the cache saved, and the console by model and by key', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  await topUp(tollgate, accountId, 100)
  const own = (await browser.post('keys', { name: 'agent' })).body
  const key: string = own.key
  upstream.says('p', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(
        completion(
          { content: 'Yes.' },
          { usage: { prompt_tokens: 5_000, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4_000 } } },
        ),
      ),
    )
  })
  const content = 'long '.repeat(2_000)
  const answer = await tollgate.post('/v1/chat/completions', key, {
    model: 'v/m',
    max_tokens: 9,
    messages: [{ role: 'user', content }],
  })
  // 1,000 and 2 at 1, and 4,000 at 0.1 RUB per million.
  assert.equal(answer.body.usage.cost, 0.001402, answer.text)
  const record = await tollgate.get(`/v1/generation?id=${answer.body.id}`, key)
  assert.equal(record.body.data.cache_discount, 0.0036)
  upstream.reset()
  const cold = await tollgate.post('/v1/chat/completions', key, {
    model: 'v/m',
    max_tokens: 9,
    messages: [{ role: 'user', content }],
  })
  for (const [group, id] of [
    ['model', 'v/m'],
    ['key', own.id],
  ]) {
    const { totals, groups } = (await browser.get(`usage?group_by=${group}`)).body
    assert.deepEqual(
      [totals.cache_saved, groups.map((row: Record<string, unknown>) => [row['id'], row['cache_saved']])],
      [0.0036, [[id, 0.0036]]],
    )
  }
  const { caches } = (await tollgate.admin('GET', '/admin/v1/margin')).body
  assert.deepEqual(
    [caches.models.at(-1), caches.keys.find(({ id }: { id: string }) => id === own.id)],
    [
      { id: 'v/m', saved: caches.saved },
      { id: own.id, name: 'agent', account: accountId, saved: 0.0036 },
    ],
  )
  const plain = await tollgate.get(`/v1/generation?id=${cold.body.id}`, key)
  assert.equal(plain.body.data.cache_discount, null)
})
