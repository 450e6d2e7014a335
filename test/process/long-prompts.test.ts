import assert from 'node:assert/strict'
import { createServer, request, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { getHeapSnapshot } from 'node:v8'
import { type Answer, serve } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'

/**
 * Whatever lives as long as an answer is copied by each collection of garbage, so nothing of a long prompt may: neither
 * its text nor what was read from it. The heap is searched while providers of every protocol are silent.
 */

interface Asked {
  /** Never a text in this process. */
  readonly body: Buffer
  readonly response: ServerResponse
}

async function startSilent() {
  const asked: Asked[] = []
  const server = createServer((from, response) => {
    const parts: Buffer[] = []
    from.on('data', (part: Buffer) => parts.push(part))
    from.once('end', () => asked.push({ body: Buffer.concat(parts), response }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = Object(server.address())
  return { url: `http://127.0.0.1:${port}`, asked, close: () => server.close() }
}

const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'adapter: openai',
  responses: 'adapter: openai',
  anthropic: 'adapter: anthropic',
  gemini: 'adapter: gemini',
  cohere: 'adapter: cohere',
  ollama: 'adapter: ollama',
  bedrock: 'adapter: bedrock',
  yandex: 'adapter: yandex',
}

/** The process stands still while its heap is written. */
const PATIENT = 'timeouts: { connect: 60, first_byte: 600, progress: 600 }'
const ENDS = ['', '-second', '-third']

const { upstream, tollgate, key } = await serve(
  startSilent,
  ({ url }) => `
rates: { USD: 92.50 }
providers:
${Object.entries(PROVIDERS)
  .map(([name, of]) =>
    ENDS.map(
      (end) => `  ${name}${end}: { name: ${name}${end}, ${of}, base_url: "${url}", api_key: k, ${PATIENT} }`,
    ).join('\n'),
  )
  .join('\n')}
  healthy: { name: Healthy, adapter: openai, base_url: "${url}", api_key: k }
models:
${Object.keys(PROVIDERS)
  .map((name) => {
    const more = `price: { currency: USD, prompt: 0.01, completion: 0.01 }${name === 'responses' ? ', native_responses: true' : ''}`
    const endpoints = ENDS.map((end) => `{ provider: ${name}${end}, model: m, ${more} }`)
    return `  - { id: test/${name}, type: chat, context_length: 1000000, endpoints: [${endpoints.join(', ')}] }`
  })
  .join('\n')}
  - { id: test/counted, type: chat, tokenizer: o200k_base, context_length: 1000000, endpoints: [{ provider: healthy, model: m, price: { currency: USD, prompt: 10, completion: 10 } }] }
`,
)

const SCHEMA = { type: 'object', properties: { path: { type: 'string', description: 'SAID' } } }
const CALL = { id: 'call_1', name: 'read', arguments: '{"path":"SAID"}' }
const CLIENTS: Readonly<
  Record<string, (model: string, stream: boolean) => { readonly path: string; readonly body: object }>
> = {
  chat: (model, stream) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      stream,
      messages: [
        { role: 'system', content: 'SAID' },
        { role: 'user', content: [{ type: 'text', text: 'SAID' }] },
        {
          role: 'assistant',
          content: 'SAID',
          tool_calls: [{ id: CALL.id, type: 'function', function: { name: CALL.name, arguments: CALL.arguments } }],
        },
        { role: 'tool', tool_call_id: CALL.id, content: 'SAID' },
      ],
      tools: [{ type: 'function', function: { name: 'read', description: 'SAID', parameters: SCHEMA } }],
    },
  }),
  question: (model, stream) => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: 'SAID' }] },
  }),
  responses: (model, stream) => ({
    path: '/v1/responses',
    body: {
      model,
      stream,
      input: [
        { role: 'user', content: 'SAID' },
        { type: 'function_call', call_id: CALL.id, name: CALL.name, arguments: CALL.arguments },
        { type: 'function_call_output', call_id: CALL.id, output: 'SAID' },
      ],
    },
  }),
  messages: (model, stream) => ({
    path: '/v1/messages',
    body: {
      model,
      stream,
      max_tokens: 100,
      system: [{ type: 'text', text: 'SAID', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'SAID' },
        { role: 'assistant', content: [{ type: 'tool_use', id: CALL.id, name: 'read', input: { path: 'SAID' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: CALL.id, content: 'SAID' }] },
      ],
      tools: [{ name: 'read', description: 'SAID', input_schema: SCHEMA }],
    },
  }),
  gemini: (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      systemInstruction: { parts: [{ text: 'SAID' }] },
      contents: [{ role: 'user', parts: [{ text: 'SAID' }] }],
      tools: [{ functionDeclarations: [{ name: 'read', description: 'SAID', parameters: SCHEMA }] }],
    },
  }),
  cohere: (model, stream) => ({
    path: '/v2/chat',
    body: {
      model,
      stream,
      messages: [{ role: 'user', content: 'SAID' }],
      tools: [{ type: 'function', function: { name: 'read', description: 'SAID', parameters: SCHEMA } }],
    },
  }),
  ollama: (model, stream) => ({
    path: '/api/chat',
    body: { model, stream, messages: [{ role: 'user', content: 'SAID' }] },
  }),
}

/** Some bodies are short enough for a shared pool of buffers. */
const REPEATED = 600
/** A body whose texts are long and say where they came from; it never was one text in this process. */
function bodyOf(body: object, said: string): Buffer {
  const [first = '', ...rest] = JSON.stringify(body).split('SAID')
  const long = Buffer.alloc((said.length + 1) * REPEATED, `${said} `)
  return Buffer.concat([Buffer.from(first), ...rest.flatMap((text) => [long, Buffer.from(text)])])
}

function send(path: string, body: Buffer): void {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length }
  const sent = request(new URL(path, tollgate.url), { method: 'POST', headers }, (response) => {
    response.resume()
  })
  sent.once('error', () => undefined)
  sent.end(body)
}

const PAIRS = Object.keys(CLIENTS).flatMap((client) => Object.keys(PROVIDERS).map((of) => [client, of] as const))

for (const stream of [true, false])
  test(`nothing of a long prompt stays in memory while providers are silent, and each gets the same: ${stream ? 'streamed' : 'whole'}`, async () => {
    const from = upstream.asked.length
    for (const [client, of] of PAIRS) {
      const { path, body } = (CLIENTS[client] ?? assert.fail())(`test/${of}`, stream)
      send(path, bodyOf(body, `kept-${client}-${of}-${stream}`))
    }
    for (let round = 1; round <= ENDS.length; round += 1) {
      await until(10_000, 'every provider has it', () => upstream.asked.length === from + PAIRS.length * round)
      assert.deepEqual(await keptTexts(), [])
      for (const { response } of upstream.asked) if (!response.headersSent) response.writeHead(500).end()
    }
    for (const [client, of] of PAIRS) {
      const said = `kept-${client}-${of}-${stream} `
      const [first, ...more] = upstream.asked.filter(({ body }) => body.includes(said)).map(({ body }) => body)
      assert.equal(more.length, ENDS.length - 1, said)
      for (const body of more) assert.ok(first?.equals(body), said)
    }
  })

/** A part of it looks like the whole of another text, so a sample of it is no count. */
const MIXED = 'The harbour is open today and the ships wait. '.repeat(1_500) + '港船海开今天等'.repeat(1_700)

test('what a hold was counted to be is what is charged, however many answers without usage come at once', async () => {
  const from = upstream.asked.length
  const body = JSON.stringify({ model: 'test/counted', max_tokens: 5, messages: [{ role: 'user', content: MIXED }] })
  const answers: Promise<Answer>[] = []
  for (let asked = 1; asked <= 12; asked += 1) {
    // Enough for the count, not for a token of each byte.
    const account = await tollgate.createAccount({ balance: 60 })
    answers.push(tollgate.post('/v1/chat/completions', account.key, body))
    await until(10_000, 'the provider has it', () => upstream.asked.length === from + asked)
  }
  const said = { index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }
  const answer = JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [said] })
  for (const { response } of upstream.asked.slice(from))
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
  const counted = (await Promise.all(answers)).map(({ status, body: { usage } }) => `${status} ${usage?.prompt_tokens}`)
  assert.equal(new Set(counted).size, 1, counted.join())
  assert.match(counted[0] ?? '', /^200 \d{5}$/)
})

/** Whose texts are in the heap. */
async function keptTexts(): Promise<readonly string[]> {
  let text = ''
  const kept = new Set<string>()
  for await (const chunk of getHeapSnapshot()) {
    text = text.slice(-1_000) + String(chunk)
    for (const [, said = ''] of text.matchAll(/(kept-\w+-\w+-\w+) \1/g)) kept.add(said)
  }
  return [...kept]
}
