import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Tollgate } from '../harness/server.ts'
import { ClientHome, type Ran } from './client-run.ts'
import { commandLineClients, type Client } from './clients.ts'
import { startScriptedGateway, type ScriptedGateway } from './scripted-gateway.ts'
import type { ScriptedModel } from './scripted-model.ts'

/** Some clients wait as long as a refusal says, and retry. */
const RATE = { requests: 1, window: 5 }
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

      test('no money', async () => {
        const { output, times } = await asked(client, { balance: 0 })
        assert.match(output, /Insufficient balance/)
        assert.equal(times, 0)
      })

      test('a rate limit is told, or waited for', async () => {
        const { output } = await asked(client, { account: { rate_limit: RATE } })
        assert.match(output, /Too many requests|429|It went through/i)
      })

      test('a prompt that no context holds', async () => {
        const { output, times } = await asked(client, { name: 'acme/small', text: LONG })
        assert.match(output, client.tells.tooLong)
        assert.equal(times, 0)
      })
    })
})
