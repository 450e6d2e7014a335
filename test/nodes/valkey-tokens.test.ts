import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { providerAuth } from '../../src/catalog/auth.ts'
import { systemClock } from '../../src/base/clock.ts'
import { randomIds } from '../../src/base/ids.ts'
import { openValkey } from '../../src/nodes/valkey/valkey.ts'
import { isRefused, TokenCache } from '../../src/protocols/auth/token-cache.ts'
import { endpoint } from '../harness/plan-fixture.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startValkey } from '../harness/valkey.ts'

const keyOf = (text: string): Buffer => createHash('sha256').update(text).digest()

test('nodes share a token through Valkey, where nobody else can read or plant it', async (context) => {
  const valkey = await startValkey()
  if (valkey === null) return context.skip('no Valkey on this machine')
  const upstream = await startScriptedUpstream()
  let given = 0
  upstream.answer((response) => {
    given += 1
    answers({ access_token: `secret-token-${given}`, expires_in: 3_600 })(response)
  })
  const node = async (...keys: readonly string[]) => {
    const shared = await openValkey({
      valkeyUrl: valkey.url,
      valkeyTimeoutMs: 2_000,
      node: keys.join(),
      cipherKeys: keys.map(keyOf),
      clock: systemClock,
      ids: randomIds(),
      notice: () => undefined,
    })
    assert.ok(shared !== null)
    await shared.start({ tellWindows: () => Promise.resolve(), findStream: () => null })
    const cache = new TokenCache({ clock: systemClock, env: {}, random: () => 0, share: shared.tokens })
    const entry = { type: 'oauth', token_url: `${upstream.url}/token`, key: 'a2V5' } as const
    const provider = { ...endpoint('p').provider, auth: providerAuth(entry, '', true) }
    return {
      value: async (): Promise<string> => {
        const got = await cache.get(provider)
        return isRefused(got) ? got.detail : got.value
      },
      refused: (value: string) => cache.refused(provider, value),
      close: async () => {
        await Promise.all([cache.close(), shared.stop()])
      },
    }
  }
  const nodes = [await node('one'), await node('one'), await node('two', 'one'), await node('other')] as const
  try {
    assert.equal(await nodes[0].value(), 'secret-token-1')
    assert.equal(await nodes[1].value(), 'secret-token-1')
    // A key that was rotated away still opens what it encrypted.
    assert.equal(await nodes[2].value(), 'secret-token-1')
    assert.equal(await nodes[3].value(), 'secret-token-2')
    for (const name of (await valkey.names()).flat()) {
      assert.match(name, /^tollgate:token:[\w-]+$/)
      assert.ok(!String(await valkey.command('GET', name)).includes('secret-token'))
      assert.ok(Number(await valkey.command('PTTL', name)) > 0)
      await valkey.command('SET', name, 'planted')
    }
    nodes[1].refused('secret-token-1')
    assert.equal(await nodes[1].value(), 'secret-token-3')
    // A node without Valkey gets its own.
    await valkey.kill()
    nodes[1].refused('secret-token-3')
    assert.equal(await nodes[1].value(), 'secret-token-4')
  } finally {
    await Promise.all(nodes.map((one) => one.close()))
    await Promise.all([upstream.close(), valkey.stop()])
  }
})
