import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JournalBytes, RowJournal, leftRecords, recordBytes } from './row-journal.ts'

const HALF = 1_024

class MemoryBytes implements JournalBytes {
  readonly halfBytes = HALF
  readonly bytes = Buffer.alloc(2 * HALF)
  read(): Buffer {
    return this.bytes
  }
  allocate(): void {}
  /** The disk says so after it has written. */
  isRefusing = false
  write(bytes: Buffer, at: number): void {
    bytes.copy(this.bytes, at)
    if (this.isRefusing) throw new Error('refused')
  }
  async sync(): Promise<void> {}
  close(): void {}
}

test('a record that the disk refused and has nevertheless is never read in the place of a later one', () => {
  const bytes = new MemoryBytes()
  const journal = new RowJournal(bytes, { position: 0n, mark: 9 })
  journal.append(Buffer.from('first'))
  bytes.isRefusing = true
  assert.throws(() => journal.append(Buffer.from('refused')), /refused/)
  bytes.isRefusing = false
  // As after every failure: the tables take all there is, and the journal begins anew.
  const { position } = journal.position
  journal.restart()
  journal.append(Buffer.from('next'))
  assert.deepEqual(
    leftRecords(bytes.bytes, { position, mark: 9 }).payloads.map((payload) => payload.toString()),
    ['next'],
  )
})

test('records come back in order, from the position on, over both halves; a half is written again only when its rows are on the disk', async () => {
  const bytes = new MemoryBytes()
  const start = { position: 40n, mark: 9 }
  const journal = new RowJournal(bytes, start)
  const payload = (number: number) => Buffer.from(`row ${number} ${'x'.repeat(100)}`)
  const texts = (position: bigint) =>
    leftRecords(bytes.bytes, { position, mark: 9 }).payloads.map((one) => one.toString().split(' ')[1])
  for (const number of [41, 42, 43]) journal.append(payload(number))
  const durable = Promise.withResolvers<void>()
  journal.leave()
  const freed = journal.freed(() => durable.promise)
  for (const number of [44, 45, 46]) journal.append(payload(number))
  assert.deepEqual(texts(40n), ['41', '42', '43', '44', '45', '46'])
  // The other half is not free.
  journal.leave()
  journal.append(payload(47))
  assert.deepEqual(texts(43n), ['44', '45', '46', '47'])
  durable.resolve()
  await freed
  journal.leave()
  journal.append(payload(48))
  assert.deepEqual(texts(43n), ['44', '45', '46', '47', '48'], 'now the first half is written over')
  assert.deepEqual(leftRecords(bytes.bytes, { position: 43n, mark: 8 }).payloads, [], 'of another store')
  assert.equal(journal.fits(HALF), false)
})

test('a record counts only with all before it: those behind one that is torn are left out, and counted', () => {
  const bytes = new MemoryBytes()
  const journal = new RowJournal(bytes, { position: 0n, mark: 1 })
  const payload = Buffer.from('x'.repeat(40))
  for (let number = 0; number < 4; number += 1) journal.append(payload)
  const each = recordBytes(payload.length)
  const flip = (at: number): void => {
    bytes.bytes.writeUInt8(bytes.bytes.readUInt8(at) ^ 1, at)
  }
  const left = () => {
    const { payloads, cut } = leftRecords(bytes.bytes, { position: 0n, mark: 1 })
    return [payloads.length, cut]
  }
  flip(3 * each + 30)
  assert.deepEqual(left(), [3, 0])
  flip(each + 30)
  assert.deepEqual(left(), [1, 1])
  flip(each + 30)
  assert.deepEqual(left(), [3, 0])
})
