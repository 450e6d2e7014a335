import assert from 'node:assert/strict'
import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Journal } from '../../src/ledger/end-journal.ts'
import { openJournal } from '../../src/store/sqlite/journal-file.ts'
import { freshFolder } from '../harness/lasting.ts'

const SEGMENT_BYTES = 8 * 1_048_576

async function withDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = freshFolder()
  try {
    await body(directory)
  } finally {
  }
}

const payload = (text: string): Buffer => Buffer.from(text)
const texts = (journal: Journal): string[] => journal.left.map(({ payload: bytes }) => bytes.toString('utf8'))

test('an appended record outlives the process until it is settled', () =>
  withDirectory(async (directory) => {
    const first = await openJournal(directory)
    assert.deepEqual(first.left, [])
    const tickets = await first.append(['one', 'two', 'three'].map(payload))
    assert.equal(first.open, 3)
    await first.close()
    const second = await openJournal(directory)
    assert.deepEqual(texts(second), ['one', 'two', 'three'])
    assert.equal(second.open, 3)
    for (const { ticket } of second.left) second.settled(ticket)
    await second.close()
    const third = await openJournal(directory)
    assert.deepEqual(texts(third), [])
    assert.equal(tickets.length, 3)
    // Overwrites the old records, whose epoch is over.
    await third.append([payload('1')])
    await third.close()
    const fourth = await openJournal(directory)
    assert.deepEqual(texts(fourth), ['1'])
    await fourth.close()
  }))

test('it is allocated whole before it is needed, and grows no more', () =>
  withDirectory(async (directory) => {
    const journal = await openJournal(directory)
    const sizes = (): number[] =>
      readdirSync(join(directory, '0'))
        .filter((name) => name.endsWith('.journal'))
        .map((name) => statSync(join(directory, '0', name)).size)
    const blocks = (): number[] =>
      readdirSync(join(directory, '0'))
        .filter((name) => name.endsWith('.journal'))
        .map((name) => statSync(join(directory, '0', name)).blocks * 512)
    assert.deepEqual(
      sizes(),
      Array.from({ length: 8 }, () => SEGMENT_BYTES),
    )
    assert.ok(
      blocks().every((bytes) => bytes >= SEGMENT_BYTES),
      'the blocks are there, not a hole',
    )
    await journal.append(Array.from({ length: 20_000 }, (_value, index) => payload(`${index} ${'x'.repeat(1_000)}`)))
    assert.deepEqual(
      sizes(),
      Array.from({ length: 8 }, () => SEGMENT_BYTES),
    )
    await journal.close()
  }))

test('a torn last record is passed over, and so is a corrupt one: the records after it count', () =>
  withDirectory(async (directory) => {
    const journal = await openJournal(directory)
    await journal.append(['first', 'second', 'third', 'torn'].map(payload))
    await journal.close()
    const file = openSync(join(directory, '0', '0.journal'), 'r+')
    // Each record takes 32 bytes after the header of 64: its own header of 24, its payload, and padding.
    writeSync(file, 'S', 64 + 32 + 24)
    writeSync(file, Buffer.alloc(8), 0, 8, 64 + 3 * 32 + 24)
    closeSync(file)
    const after = await openJournal(directory)
    assert.deepEqual(texts(after), ['first', 'third'])
    await after.close()
  }))

test('records of a segment whose header is spoilt are still read', () =>
  withDirectory(async (directory) => {
    const journal = await openJournal(directory)
    await journal.append([payload('kept')])
    await journal.close()
    const file = openSync(join(directory, '0', '0.journal'), 'r+')
    writeSync(file, Buffer.alloc(64), 0, 64, 0)
    closeSync(file)
    const after = await openJournal(directory)
    assert.deepEqual(texts(after), ['kept'])
    await after.close()
  }))

test('when every segment holds something open it refuses, and takes more as soon as one is settled', () =>
  withDirectory(async (directory) => {
    const journal = await openJournal(directory)
    const large = payload('x'.repeat(1_000_000))
    const tickets = []
    for (let count = 0; count < 64; count += 1) tickets.push(...(await journal.append([large])))
    await assert.rejects(journal.append([large]), /full/)
    for (const ticket of tickets) if (ticket.segment === 3) journal.settled(ticket)
    await journal.append([large])
    await assert.rejects(journal.append([payload('x'.repeat(2_097_153))]), /too large/)
    await journal.close()
  }))

test('two processes have separate slots; the records of a dead one go to the next that starts', () =>
  withDirectory(async (directory) => {
    const first = await openJournal(directory)
    const second = await openJournal(directory)
    await first.append([payload('of the first')])
    await second.append([payload('of the second')])
    await second.close()
    assert.deepEqual(readdirSync(directory).toSorted(), ['0', '1'])
    const third = await openJournal(directory)
    assert.deepEqual(texts(third), ['of the second'])
    await first.close()
    await third.close()
    const alone = await openJournal(directory)
    assert.deepEqual(texts(alone).toSorted(), ['of the first', 'of the second'])
    for (const { ticket } of alone.left) alone.settled(ticket)
    await alone.close()
    assert.deepEqual(texts(await openJournal(directory)), [])
  }))

test('a directory that takes no journal is one clear sentence', () =>
  withDirectory(async (directory) => {
    const file = join(directory, 'file')
    closeSync(openSync(file, 'w'))
    await assert.rejects(openJournal(file), /TOLLGATE_DATA.*64 MB/)
  }))
