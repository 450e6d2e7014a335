import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { askedAgain, meanwhile, until } from '../../harness/patience.ts'
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'
import '../../providers/answer-budget.test.ts'

const MEGABYTE = 1_048_576
const PARALLEL = 60
const ANSWER = 20 * MEGABYTE
const BUDGET = 256 * MEGABYTE

async function heldBytes(server: Tollgate): Promise<number> {
  const { text } = await server.request('GET', '/metrics', {
    headers: { authorization: `Bearer ${server.adminToken}` },
  })
  return Number(/^tollgate_answer_bytes (\d+)/m.exec(text)?.[1] ?? Number.NaN)
}

function residentBytes({ pid }: Tollgate): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1_024
}

test('60 answers of 20 MB at once stay near the memory budget and not in 1.2 GB; each arrives whole; requests beyond the queue are refused before a provider is asked', async () => {
  const upstream = await startScriptedUpstream()
  const content = 'x'.repeat(ANSWER)
  const answer = Buffer.from(
    `{"choices":[{"message":{"content":"${content}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
  )
  upstream.answer(
    (response) =>
      void response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer),
  )
  after(() => upstream.close())
  const server = await startTollgate({
    catalog: `
bundled: false
rate_limit: { requests: 100000, window: 60 }
providers: { up: { adapter: openai, base_url: "${upstream.url}", api_key: k } }
models:
  - { id: test/m, type: chat, context_length: 1000000, endpoints: [{ provider: up, model: m, price: { currency: RUB, prompt: 1, completion: 2 } }] }
`,
  })
  after(() => server.stop())
  const { key } = await server.createAccount({ balance: 1_000 })
  const body = { model: 'test/m', messages: [{ role: 'user', content: 'x' }] }
  let mostHeld = 0
  let mostResident = 0
  const watch = async (): Promise<void> => {
    mostHeld = Math.max(mostHeld, await heldBytes(server))
    mostResident = Math.max(mostResident, residentBytes(server))
  }
  const answers = Array.from({ length: PARALLEL }, async () => {
    // Some are refused by the node, or by a machine without time for another connection: none of those is paid for.
    const { status, text } = await askedAgain(
      () => server.post('/v1/chat/completions', key, body),
      (answer) => answer.status === 503,
      200,
    )
    assert.equal(status, 200, text.slice(0, 300))
    return text.length > ANSWER
  })
  const all = await meanwhile(Promise.all(answers), watch, 20)
  process.stdout.write(
    `held at most ${Math.round(mostHeld / MEGABYTE)} MB, resident at most ${Math.round(mostResident / MEGABYTE)} MB\n`,
  )
  assert.ok(all.every((isWhole) => isWhole))
  assert.equal(upstream.received.length, PARALLEL, 'whoever was refused had nobody asked')
  // A read answer gives its room back a moment before its reply takes it, so that others may come in between: without
  // the budget all 60 would be held at once.
  assert.ok(mostHeld > BUDGET / 2 && mostHeld <= 2 * BUDGET, String(mostHeld))
  await until(10_000, 'nothing is held', async () => (await heldBytes(server)) === 0)
})
