import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ClientHome, type Ran, type Target } from './client-run.ts'
import { commandLineClients, type Client } from './clients.ts'
import { libraries, type Library } from './libraries.ts'
import { startScriptedGateway } from './scripted-gateway.ts'
import type { ScriptedModel } from './scripted-model.ts'
import { lasting } from '../harness/lasting.ts'

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
/** Words of the gateway or the provider; Gemini's are others. */
const TOO_LONG_WORDS = /maximum context length|prompt is too long/i
const LONG = 'a word and another '.repeat(4_000)

const gateway = await lasting(startScriptedGateway())
const { model, tollgate } = gateway
/** Asks once; returns the client's output, and the number of requests to the provider. */
async function asked(
  client: Asking,
  { name = client.models[0] ?? '', balance = 100, text = 'Say hello.', account = {} },
): Promise<Ran & { readonly times: number }> {
  const { key } = await tollgate.createAccount({ balance, account })
  if ('rate_limit' in account) await tollgate.get('/v1/balance', key)
  const target = { url: tollgate.url, key, model: name }
  const home = new ClientHome()
  try {
    const before = model.asked.length
    const ran = await client.askOnce(home, target, text)
    return { ...ran, times: model.asked.length - before }
  } finally {
    home.remove()
  }
}

/** A client or a library, as its user asks it once. */
interface Asking {
  readonly models: readonly string[]
  askOnce(home: ClientHome, target: Target, text: string): Promise<Ran>
}

function byCommandLine(client: Client): Asking {
  return {
    models: client.models,
    askOnce: (home, target, text) => {
      client.setUp(home, target)
      return client.ask(home, target, text, 0)
    },
  }
}

function byLibrary({ models, run }: Library): Asking {
  return { models, askOnce: (home, target, text) => run(home, target, [text]) }
}

/** Its user sees a prompt that the provider of a model refuses as too long. */
async function refusedByProvider(client: Asking, tooLong: RegExp, name: string): Promise<void> {
  model.refusal = TOO_LONG[name] ?? null
  assert.ok(model.refusal)
  try {
    const { output, times } = await asked(client, { name })
    assert.ok(tooLong.test(output) || output.includes('exceeds the maximum'), output.slice(-4_000))
    assert.equal(times, 0)
  } finally {
    model.refusal = null
  }
}

describe('errors', async () => {
  model.script = () => ({ text: 'It went through.' })
  for (const client of commandLineClients())
    describe(`errors that ${client.name} tells its user`, () => {
      const asking = byCommandLine(client)

      test('a model that is not there', async () => {
        const { output, times } = await asked(asking, { name: 'acme/none' })
        assert.match(output, client.tells.unknown)
        assert.equal(times, 0)
      })

      for (const name of client.models) {
        test(`no money, with ${name}`, async () => {
          const { output, times } = await asked(asking, { name, balance: 0 })
          assert.match(output, /Insufficient balance/)
          assert.equal(times, 0)
        })

        test(`a rate limit is told, or waited for, with ${name}`, async () => {
          const { output } = await asked(asking, { name, account: { rate_limit: RATE } })
          assert.match(output, /Too many requests|429|It went through/i)
        })

        test(`a prompt that no context holds, with ${name}`, async () => {
          const { output, times } = await asked(asking, { name: name.replace('/', '/small-'), text: LONG })
          assert.match(output, client.tells.tooLong)
          assert.equal(times, 0)
        })

        test(`a prompt that the provider refuses as too long, with ${name}`, () =>
          refusedByProvider(asking, client.tells.tooLong, name))
      }
    })

  for (const library of libraries())
    describe(`errors that ${library.name} tells its user`, () => {
      const asking = byLibrary(library)

      test('a model that is not there', async () => {
        const { output, times } = await asked(asking, { name: 'acme/none' })
        assert.match(output, library.unknown ?? /'acme\/none' not found/)
        assert.equal(times, 0)
      })

      test('no money', async () => {
        const { output, times } = await asked(asking, { balance: 0 })
        assert.match(output, /Insufficient balance/)
        assert.equal(times, 0)
      })

      test('a rate limit is told, or waited for', async () => {
        const { output } = await asked(asking, { account: { rate_limit: RATE } })
        assert.match(output, /Too many requests|429|It went through/i)
      })

      test('a prompt that no context holds', async () => {
        const name = library.models[0]?.replace('/', '/small-')
        const { output, times } = await asked(asking, { name, text: LONG })
        assert.match(output, TOO_LONG_WORDS)
        // It may have checked the key before.
        assert.equal(times, library.checks ?? 0)
      })

      for (const name of library.models)
        test(`a prompt that the provider refuses as too long, with ${name}`, () =>
          refusedByProvider(asking, TOO_LONG_WORDS, name))
    })
})
