import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audioForm } from '../harness/audio-files.ts'
import { sendJson, startScriptedUpstream, answers } from '../harness/scripted-upstream.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'

/** A name of two customers; longer than providers take, and in no form of ours. */
const NAME = `{"who":"${'canary-name '.repeat(20)}"}`
const LABELS = { user: NAME, prompt_cache_key: NAME, safety_identifier: NAME, metadata: { user_id: NAME } }
const OUTWARD = /"(?:user|user_id|prompt_cache_key|safety_identifier)":"([^"]*)"/g
const MESSAGES = [{ role: 'user', content: 'x' }]
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** A request of each door whose protocol or service has such fields. */
const DOORS: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  ['/v1/chat/completions', { model: 'v/chat', messages: MESSAGES }],
  ['/v1/chat/completions', { model: 'v/chat', input: 'x', store: false }],
  ['/v1/chat/completions', { model: 'v/claude', messages: MESSAGES }],
  ['/v1/completions', { model: 'v/chat', prompt: 'x' }],
  ['/v1/responses', { model: 'v/chat', input: 'x' }],
  ['/v1/responses', { model: 'v/native', input: 'x' }],
  ['/v1/responses', { model: 'v/native', input: 'x', stream: true }],
  ['/v1/messages', { model: 'v/claude', max_tokens: 5, messages: MESSAGES }],
  ['/v1/messages', { model: 'v/chat', max_tokens: 5, messages: MESSAGES }],
  ['/v1/embeddings', { model: 'v/embed', input: 'x' }],
  ['/v1/images/generations', { model: 'v/image', prompt: 'x' }],
  ['/v1/images/edits', { model: 'v/image', prompt: 'x', image: PICTURE }],
  ['/v1/images/variations', { model: 'v/image', image: PICTURE }],
  ['/v1/videos', { model: 'v/film', prompt: 'x', duration: 4 }],
]

const upstream = await startScriptedUpstream({ forgets: true })
const model = (id: string, type: string, price: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  id: `v/${id}`,
  type,
  context_length: 10_000,
  endpoints: [{ provider: id === 'claude' ? 'claude' : 'other', price: { currency: 'RUB', ...price }, ...more }],
})
const tokens = { prompt: 1, completion: 1 }
const tollgate = await gateway({
  catalog: JSON.stringify({
    bundled: false,
    markup: 1,
    kept_responses: { days: 1, megabytes: 10 },
    providers: {
      other: {
        name: 'Other',
        adapter: 'openai',
        base_url: `${upstream.url}/v1`,
        api_key: 'k',
        dialect: { videos: 'xai' },
      },
      claude: { name: 'Claude', adapter: 'anthropic', base_url: upstream.url, api_key: 'k' },
    },
    models: [
      model('chat', 'chat', tokens, { model: 'm' }),
      model('native', 'chat', tokens, { model: 'm', native_responses: true }),
      model('claude', 'chat', tokens, { model: 'claude-sonnet-4-5' }),
      model('embed', 'embeddings', { prompt: 1 }, { model: 'm' }),
      model('image', 'image', { image_output: 1 }, { model: 'dall-e-2' }),
      {
        ...model('film', 'video', { video_second: 1 }, { model: 'sora-2' }),
        supported_durations: [4],
      },
    ],
  }),
})
const keys = await Promise.all([1, 2].map(async () => (await tollgate.createAccount({ balance: 1_000 })).key))

function post(key: string, path: string, body: unknown): Promise<Answer> {
  return tollgate.post(path, key, body)
}

/** The names that the provider was sent by one request. */
async function sentBy(key: string, path: string, body: Record<string, unknown>): Promise<readonly string[]> {
  upstream.answer(answers({ error: { message: 'no' } }, 400))
  const { text } = await post(key, path, { ...body, ...LABELS })
  await until(1_000, `${path} is asked: ${text}`, () => upstream.received.length > 0)
  const bodies = upstream.received.map((seen) => seen.body.toString('latin1')).join('\n')
  assert.doesNotMatch(bodies, /canary-name/, path)
  const inForm = bodies.matchAll(/name="user"\r\n\r\n([^\r]*)/g)
  return [...new Set([...bodies.matchAll(OUTWARD), ...inForm].map(([, name = '']) => name))]
}

test('every door sends a name in a form that is the same for one account and another for the next', async () => {
  const [own = '', other = ''] = keys
  const forms = new Set<string>()
  for (const [path, body] of DOORS) {
    const what = `${path} ${JSON.stringify(body)}`
    const sent = await sentBy(own, path, body)
    assert.equal(sent.length, 1, what)
    assert.match(sent[0] ?? '', /^[\w-]{22}$/, what)
    assert.deepEqual(await sentBy(own, path, body), sent, what)
    const [others] = await sentBy(other, path, body)
    assert.ok(others !== undefined && !sent.includes(others), what)
    forms.add(sent[0] ?? '')
  }
  assert.equal(forms.size, 1, 'all doors agree, so that caches stay warm')
})

test('an empty name stays empty, one of another type is refused', async () => {
  const [key = ''] = keys
  const ask = (user: unknown): Promise<Answer> =>
    post(key, '/v1/chat/completions', { model: 'v/chat', messages: MESSAGES, user })
  upstream.answer(answers({ error: { message: 'no' } }, 400))
  await ask('')
  assert.match(upstream.received[0]?.body.toString() ?? '', /"user":""/)
  assert.match((await ask(5)).text, /user: must be a string/)
})

test('a form sends it so, too', async () => {
  const [key = ''] = keys
  upstream.answer(answers({ error: { message: 'no' } }, 400))
  const form = audioForm({ model: 'v/film', prompt: 'x', seconds: '4', user: NAME }, null)
  await tollgate.request('POST', '/v1/videos', { key, ...form })
  await until(1_000, 'the provider is asked', () => upstream.received.length > 0)
  assert.match(upstream.received[0]?.body.toString('latin1') ?? '', /user"(?:\r\n\r\n|:")[\w-]{22}["\r]/)
})

test('a Response repeats the names as the client wrote them: whole, as events and kept', async () => {
  const [key = ''] = keys
  const names = { user: NAME, prompt_cache_key: NAME, safety_identifier: NAME, metadata: { user_id: NAME } }
  const echoed = (answer: Record<string, unknown>): unknown =>
    Object.fromEntries(Object.keys(names).map((name) => [name, answer[name]]))
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'y' }] }]
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const sent = { id: 'r', object: 'response', status: 'completed', output, usage, ...LABELS, user: 'another' }
  upstream.answer((response, { json }) => {
    // Parsed by the harness, from what the server under test has written.
    if ((json as Record<string, unknown> | undefined)?.['stream'] !== true) return sendJson(response, sent)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [type, body] of [
      ['response.created', { ...sent, status: 'in_progress', output: [] }],
      ['response.completed', sent],
    ] as const)
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, response: body })}\n\n`)
    response.end()
  })
  const body = { model: 'v/native', input: 'x', ...LABELS }
  const whole = await post(key, '/v1/responses', { ...body, store: true })
  assert.deepEqual(echoed(whole.body), names, whole.text)
  const kept = await tollgate.get(`/v1/responses/${whole.body.id}`, key)
  assert.deepEqual(echoed(kept.body), names, kept.text)
  const { text } = await post(key, '/v1/responses', { ...body, stream: true })
  const events = text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  const bodies = events.flatMap(({ response }) => (response === undefined ? [] : [response]))
  assert.ok(bodies.length >= 2, text)
  for (const response of bodies) assert.deepEqual(echoed(response), names, text)
})
