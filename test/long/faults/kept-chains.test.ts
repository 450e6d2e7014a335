import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checkBooks } from '../../harness/money-check.ts'
import { respond } from '../../harness/protocol-folds.ts'
import { startTollgate } from '../../harness/server.ts'
import { lasting } from '../../harness/lasting.ts'

const MB = 1_048_576
/** Each turn keeps its instructions too, which a conversation does not repeat. */
const INSTRUCTIONS_BYTES = 7 * MB
const TURNS = 4
const AT_ONCE = 30
const BALANCE = 10_000
/** Twice the conversation for each of them would be more than a gigabyte. */
const GROWTH_BYTES_MAX = 256 * MB

const tollgate = await lasting(
  startTollgate({
    catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers: { sandbox: { name: Sandbox, adapter: sandbox, cancel_stops_billing: true } }
models: [{ id: test/sandbox, type: chat, context_length: 100000000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 1, completion: 1 } }] }]
`,
  }),
)

function memoryBytes(name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${tollgate.pid}/status`, 'latin1')
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1_024
}

test('many requests that name one large conversation at once read it a part at a time: small bodies do not fill the memory', async (context) => {
  const account = await tollgate.createAccount({ balance: BALANCE })
  const { key } = account
  const instructions = 'x'.repeat(INSTRUCTIONS_BYTES)
  let id: string | null = null
  for (let turn = 0; turn < TURNS; turn += 1) {
    const body = { model: 'test/sandbox', input: 'x', instructions, store: true, max_output_tokens: 8 }
    const answer = await respond(tollgate.url, key, { ...body, ...(id === null ? {} : { previous_response_id: id }) })
    assert.equal(answer.status, 200, answer.raw.slice(0, 500))
    id = answer.response.id
  }
  const before = memoryBytes('VmRSS')
  const asked = Array.from({ length: AT_ONCE }, async (_value, index) => {
    if (index % 3 === 0) {
      const listed = await tollgate.get(`/v1/responses/${String(id)}/input_items`, key)
      return [listed.status, listed.body.data.length]
    }
    const body = { model: 'test/sandbox', input: 'x', previous_response_id: id, max_output_tokens: 8 }
    return [(await respond(tollgate.url, key, body)).status]
  })
  for (const [index, got] of (await Promise.all(asked)).entries())
    assert.deepEqual(got, index % 3 === 0 ? [200, 2 * TURNS - 1] : [200])
  const grown = memoryBytes('VmHWM') - before
  context.diagnostic(`${AT_ONCE} requests at once: the process had at most ${Math.round(grown / MB)} MB more`)
  assert.ok(grown < GROWTH_BYTES_MAX, `${grown} bytes`)
  await checkBooks(tollgate, account, BALANCE)
})
