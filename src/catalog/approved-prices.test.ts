import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvedAfter, withApproved } from './price-list.ts'
import { EMPTY_DOCUMENT, type CatalogDocument, type ModelEntry } from './document.ts'

function model(prompt: string, id = 'acme/m'): ModelEntry {
  return {
    id,
    type: 'chat',
    context_length: 1_000,
    endpoints: [{ provider: 'p', model: 'm', price: { currency: 'USD', prompt } }],
  }
}

function document(...models: readonly ModelEntry[]): CatalogDocument {
  return { ...EMPTY_DOCUMENT, models }
}

const promptOf = (models: readonly ModelEntry[]): unknown => models[0]?.endpoints[0]?.price.prompt

test('a row keeps the price that a person approved while machines change it, and when it goes and comes back', () => {
  const [one, two, three] = [model('1'), model('1.2'), model('9')]
  const changed = approvedAfter({}, document(one), document(two), null)
  const again = approvedAfter(changed, document(two), document(model('1.24')), null)
  assert.deepEqual(Object.values(again), [{ currency: 'USD', prompt: '1' }])
  const gone = approvedAfter(again, document(model('1.24')), document(), [])
  assert.equal(promptOf(withApproved([three], [], gone)), '1', 'a release cannot bring it back at its own price')
  assert.equal(promptOf(withApproved([three], [two], gone)), '9', 'a row that stayed is left alone')
  assert.deepEqual(approvedAfter(gone, document(), document(three), [three]), {}, 'a person names its price')
  const other = approvedAfter(again, document(two), document(two, model('3', 'acme/other')), [
    two,
    model('3', 'acme/other'),
  ])
  assert.deepEqual(other, again, 'what a person leaves as it is, they do not approve')
})
