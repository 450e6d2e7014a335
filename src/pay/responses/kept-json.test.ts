import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { elementsOf } from './kept-json.ts'

const parsed = (json: Buffer): Promise<unknown[]> =>
  Array.fromAsync(elementsOf(json), (element): unknown => JSON.parse(element.toString('utf8')))

test('the elements of an array are those that JSON.parse finds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), async (values) => {
      const text = JSON.stringify(values)
      assert.deepEqual(await parsed(Buffer.from(text)), JSON.parse(text))
    }),
  )
  for (const value of ['\\', '\\"', '"]', '{[', ',', ''])
    assert.deepEqual(await parsed(Buffer.from(JSON.stringify([value, value]))), [value, value])
})

test('others have their turn while a large array is read', async () => {
  const json = Buffer.from(JSON.stringify(Array.from({ length: 90_000 }, (_, at) => ({ at, text: '"'.repeat(40) }))))
  let turns = 0
  let isRead = false
  const count = (): void => {
    turns += 1
    if (!isRead) setImmediate(count)
  }
  setImmediate(count)
  assert.equal((await parsed(json)).length, 90_000)
  isRead = true
  assert.ok(turns >= json.length / 1_048_576 - 1, `${turns} turns in ${json.length} bytes`)
})
