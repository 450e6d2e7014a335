import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Tollgate } from '../harness/server.ts'
import { ClientHome, type Ran } from './client-run.ts'
import { commandLineClients, type Client } from './clients.ts'
import { startScriptedGateway, type ScriptedGateway } from './scripted-gateway.ts'
import type { ScriptedModel } from './scripted-model.ts'

/** Some clients wait as long as a refusal says, and retry. */
const RATE = { requests: 1, window: 5 }
/** How each provider refuses a prompt that is beyond its model's context, in its own words. */
const OPENAI_TOO_LONG = {
  status: 400,
  body: {
    error: {
      message: "This model's maximum context length is 2000 tokens. However, your messages resulted in 16000 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  },
}
const TOO_LONG: Readonly<Record<string, ScriptedModel['refusal']>> = {
  'acme/chat': OPENAI_TOO_LONG,
  'acme/responses': OPENAI_TOO_LONG,
  'acme/messages': {
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 16000 tokens > 2000 maximum' },
    },
  },
  'acme/gemini': {
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'The input token count (16000) exceeds the maximum number of tokens allowed (2000).',
        status: 'INVALID_ARGUMENT',
      },
    },
  },
}
const LONG = 'a word and another '.repeat(4_000)

let gateway: ScriptedGateway
let model: ScriptedModel
let tollgate: Tollgate
/** Asks once; returns the client's output, and the number of requests to the provider. */
async function asked(
  client: Client,
  { name = client.models[0] ?? '', balance = 100, text = 'Say hello.', account = {} },
): Promise<Ran & { readonly times: number }> {
  const { key } = await tollgate.createAccount({ balance, account })
  if ('rate_limit' in account) await tollgate.request('GET', '/v1/balance', { key })
  const target = { url: tollgate.url, key, model: name }
  const home = new ClientHome()
  try {
    client.setUp(home, target)
    const before = model.asked.length
    const ran = await client.ask(home, target, text, 0)
    return { ...ran, times: model.asked.length - before }
  } finally {
    home.remove()
  }
}

describe('errors', () => {
  before(async () => {
    gateway = await startScriptedGateway()
    ;({ model, tollgate } = gateway)
    model.script = () => ({ text: 'It went through.' })
  })
  after(() => gateway.stop())

  for (const client of commandLineClients())
    describe(`errors that ${client.name} tells its user`, () => {
      test('a model that is not there', async () => {
        const { output, times } = await asked(client, { name: 'acme/none' })
        assert.match(output, client.tells.unknown)
        assert.equal(times, 0)
      })

      for (const name of client.models) {
        test(`no money, with ${name}`, async () => {
          const { output, times } = await asked(client, { name, balance: 0 })
          assert.match(output, /Insufficient balance/)
          assert.equal(times, 0)
        })

        test(`a rate limit is told, or waited for, with ${name}`, async () => {
          const { output } = await asked(client, { name, account: { rate_limit: RATE } })
          assert.match(output, /Too many requests|429|It went through/i)
        })

        test(`a prompt that no context holds, with ${name}`, async () => {
          const { output, times } = await asked(client, { name: name.replace('/', '/small-'), text: LONG })
          assert.match(output, client.tells.tooLong)
          assert.equal(times, 0)
        })

        test(`a prompt that the provider refuses as too long, with ${name}`, async () => {
          model.refusal = TOO_LONG[name] ?? null
          assert.ok(model.refusal)
          try {
            const { output, times } = await asked(client, { name })
            assert.ok(client.tells.tooLong.test(output) || output.includes('exceeds the maximum'), output.slice(-4_000))
            assert.equal(times, 0)
          } finally {
            model.refusal = null
          }
        })
      }
    })
})
