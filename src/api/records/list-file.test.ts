import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flag, list, nullable, object, optional, rub, text, whole } from '../../base/schema.ts'
import { listLines, type ListedRows } from './list-file.ts'

const Answer = object({
  data: list(
    object({
      id: text(),
      limit: nullable(object({ requests: whole(), window: whole() })),
      amount: rub(),
      on: flag(),
      scopes: list(text()),
      note: optional(nullable(text())),
    }),
  ),
})
const ROW = { id: 'a', limit: { requests: 5, window: 60 }, amount: -1.5, on: true, scopes: ['x', 'y'], note: null }

async function linesOf(pages: readonly ListedRows[]): Promise<readonly string[]> {
  const asked: (string | null)[] = []
  const pieces: string[] = []
  const lines = listLines(Answer, async (cursor) => {
    asked.push(cursor)
    return pages[asked.length - 1] ?? assert.fail('a page after the last')
  })
  for await (const piece of lines) pieces.push(piece)
  assert.deepEqual(
    asked,
    pages.map((_page, at) => (at === 0 ? null : `after ${at}`)),
  )
  assert.equal(pieces.length, pages.length, 'a piece for each page')
  return pieces.join('').split('\r\n')
}

test('a file has a column for each field of the answer, those of objects too, and all pages', async () => {
  assert.deepEqual(
    await linesOf([
      { data: [ROW], next_cursor: 'after 1' },
      { data: [], next_cursor: 'after 2' },
      { data: [{ ...ROW, id: 'b', limit: null, amount: 0, on: false, scopes: [] }], next_cursor: null },
    ]),
    [
      '\uFEFFid,limit.requests,limit.window,amount,on,scopes,note',
      'a,5,60,-1.5,true,"[""x"",""y""]",',
      'b,,,0,false,[],',
      '',
    ],
  )
})

test('a file without rows has its head; a text is never a formula', async () => {
  assert.deepEqual(await linesOf([{ data: [] }]), ['\uFEFFid,limit.requests,limit.window,amount,on,scopes,note', ''])
  const [, line = ''] = await linesOf([{ data: [{ ...ROW, id: '=1+1', note: '\t@SUM(A1)' }] }])
  assert.match(line, /^'=1\+1,/)
  assert.match(line, /,"\t'@SUM\(A1\)"$/)
})

test('no page is read before the one before it was taken, nor once nobody takes any', async () => {
  let reads = 0
  const lines = listLines(Answer, async () => {
    reads += 1
    return { data: [ROW], next_cursor: 'on' }
  })
  await lines.next()
  await lines.next()
  assert.equal(reads, 2)
  await lines.return()
  assert.deepEqual(await lines.next(), { done: true, value: undefined })
  assert.equal(reads, 2)
})
