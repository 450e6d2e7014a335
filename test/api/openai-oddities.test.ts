import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { chat } from '../harness/chat-fold.ts'
import { patient } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'

const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  odd: { name: Odd, adapter: openai, base_url: "${url}", api_key: k }
  badly: { name: Badly, adapter: openai, base_url: "${url}", api_key: "no\\nheader" }
models:
  - id: test/odd
    type: chat
    context_length: 100000
    endpoints: [{ provider: odd, model: m, price: { currency: RUB, prompt: 1, completion: 1000 } }]
  - id: test/badly
    type: chat
    context_length: 100000
    endpoints: [{ provider: badly, model: m, price: { currency: RUB, prompt: 1, completion: 1000 } }]
`,
)

function ask(stream = true, model = 'test/odd'): ReturnType<typeof chat> {
  return chat(tollgate.url, key, {
    model,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 50_000,
    stream,
  })
}

function event(choice: Record<string, unknown>, rest: Record<string, unknown> = {}): string {
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }], ...rest })}\n\n`
}

function delta(fields: Record<string, unknown>, rest: Record<string, unknown> = {}): string {
  return event({ delta: fields, finish_reason: null }, rest)
}

const END = `${event({ delta: {}, finish_reason: 'stop' })}data: {"id":"c1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}}\n\ndata: [DONE]\n\n`

test('padding of another length in each chunk neither breaks the text nor reaches the client', async () => {
  const words = Array.from({ length: 50 }, (_value, index) => ` w${index} "q" \\ é`)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      delta({ role: 'assistant', content: '' }) +
        words.map((content, index) => delta({ content }, { obfuscation: 'x'.repeat(index % 17) })).join('') +
        END,
    )
  })
  const answer = await ask()
  assert.equal(answer.choices.get(0)?.text, words.join(''))
  assert.doesNotMatch(JSON.stringify(answer.events), /obfuscation/)
})

test("a text that holds the bytes of a chunk's end stays a text", async () => {
  const content = '"},"finish_reason":null}],"obfuscation":"abc"}'
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      delta({ content: 'a' }, { obfuscation: 'xy' }) +
        delta({ content: 'b' }, { obfuscation: 'xyz' }) +
        delta({ content }, { obfuscation: 'q' }) +
        END,
    )
  })
  assert.equal((await ask()).choices.get(0)?.text, `ab${content}`)
})

test('text written in escapes is counted as text: six bytes of \\u0416 are one letter', async () => {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const escaped = delta({ content: 'PLACE' }).replace('PLACE', '\\u0416'.repeat(100))
    response.end(
      delta({ content: 'plain' }) +
        escaped.repeat(3) +
        event({ delta: {}, finish_reason: 'stop' }) +
        'data: [DONE]\n\n',
    )
  })
  const counted = await ask()
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      delta({ content: 'plain' }) +
        delta({ content: 'Ж'.repeat(100) }).repeat(3) +
        event({ delta: {}, finish_reason: 'stop' }) +
        'data: [DONE]\n\n',
    )
  })
  const plain = await ask()
  assert.equal(counted.choices.get(0)?.text, plain.choices.get(0)?.text)
  assert.equal(counted.usage?.['completion_tokens'], plain.usage?.['completion_tokens'])
})

test('the answer ends with [DONE], though the provider keeps the connection open', async () => {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(delta({ content: 'whole' }) + END)
  })
  const startedMs = performance.now()
  const answer = await ask()
  assert.equal(answer.choices.get(0)?.text, 'whole')
  assert.equal(answer.usage?.['completion_tokens'], 20)
  assert.ok(performance.now() - startedMs < patient(2_000))
})

test('bytes after [DONE] are ignored', async () => {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `${delta({ content: 'whole' })}${END}${delta({ content: ' more' })}data: {"error":{"message":"late"}}\n\n`,
    )
  })
  const answer = await ask()
  assert.equal(answer.choices.get(0)?.text, 'whole')
  assert.equal(answer.error, null)
})

test('a compressed stream arrives whole and in order, in whatever pieces', async () => {
  const words = Array.from({ length: 20_000 }, (_value, index) => ` word${index}`)
  const packed = gzipSync(words.map((content) => delta({ content })).join('') + END)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
    void (async () => {
      for (let from = 0; from < packed.length; from += 1_000) {
        response.write(packed.subarray(from, from + 1_000))
        await turn()
      }
      response.end()
    })()
  })
  assert.equal((await ask()).choices.get(0)?.text, words.join(''))
})

test('a broken compressed body and an unrequested encoding are failures of the provider', async () => {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end('this is not gzip')
  })
  assert.equal((await ask(false)).error?.code, 502)
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'zebra' })
    response.end('{}')
  })
  assert.equal((await ask(false)).error?.code, 502)
})

test('parallel tool calls without index or id stay apart', async () => {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const calls = [
      { function: { name: 'first', arguments: '{"a":1}' } },
      { function: { name: 'second', arguments: '{"b":2}' } },
    ]
    response.end(delta({ tool_calls: calls }) + event({ delta: {}, finish_reason: 'tool_calls' }) + 'data: [DONE]\n\n')
  })
  const calls = (await ask()).choices.get(0)?.toolCalls ?? []
  assert.deepEqual(
    calls.map(({ name, arguments: text }) => [name, text]),
    [
      ['first', '{"a":1}'],
      ['second', '{"b":2}'],
    ],
  )
  assert.equal(new Set(calls.map(({ id }) => id)).size, 2)
})

test('what a provider calls its answer is kept as far as a name goes, and is text that every database takes', async () => {
  const named = async (id: string, native: string): Promise<Readonly<Record<string, unknown>>> => {
    upstream.answer((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          `{"id":"${id}","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"${native}"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
        ),
    )
    const answer = await tollgate.post('/v1/chat/completions', key, {
      model: 'test/odd',
      messages: [{ role: 'user', content: 'hi' }],
    })
    assert.equal(answer.status, 200, answer.text)
    const { body } = await tollgate.get(`/v1/generation?id=${answer.body.id}`, key)
    return body.data
  }
  const long = await named('i'.repeat(1_000_000), 'n'.repeat(500_000))
  assert.deepEqual([long['upstream_id'], long['native_finish_reason']], ['i'.repeat(256), 'n'.repeat(256)])
  const odd = await named(`${'x'.repeat(255)}\\ud83d\\ude00`, 'a\\u0000b\\ud800')
  assert.deepEqual([odd['upstream_id'], odd['native_finish_reason']], [`${'x'.repeat(255)}\ufffd`, 'ab\ufffd'])
})

test('a request that cannot even be sent is a failure of the provider, free of charge', async () => {
  const answer = await ask(false, 'test/badly')
  assert.ok([502, 503].includes(answer.error?.code ?? 0), JSON.stringify(answer.error))
  assert.doesNotMatch(JSON.stringify(answer.error), /header/)
})
