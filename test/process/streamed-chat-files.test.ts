import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { gateway } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
const LIST = PAGE.split('### The files of a streamed chat, in order\n')[1]?.split('\n## ')[0] ?? ''
const WORDS = ['Hel', 'lo', ' there', ', how', ' are', ' you', '?']

function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`
}

const STREAM = `${chunk({ role: 'assistant', content: '' })}${WORDS.map((content) => chunk({ content })).join('')}${chunk({}, 'stop')}data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 } })}\n\ndata: [DONE]\n\n`

test('docs/architecture.md: each file of the list runs in a streamed chat, and it says how many others do', async () => {
  const upstream = await startScriptedUpstream()
  upstream.answer((response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM))
  const server = await gateway({
    catalog: `
providers:
  scripted: { name: Scripted, adapter: openai, base_url: "${upstream.url}", api_key: k }
models:
  - { id: a/b, type: chat, context_length: 128000, endpoints: [{ provider: scripted, model: m, price: { currency: RUB, prompt: 15, completion: 60 } }] }
`,
  })
  const session = new Session()
  try {
    const { key } = await server.createAccount({ balance: 100 })
    const body = { model: 'a/b', stream: true, messages: [{ role: 'user', content: 'Hello' }] }
    const chat = async (): Promise<void> => {
      const { text } = await server.post('/v1/chat/completions', key, body)
      assert.match(text, /\[DONE\]/)
    }
    // What only a first request does is no part of the way.
    await chat()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await chat()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result
      .filter(({ url, functions }) => url.includes('/src/') && functions.some(isCalled))
      .map(({ url }) => fileURLToPath(url).slice(ROOT.length + 1))
    const listed = [...LIST.matchAll(/^\| `(src\/[\w./-]+)` \|/gm)].map(([, path = '']) => path)
    assert.ok(listed.length > 20, String(listed.length))
    assert.deepEqual(
      listed.filter((path) => !ran.includes(path)),
      [],
    )
    const said = Number(/runs code of some (\d+) files/.exec(LIST)?.[1])
    assert.ok(Math.abs(ran.length - said) <= 15, `${ran.length} files ran`)
  } finally {
    session.disconnect()
    await server.stop()
    await upstream.close()
  }
})

function isCalled({ functionName, ranges }: { functionName: string; ranges: readonly { count: number }[] }): boolean {
  return functionName !== '' && (ranges[0]?.count ?? 0) > 0
}
