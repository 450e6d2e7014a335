import assert from 'node:assert/strict'
import { test } from 'node:test'
import { form } from '../../harness/form.ts'
import { paced } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { freshFolder } from '../../harness/lasting.ts'

/** Kills at later and later moments of the replacement; the last ones come after its answer. */
const KILLS_MS = form({ short: [0, 3, 12], long: [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30] })

test('kill -9 while a secret is replaced: each secret that was shown still works, and nothing else does', async () => {
  const dataDir = freshFolder()
  let shown: readonly string[] = []
  let keyId = ''
  for (const waitMs of KILLS_MS) {
    const tollgate = await startTollgate({ dataDir, env: { TOLLGATE_LOG_LEVEL: 'error' } })
    if (keyId === '') {
      const made = await tollgate.createAccount({ balance: 100 })
      keyId = made.keyId
      shown = [made.key]
    }
    const replacing = tollgate
      .admin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds: 86_400 })
      .catch(() => null)
    await paced(waitMs, 'the moment of the kill')
    await tollgate.kill('SIGKILL')
    const answer = await replacing
    if (answer?.status === 200) shown = [...shown, String(answer.body.key)]
    const again = await startTollgate({ dataDir, env: { TOLLGATE_LOG_LEVEL: 'error' } })
    for (const key of shown) {
      const { status, text } = await again.get('/v1/key', key)
      assert.equal(status, 200, `after ${waitMs} ms: ${text}`)
    }
    assert.ok((await again.admin('GET', '/admin/v1/audit')).body.ok)
    await again.stop()
  }
})
