import assert from 'node:assert/strict'
import { test } from 'node:test'
import { form } from '../../harness/form.ts'
import { report, soak } from '../../soak/soak.ts'

const SOAK_MS = form({ short: 4_000, long: 20_000 })
/** The figure is 5 % in an hour (`npm run test:soak`); in seconds the garbage collector alone changes it by more. */
const GROWTH_MAX = form({ short: 2, long: 1.4 })

test('R14: at half its peak a node leaks no hold and no descriptor, and its memory stays about what it was', async (context) => {
  const done = await soak(SOAK_MS, (line) => context.diagnostic(line))
  context.diagnostic(report(done))
  assert.deepEqual(done.wrong.slice(0, 3), [])
  assert.deepEqual([done.heldMicro, Math.max(0, done.leakedDescriptors), done.violations], [0, 0, 0])
  assert.ok(done.endBytes <= done.warmBytes * GROWTH_MAX, report(done))
})
