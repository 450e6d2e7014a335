import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Bag, type BagItem } from './bag.ts'

test('a bag holds what a set would, whatever joins and leaves, and as often as it does', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ id: fc.nat({ max: 12 }), leaves: fc.boolean() })), (steps) => {
      const items = Array.from({ length: 13 }, (): BagItem => ({ bagPlace: 0 }))
      const bag = new Bag<BagItem>()
      const model = new Set<BagItem>()
      for (const { id, leaves } of steps) {
        const item = items[id]
        assert.ok(item !== undefined)
        if (leaves) {
          bag.delete(item)
          model.delete(item)
        } else if (!model.has(item)) {
          bag.add(item)
          model.add(item)
        }
        assert.equal(bag.size, model.size)
        assert.deepEqual(new Set(bag), model)
      }
    }),
  )
})

test('items may leave while the bag is walked', () => {
  const bag = new Bag<BagItem>()
  for (let place = 0; place < 5; place += 1) bag.add({ bagPlace: 0 })
  let walked = 0
  for (const item of bag) {
    walked += 1
    bag.delete(item)
  }
  assert.deepEqual([walked, bag.size], [5, 0])
})
