import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { CohereClientV2 } from 'cohere-ai'
import { OpenAI } from 'openai'
import { movingGateway } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'

/**
 * Official clients that name their request, as proxies do for them, and get nothing for 25 seconds in the middle of an
 * answer: the comments of that time must be nothing to them (wire.md C9).
 */

const PYTHON = join(import.meta.dirname, '../../node_modules/.cache/python/bin/python')
const MODEL = 'test/slow'
const NAMED = { 'X-Request-Id': 'from-a-proxy' }

const upstream = await startScriptedUpstream()
const server = await movingGateway({
  catalog: `
bundled: false
providers:
  p: { name: P, adapter: openai, base_url: "${upstream.url}", api_key: k }
models:
  - { id: ${MODEL}, type: chat, context_length: 100000, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }
`,
})
const key = (await server.createAccount({ balance: 1_000 })).key
const said = (content: string, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`
const waiting: ServerResponse[] = []
upstream.answer((response, { method }) => {
  if (method === 'POST') {
    waiting.push(response.writeHead(200, { 'content-type': 'text/event-stream' }))
    return void response.write(said('before', null))
  }
  // The client has read the first word.
  void server.pass(25).then(() => {
    waiting.shift()?.end(`${said(' after', 'stop')}data: [DONE]\n\n`)
    response.end()
  })
})

/** All text of a stream; its provider is silent after the first. */
async function heard<Event>(
  stream: AsyncIterable<Event>,
  textOf: (event: Event) => string | null | undefined,
): Promise<string> {
  let text = ''
  for await (const event of stream) {
    const isFirst = text === ''
    text += textOf(event) ?? ''
    if (isFirst && text !== '') await (await fetch(`${upstream.url}/silence`)).text()
  }
  return text
}

test('openai-python: chat, completions, Responses, in the background and resumed', async (t) => {
  if (!existsSync(PYTHON)) {
    assert.notEqual(process.env['CI'], 'true', 'the Python client must be installed in CI')
    t.skip('SKIPPED: no Python client. .ci/run installs it into node_modules/.cache/python')
    return
  }
  const { stdout } = await promisify(execFile)(PYTHON, [join(import.meta.dirname, 'silence.py')], {
    env: { BASE_URL: `${server.url}/v1`, API_KEY: key, MODEL, SILENCE: `${upstream.url}/silence` },
  })
  assert.match(stdout, /^all \d+ checks passed\n$/)
})

test('openai-node and cohere-ai', async () => {
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0, defaultHeaders: NAMED })
  const messages = [{ role: 'user' as const, content: 'x' }]
  const chat = await openai.chat.completions.create({ model: MODEL, messages, stream: true })
  assert.equal(await heard(chat, ({ choices }) => choices[0]?.delta.content), 'before after')
  const responses = await openai.responses.create({ model: MODEL, input: 'x', stream: true })
  assert.equal(
    await heard(responses, (event) => (event.type === 'response.output_text.delta' ? event.delta : null)),
    'before after',
  )
  const cohere = new CohereClientV2({ token: key, environment: server.url })
  const told = await cohere.chatStream({ model: MODEL, messages }, { headers: NAMED })
  assert.equal(
    await heard(told, (event) => (event.type === 'content-delta' ? event.delta?.message?.content?.text : null)),
    'before after',
  )
})
