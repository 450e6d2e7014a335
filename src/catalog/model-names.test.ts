import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING } from './catalog-state.ts'
import { catalogNotes } from './catalog-notes.ts'
import type { Snapshot } from './catalog.ts'
import { parseDocumentText } from './document-reader.ts'
import type { CatalogDocument } from './document.ts'
import { buildSnapshot } from './snapshot.ts'
import { adaptersNamed } from '../../test/harness/adapters-named.ts'

function document(models: readonly string[], head = ''): CatalogDocument {
  const rows = models.map(
    (fields) =>
      `  - { type: embeddings, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 1 } }], ${fields} }`,
  )
  const text = `bundled: false\n${head}\nproviders: { p: { adapter: openai } }\nmodels:\n${rows.join('\n')}\n`
  const read = parseDocumentText(text, { adapters: adaptersNamed('openai'), env: {} })
  assert.deepEqual(read.problems, [])
  return read.document
}
const named = (models: readonly string[], head = ''): Snapshot['aliases'] =>
  buildSnapshot(document(models, head), adaptersNamed('openai'), 1, 0).aliases
const warned = (models: readonly string[], head = ''): readonly object[] =>
  catalogNotes({ ...NOTHING, own: document(models, head) }, []).map(({ warning, params }) => ({ warning, params }))

test('the last segment of an id is a name of its model while no other model has it', () => {
  assert.deepEqual(
    [...named(['id: a/one', 'id: b/two'])],
    [
      ['one', 'a/one'],
      ['two', 'b/two'],
    ],
  )
  assert.deepEqual([...named(['id: a/one', 'id: b/one'])], [])
  assert.deepEqual([...named(['id: a/one', 'id: b/one, active: false'])], [['one', 'a/one']])
})

test('an alias beats a bare name', () => {
  assert.equal(named(['id: a/one', 'id: b/two, aliases: [one]']).get('one'), 'b/two')
  assert.equal(named(['id: a/one', 'id: b/one, aliases: [one]']).get('one'), 'b/one')
})

test('model_fallbacks maps names that nothing has, by id, alias or bare name; a name on sale keeps its model', () => {
  const head = 'model_fallbacks: { small: b/two, "x/tiny-4.5": two, one: b/two, "a/one": b/two, gone: c/none }'
  const names = named(['id: a/one', 'id: b/two'], head)
  assert.equal(names.get('small'), 'b/two')
  assert.equal(names.get('x/tiny-4.5'), 'b/two')
  assert.equal(names.get('one'), 'a/one')
  assert.equal(names.has('a/one'), false)
  assert.equal(names.has('gone'), false)
  assert.equal(named(['id: a/one', 'id: b/one'], 'model_fallbacks: { one: b/one }').get('one'), 'b/one')
  // Stand-ins do not chain: the target must be a model.
  assert.equal(named(['id: a/one'], 'model_fallbacks: { x: y, y: a/one }').has('x'), false)
})

test('check warns of names that several models share and of stand-ins that are not on sale', () => {
  assert.deepEqual(warned(['id: a/one', 'id: b/two'], 'model_fallbacks: { x: two }'), [])
  assert.deepEqual(warned(['id: a/one', 'id: b/one', 'id: c/one']), [
    { warning: 'names_shared', params: { count: 1, name: 'one', models: 'a/one, b/one, c/one' } },
  ])
  assert.deepEqual(warned(['id: a/one', 'id: b/one, aliases: [one]']), [])
  assert.deepEqual(warned(['id: a/one'], 'model_fallbacks: { x: c/none }'), [
    { warning: 'fallback_unknown', params: { name: 'x', model: 'c/none' } },
  ])
})
