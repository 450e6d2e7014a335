import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { auditClean } from '../../harness/api-client.ts'
import { isLong } from '../../harness/form.ts'
import { ask, NodeBench, until } from '../../harness/node-bench.ts'
import { recordTests } from '../../api/record-tests.ts'
import type { Tollgate } from '../../harness/server.ts'

/** guarantees.md 6 and S7: an administrator's change applies on every node within this time. */
const SEEN_MS = 5_000
const PROXIED = { TRUSTED_PROXIES: '127.0.0.1' }
/** Refused secrets count against this address only. */
const ELSEWHERE = { 'x-forwarded-for': '192.0.2.7' }
const MODEL =
  '{ id: test/priced, type: chat, context_length: 128000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }'

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('nodes on one database: no PostgreSQL on this machine')
else sharingTests(bench)

function sharingTests(shared: NodeBench): void {
  describe('nodes on one database', async () => {
    const database = await shared.newDatabase()
    const one = await shared.node(database, {
      catalog: `ip_block: { failures: 5, window: 60, duration: 600 }\nmodels: [${MODEL}]`,
      env: PROXIED,
    })
    const two = await shared.node(database, { env: PROXIED })
    after(() => shared.stop())

    test('S7: a deactivated key, and a locked account, are refused everywhere in 5 s', async () => {
      const { id, key, keyId } = await one.createAccount()
      const balance = (): Promise<number> => two.get('/v1/user/balance', key).then(({ status }) => status)
      assert.equal((await ask(two, key, 'words=1')).status, 200)
      await one.admin('PATCH', `/admin/v1/keys/${keyId}`, { disabled: true })
      assert.equal((await ask(two, key, 'words=1')).status, 403, 'nothing is sold to it from the moment of the change')
      await until(SEEN_MS, 'the key is refused', async () => (await balance()) === 403)
      await one.admin('PATCH', `/admin/v1/keys/${keyId}`, { disabled: false })
      await until(SEEN_MS, 'the key works again', async () => (await balance()) === 200)
      await one.admin('PATCH', `/admin/v1/accounts/${id}`, { status: 'locked' })
      await until(SEEN_MS, 'the account is refused', async () => (await balance()) === 403)
    })

    recordTests(() => [one, two])

    test('S7: a replaced secret works everywhere until its grace ends, and without one it is refused everywhere in 5 s', async () => {
      const { key, keyId } = await one.createAccount()
      const balance = async (node: Tollgate, secret: string): Promise<number> =>
        (await node.request('GET', '/v1/user/balance', { key: secret, headers: ELSEWHERE })).status
      const rotate = async (node: Tollgate, graceSeconds: number): Promise<string> =>
        (await node.admin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds: graceSeconds })).body.key
      assert.equal(await balance(two, key), 200)
      const second = await rotate(one, 3_600)
      assert.deepEqual([await balance(two, second), await balance(two, key), await balance(one, key)], [200, 200, 200])
      const [third, fourth] = await Promise.all([rotate(one, 3_600), rotate(two, 3_600)])
      for (const secret of [key, second, third, fourth])
        assert.deepEqual([await balance(one, secret), await balance(two, secret)], [200, 200])
      const fifth = await rotate(two, 0)
      assert.deepEqual([await balance(one, fifth), await balance(two, fifth)], [200, 200])
      for (const secret of [key, second, third, fourth])
        await until(SEEN_MS, 'the secret is refused', async () => (await balance(one, secret)) === 401)
      const sixth = await rotate(one, 2)
      await until(SEEN_MS + 2_000, 'the grace ends', async () => (await balance(two, fifth)) === 401)
      assert.equal(await balance(two, sixth), 200)
    })

    test('a price changed on one node is charged by the other within 5 s, and simultaneous changes on both are kept', async () => {
      const { key } = await one.createAccount()
      // "Hello" and its line are 10 tokens for the sandbox, the answer 9.
      const cost = async (): Promise<number> =>
        (await ask(two, key, 'words=9', { model: 'test/priced' })).body.usage.cost
      // Another test has changed the markup before, and back.
      await until(SEEN_MS, 'the first price', async () => (await cost()) === (10 * 15 + 9 * 60) / 1e6)
      const priced = (completion: number): unknown => ({
        type: 'chat',
        context_length: 128_000,
        endpoints: [{ provider: 'sandbox', model: 'chat', price: { currency: 'RUB', prompt: 15, completion } }],
      })
      assert.equal((await one.admin('PUT', '/admin/v1/models/test/priced', priced(600))).status, 200)
      await until(SEEN_MS, 'the new price', async () => (await cost()) === (10 * 15 + 9 * 600) / 1e6)
      const added = Array.from({ length: 6 }, (_, index) =>
        (index % 2 === 0 ? one : two).admin('PUT', `/admin/v1/models/test/m${index}`, priced(1)),
      )
      assert.deepEqual(
        (await Promise.all(added)).map(({ status }) => status),
        [201, 201, 201, 201, 201, 201],
      )
      await until(SEEN_MS, 'all models', async () => {
        const { body } = await one.get('/v1/models', key)
        return body.data.filter(({ id }: { id: string }) => id.startsWith('test/m')).length === 6
      })
    })

    test('maintenance begins and ends on every node in 5 s', async () => {
      const { key } = await one.createAccount()
      await one.admin('PATCH', '/admin/v1/settings', { maintenance: { message: 'Back soon' } })
      await until(SEEN_MS, 'it begins', async () => (await ask(two, key, 'words=1')).status === 503)
      await two.admin('PATCH', '/admin/v1/settings', { maintenance: null })
      await until(SEEN_MS, 'it ends', async () => (await ask(one, key, 'words=1')).status === 200)
    })

    test('without Valkey a rate limit is at most L + N - 1 over N nodes, and its headers say so', async () => {
      const limit = 9
      const { key } = await one.createAccount({ account: { rate_limit: { requests: limit, window: 600 } } })
      // A node counts the others at its next heartbeat.
      const nodes = [one, two]
      const answers = []
      for (let count = 0; count < 2 * limit; count += 1)
        answers.push(await (nodes[count % 2] ?? one).get('/v1/models', key))
      const accepted = answers.filter(({ status }) => status === 200).length
      assert.ok(accepted >= limit && accepted <= limit + nodes.length - 1, String(accepted))
      for (const { headers } of answers) assert.equal(headers['x-ratelimit-limit'], String(limit))
      assert.equal(answers.at(-1)?.headers['x-ratelimit-remaining'], '0')
    })

    test('an address that one node blocks is blocked by the other in 5 s', async () => {
      const known = await one.createAccount()
      assert.equal((await two.get('/v1/models', known.key)).status, 200, 'proved itself before')
      for (let count = 0; count < 5; count += 1) assert.equal((await one.request('GET', '/v1/models')).status, 401)
      assert.equal((await one.request('GET', '/v1/models')).status, 429)
      // A key is used only once: one that worked from there is not blocked, and failures on this node would start its
      // own block.
      await until(SEEN_MS, 'the block', async () => (await two.admin('GET', '/admin/v1/ip-blocks')).body.total === 1)
      const fresh = await one.createAccount()
      assert.equal((await two.get('/v1/models', fresh.key)).status, 429)
      assert.equal((await two.get('/v1/models', known.key)).status, 200)
      await unblockedEverywhere([one, two], fresh.key)
    })

    test('TOLLGATE_WORKERS and a schema that is too new: one clear line', async () => {
      await assert.rejects(shared.node(database, { env: { TOLLGATE_WORKERS: '2', DATABASE_URL: '' } }), /DATABASE_URL/)
      const migrated = await copyOfSchema(shared)
      const client = new pg.Client({ connectionString: migrated })
      await client.connect()
      await client.query(
        "INSERT INTO schema_version (version, name, least, checksum) VALUES (900, 'of the next release', 1, 'x')",
      )
      if (isLong)
        assert.equal(
          (await (await shared.node(migrated)).request('GET', '/readyz')).status,
          200,
          'a newer schema that this program can live with',
        )
      await client.query(
        "INSERT INTO schema_version (version, name, least, checksum) VALUES (901, 'of the one after', 900, 'x')",
      )
      await assert.rejects(shared.node(migrated), /schema 901.*start the newer version/)
      await client.query(
        "DELETE FROM schema_version WHERE version >= 900; UPDATE schema_version SET checksum = 'x' WHERE version = 1",
      )
      if (isLong) await assert.rejects(shared.node(migrated), /Migration 1 of the store is not the one of this program/)
      await client.end()
    })

    test('the audit is clean after all of it', () => auditClean(one))
  })
}

/** The second node lifts the first one's block: both accept the key again, and another failure counts from zero. */
async function unblockedEverywhere([one, two]: readonly [Tollgate, Tollgate], key: string): Promise<void> {
  const { body } = await two.admin('GET', '/admin/v1/ip-blocks')
  const [blocked] = body.data
  assert.equal(blocked.times, 1)
  assert.equal((await two.admin('DELETE', `/admin/v1/ip-blocks/${encodeURIComponent(blocked.ip)}`)).status, 200)
  assert.equal((await two.get('/v1/models', key)).status, 200)
  await until(
    SEEN_MS,
    'the end of the block',
    async () => (await one.admin('GET', '/admin/v1/ip-blocks')).body.total === 0,
  )
  for (const node of [one, two]) assert.equal((await node.request('GET', '/v1/models')).status, 401)
  assert.equal((await two.admin('DELETE', `/admin/v1/ip-blocks/${encodeURIComponent(blocked.ip)}`)).status, 404)
}

/** A database that a node has migrated. */
async function copyOfSchema(shared: NodeBench): Promise<string> {
  const database = await shared.newDatabase()
  await (await shared.node(database)).kill('SIGKILL')
  return database
}
