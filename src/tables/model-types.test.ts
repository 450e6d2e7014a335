import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MODEL_TYPE_TABLE, MODEL_TYPES, REQUEST_TYPE_TABLE, REQUEST_TYPES } from './model-types.ts'

function assertUnique(names: readonly string[]): void {
  assert.deepEqual([...new Set(names)], names)
}

test('no value of `filter`, list or route leads to two types', () => {
  const lists = MODEL_TYPES.map((type) => MODEL_TYPE_TABLE[type].list)
  // An alias may repeat the name of its own list.
  assertUnique(lists.flatMap(({ filter, aliases }) => [...new Set([filter, ...aliases])]))
  assertUnique(lists.flatMap(({ path }) => (path === null ? [] : [path])))
  const requests = REQUEST_TYPES.map((type) => REQUEST_TYPE_TABLE[type])
  assertUnique(requests.flatMap(({ paths }) => paths))
  assertUnique(requests.map(({ endpointName }) => endpointName))
})

test('every route of a request type begins with its name', () => {
  for (const type of REQUEST_TYPES) {
    const { paths, endpointName } = REQUEST_TYPE_TABLE[type]
    assert.ok(
      [`/v1/${endpointName}`, `/${endpointName}`, `/v1beta/models/*model:${endpointName}`].includes(paths[0]),
      paths[0],
    )
  }
})
