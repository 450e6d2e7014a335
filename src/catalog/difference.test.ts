import assert from 'node:assert/strict'
import { test } from 'node:test'
import { difference } from './difference.ts'
import { EMPTY_DOCUMENT, type CatalogDocument } from './document.ts'

const BEFORE: CatalogDocument = {
  bundled: true,
  settings: { markup: '1.2', rates: { USD: '90', EUR: '100' }, timezone: 'UTC' },
  providers: { kept: { adapter: 'openai', api_key: ['sk-old-secret'] }, gone: { adapter: 'openai' } },
  models: [
    {
      id: 'v/kept',
      type: 'chat',
      context_length: 10,
      aliases: ['a'],
      endpoints: [
        { provider: 'kept', model: 'm', price: { currency: 'USD', prompt: '0.15', completion: '2' } },
        { provider: 'gone', model: 'm', price: { currency: 'RUB', prompt: '1', completion: '1' } },
      ],
    },
    { id: 'v/gone', type: 'embeddings', endpoints: [] },
  ],
}
const AFTER: CatalogDocument = {
  bundled: false,
  settings: { markup: '1.25', rates: { USD: '90', CNY: '12' }, timezone: 'UTC' },
  providers: {
    kept: { adapter: 'openai', api_key: ['sk-new-secret'], timeouts: { connect: 5 } },
    added: { adapter: 'sandbox', api_key: ['sk-added-secret'] },
  },
  models: [
    {
      id: 'v/kept',
      type: 'chat',
      context_length: 20,
      aliases: ['a', 'b'],
      name: 'Kept',
      endpoints: [
        { provider: 'added', model: 'x', price: { currency: 'RUB', prompt: '1', completion: '1' } },
        { provider: 'kept', model: 'm', price: { currency: 'USD', prompt: '0.16', completion: '2', request: '0' } },
      ],
    },
    { id: 'v/added', type: 'rerank', endpoints: [] },
  ],
}

test('a document differs from itself by nothing', () => {
  assert.deepEqual(difference(BEFORE, structuredClone(BEFORE)), [])
  assert.deepEqual(difference(EMPTY_DOCUMENT, EMPTY_DOCUMENT), [])
})

test('one line for each thing added, removed or changed, down to the single price; no credential', () => {
  const lines = difference(BEFORE, AFTER)
  assert.deepEqual(
    lines.toSorted(),
    [
      '~ bundled: true → false',
      '~ settings: markup 1.2 → 1.25',
      '~ settings: rates: EUR 100 → absent',
      '~ settings: rates: CNY absent → 12',
      '~ provider kept: api_key changed',
      '~ provider kept: timeouts absent → {"connect":5}',
      '- provider gone',
      '+ provider added',
      '~ model v/kept: context_length 10 → 20',
      '~ model v/kept: aliases ["a"] → ["a","b"]',
      '~ model v/kept: name absent → "Kept"',
      '~ model v/kept: endpoint kept/m: price: prompt 0.15 → 0.16',
      '~ model v/kept: endpoint kept/m: price: request absent → 0',
      '- model v/kept: endpoint gone/m',
      '+ model v/kept: endpoint added/x',
      '- model v/gone',
      '+ model v/added',
    ].toSorted(),
  )
  assert.doesNotMatch(lines.join('\n'), /secret/)
})
