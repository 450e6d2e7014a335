import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movingClock } from '../../../test/harness/moving-clock.ts'
import { ClientEnd } from './client-end.ts'
import { BufferBudget, EventBuffer } from './event-buffer.ts'

/** The text that a client gets during ten silent seconds. */
function silence(keepAlive?: Buffer, buffer: EventBuffer | null = null): string {
  const clock = movingClock()
  const client = new ClientEnd(buffer, clock, keepAlive)
  let text = ''
  const write = (bytes: Buffer): boolean => {
    text += bytes.toString('utf8')
    return true
  }
  client.wait(() => ({ write, end: write, reset: () => undefined }))
  client.keepAlive(clock.monotonic() + 9_999)
  assert.equal(text, '')
  client.keepAlive(clock.monotonic() + 10_000)
  return text
}

test('a silent stream says so: by a comment, or in the words of its protocol', () => {
  assert.equal(silence(), ': PROCESSING\n\n')
  assert.equal(silence(undefined, new EventBuffer(new BufferBudget())), ': PROCESSING\n')
  assert.equal(silence(Buffer.from('event: ping\n\n')), 'event: ping\n\n')
})
