import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

/** Names that look public: the first leads to this machine, the second to where nothing may ever be asked. */
const RESOLVES = `
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
const { lookup } = dns
const inner = { 'inner.example': '127.0.0.1', 'meta.example': '169.254.169.254', 'mapped.example': '::ffff:127.0.0.1' }
dns.lookup = (name, options, callback) => {
  const address = inner[name]
  if (address === undefined) return lookup(name, options, callback)
  callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])
}
syncBuiltinESMExports()`

test('requirement 14: what the API names is judged when the connection is made, and a connection of the file is not its own', async () => {
  /** Plays an internal service. */
  const inside = await startScriptedUpstream({ forgets: true })
  const secret = 'words of an internal page'
  inside.answer((response, request) => {
    response
      .writeHead(request.path.startsWith('/v1/chat') ? 200 : 403, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: secret }, choices: [{ message: { content: secret } }] }))
  })
  const port = Number(new URL(inside.url).port)
  const NODE_OPTIONS = `--import ${JSON.stringify(`data:text/javascript,${encodeURIComponent(RESOLVES)}`)}`
  const price = { currency: 'RUB', prompt: 1, completion: 1 }
  const model = (slug: string): object => ({
    id: `${slug}/m`,
    type: 'chat',
    context_length: 1_000,
    endpoints: [{ provider: slug, model: 'm', price }],
  })
  const catalog = JSON.stringify({
    providers: { filed: { adapter: 'openai', base_url: `http://inner.example:${port}/v1`, api_key: 'k' } },
    models: [model('filed')],
  })
  const closed = await startTollgate({ catalog, env: { NODE_OPTIONS } })
  const open = await startTollgate({ env: { NODE_OPTIONS, ALLOW_PRIVATE_UPSTREAMS: 'true' } })
  const tried = (server: Tollgate, slug: string, host: string): ReturnType<Tollgate['admin']> =>
    server.admin('POST', '/admin/v1/providers/try', {
      slug,
      provider: { adapter: 'openai', base_url: `http://${host}:${port}/v1` },
    })
  const heard = (): number => inside.received.splice(0).length
  try {
    heard()
    // The file's provider leaves a kept connection to the same origin.
    const { key } = await closed.createAccount({ balance: 100 })
    const chat = (name: string) =>
      closed.post('/v1/chat/completions', key, {
        model: name,
        max_tokens: 5,
        messages: [{ role: 'user', content: 'hi' }],
      })
    await chat('filed/m')
    assert.equal((await tried(closed, 'filed', 'inner.example')).body.outcome, 'refused')
    assert.equal(heard(), 2)

    for (const host of ['inner.example', 'mapped.example', 'meta.example']) {
      const { body, text } = await tried(closed, 'north', host)
      assert.deepEqual([body.outcome, body.status], ['private', null], host)
      assert.match(body.said, /ALLOW_PRIVATE_UPSTREAMS/)
      assert.ok(!text.includes(secret))
    }
    const provider = {
      adapter: 'openai',
      base_url: `http://inner.example:${port}/v1`,
      api_key: 'k',
      balance: { api: 'openrouter' },
      price_list: { api: 'openrouter' },
    }
    const made = await closed.admin('POST', '/admin/v1/providers', {
      slug: 'north',
      provider,
      models: [model('north')],
    })
    assert.equal(made.status, 201, made.text)
    const answer = await chat('north/m')
    assert.equal(answer.status, 503)
    assert.ok(!answer.text.includes(secret) && !answer.text.includes('ALLOW_PRIVATE'))
    await closed.admin('POST', '/admin/v1/prices/fetch')
    assert.equal(heard(), 0)
    // Its own entry with the same address keeps the file's permission; another address does not.
    assert.equal((await closed.admin('PUT', '/admin/v1/providers/filed', { ...provider, name: 'Filed' })).status, 200)
    assert.equal((await tried(closed, 'filed', 'inner.example')).body.outcome, 'refused')
    assert.ok(heard() > 0)
    const moved = { ...provider, base_url: `http://inner.example:${port}/v2` }
    assert.equal((await closed.admin('PUT', '/admin/v1/providers/filed', moved)).status, 200)
    assert.equal((await closed.admin('PUT', '/admin/v1/providers/filed', provider)).status, 200)
    heard()
    assert.equal((await chat('filed/m')).status, 503)
    assert.equal(heard(), 0)
    // The default address of an adapter is an address too.
    assert.equal((await closed.admin('PUT', '/admin/v1/providers/near', { adapter: 'ollama' })).status, 400)

    const { body } = await tried(open, 'north', 'inner.example')
    assert.deepEqual([body.outcome, body.said], ['refused', secret])
    assert.equal((await tried(open, 'north', 'meta.example')).body.outcome, 'private')
  } finally {
    await Promise.all([closed.stop(), open.stop(), inside.close()])
  }
})
