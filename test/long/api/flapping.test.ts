import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, request } from 'undici'
import { form } from '../../harness/form.ts'
import { randomOf } from '../../harness/recording.ts'
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { startTollgate } from '../../harness/server.ts'
import { askedAgain } from '../../harness/patience.ts'
import { lasting } from '../../harness/lasting.ts'
import { completion } from '../../harness/provider-answers.ts'

const REQUESTS = form({ short: 3_000, long: 10_000 })
const CLIENTS = 64
/** Five tokens and one at 1 RUB a million. */
const COST_MICRO = 6
const ANSWER = JSON.stringify(
  completion({ content: 'yes' }, { usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } }),
)

const upstream = await startScriptedUpstream()
const tollgate = await lasting(
  startTollgate({
    catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 10 }
providers:
  steady: { name: Steady, adapter: openai, base_url: "${upstream.url}/steady", api_key: k }
  flapping: { name: Flapping, adapter: openai, base_url: "${upstream.url}/flapping", api_key: k }
models:
  - id: test/two
    type: chat
    context_length: 10000
    endpoints:
      - { provider: steady, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }
      - { provider: flapping, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }
`,
  }),
)

test('F31, R8: one provider of two flaps: clients hardly notice, and retries stay few', async (context) => {
  const random = randomOf(31)
  let attempts = 0
  upstream.answer((response, { path: url }) => {
    attempts += 1
    const phase = Math.floor(attempts / 500) % 4
    if (url.startsWith('/flapping') && random() < 0.5) {
      if (phase === 0)
        response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"broken"}}')
      else if (phase === 1) response.destroy()
      else if (phase === 2)
        response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{"message":"slow down"}}')
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
  })
  // A key may have a hundred requests in flight.
  const accounts = await Promise.all(Array.from({ length: 4 }, () => tollgate.createAccount({ balance: 1_000 })))
  const agent = new Agent({ connections: CLIENTS })
  let left = REQUESTS
  let good = 0
  let shed = 0
  const failures: string[] = []
  const client = async (index: number): Promise<void> => {
    while (left > 0) {
      left -= 1
      const { status, text } = await askedAgain(
        async () => {
          const answer = await request(`${tollgate.url}/v1/chat/completions`, {
            method: 'POST',
            dispatcher: agent,
            headers: {
              authorization: `Bearer ${accounts[index % accounts.length]?.key}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify({ model: 'test/two', max_tokens: 5, messages: [{ role: 'user', content: 'go' }] }),
          })
          return { status: answer.statusCode, text: await answer.body.text() }
        },
        (answer) => {
          // On a busy machine the node itself refuses; no provider causes that.
          const isShed = answer.text.includes('"service_unavailable"')
          if (isShed) shed += 1
          return isShed
        },
      )
      if (status === 200) good += 1
      else failures.push(`${status} ${text.slice(0, 200)}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_value, index) => client(index)))
  await agent.close()
  context.diagnostic(
    `client success ${((good / REQUESTS) * 100).toFixed(2)} %, ${(attempts / REQUESTS).toFixed(3)} attempts a request; ${shed} refused by the node itself and asked again`,
  )
  assert.ok(good / REQUESTS >= 0.999, `${good} of ${REQUESTS} succeeded: ${[...new Set(failures)].join('; ')}`)
  assert.ok(attempts / REQUESTS <= 1.2, `${attempts} attempts`)
  let charged = 0
  for (const { id } of accounts) {
    const { body } = await tollgate.admin('GET', `/admin/v1/accounts/${id}`)
    assert.equal(body.reserved, 0)
    charged += Math.round((1_000 - body.balance) * 1e6)
  }
  assert.equal(charged, good * COST_MICRO, 'each answer costs what it costs, each failure nothing')
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
})
