import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../lib/clock.ts'
import { KEY_WRAP } from '../../test/harness/key-wrap.ts'
import { openStore } from '../store/open.ts'
import { digestText } from './api-key.ts'
import { KeyCache } from './key-cache.ts'

test('keys that are not there are remembered up to a bound, the oldest forgotten first', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-keys-'))
  const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
  try {
    const cache = new KeyCache({ keys: store.keys, clock: systemClock, entriesMax: 2 })
    const digests = ['one', 'two', 'three'].map(digestText)
    for (const digest of digests) assert.equal(await cache.find(digest), null)
    const [one, two, three] = digests.map((digest) => cache.find(digest))
    assert.ok(one instanceof Promise, 'asked for again')
    assert.deepEqual([two, three, await one], [null, null, null])
  } finally {
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
