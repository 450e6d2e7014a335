import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEPT_BYTES_MAX, KeptRoom } from './idempotent-calls.ts'

const MEGABYTE = 1_048_576
const MOST = KEPT_BYTES_MAX / MEGABYTE

test('calls at once never keep more than the room of their account, whenever the store is read', async () => {
  const room = new KeptRoom()
  let stored = 0
  const calls = await Promise.all(Array.from({ length: 300 }, () => room.begin('one', async () => stored)))
  let kept = 0
  for (const [index, call] of calls.entries()) {
    if (call.take(MEGABYTE)) kept += 1
    assert.equal(call.take(MEGABYTE), index < MOST, 'asked for twice, it takes room once')
    if (index % 2 === 0) {
      // The call's answer is committed, and other calls look at the store meanwhile.
      if (call.isKept === true) stored += MEGABYTE
      call.end()
      const late = await room.begin('one', async () => stored)
      assert.equal(late.take(null), false)
      late.end()
    }
  }
  assert.equal(kept, MOST)
  const other = await room.begin('two', async () => 0)
  assert.equal(other.take(MEGABYTE), true)
  for (const [index, call] of calls.entries()) if (index % 2 === 1) call.end()
  const expired = await room.begin('one', async () => 0)
  assert.equal(expired.take(MEGABYTE), true, 'there is room again when answers have expired')
})
