import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { Bench } from '../../test/store/ledger-fixture.ts'
import { KEY_WRAP } from '../../test/harness/key-wrap.ts'
import { openStore } from '../store/open.ts'
import { SqliteDatabase } from '../store/sqlite/database.ts'
import { digestText } from './api-key.ts'
import { KeyCache } from './key-cache.ts'
import { freshFolder, lasting } from '../../test/harness/lasting.ts'

const HOUR_MS = 3_600_000

test('keys that are not there are remembered up to a bound, the oldest forgotten first', async () => {
  const dataDir = freshFolder()
  const store = await lasting(openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP }))
  const cache = new KeyCache({ keys: store.keys, clock: systemClock, entriesMax: 2 })
  const digests = ['one', 'two', 'three'].map(digestText)
  for (const digest of digests) assert.equal(await cache.find(digest), null)
  const [one, two, three] = digests.map((digest) => cache.find(digest))
  assert.ok(one instanceof Promise, 'asked for again')
  assert.deepEqual([two, three, await one], [null, null, null])
})

test('where one process writes, a key is looked up again only after something was written', async () => {
  const dataDir = freshFolder()
  const store = await lasting(openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP }))
  const clock = movingClock()
  const bench = new Bench(store, clock)
  const customer = await bench.customer(1_000_000n)
  const digest = customer.digest.toString('base64url')
  const cache = new KeyCache({ keys: store.keys, clock })
  const found = await cache.find(digest)
  assert.equal(found?.principal.keyId, customer.keyId)
  clock.advance(HOUR_MS)
  await store.keys.touch([customer.keyId], clock.now())
  assert.equal(cache.find(digest), found, 'the time of a use is no change')
  await bench.hold(customer, 5n)
  assert.equal(cache.find(digest), found, 'money that is held is none either')
  await store.keys.update(customer.keyId, { disabled: true }, bench.ledger.periods(clock.now()))
  clock.advance(HOUR_MS)
  assert.equal((await cache.find(digest))?.disabled, true)
})

test('what is read while a write is under way counts as read before it', async () => {
  const dataDir = freshFolder()
  const database = new SqliteDatabase(dataDir)
  try {
    let changes = 0
    await database.transaction(async () => {
      changes = database.coldWrites
    })
    assert.notEqual(database.coldWrites, changes)
  } finally {
    await database.close()
  }
})
