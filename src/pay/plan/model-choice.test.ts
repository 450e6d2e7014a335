import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkModalities, chooseModels, type ModelWish } from './model-choice.ts'
import { chat, model, snapshot } from '../../../test/harness/plan-fixture.ts'
import { verdict } from '../../../test/harness/refused.ts'

const catalog = snapshot(
  [
    model('v/m'),
    model('v/other'),
    model('v/free:floor'),
    model('v/off', { active: false }),
    model('v/empty', { endpoints: [] }),
    model('v/embed', { type: 'embeddings' }),
    model('v/say', { type: 'transcription' }),
  ],
  { short: 'v/m' },
)

function wish(fields: Partial<ModelWish>): ModelWish {
  return {
    model: null,
    fallbackModels: [],
    defaultModel: null,
    allowedModels: null,
    type: 'chat',
    ...fields,
  }
}

const chosen = (fields: Partial<ModelWish>): readonly (readonly [string, string | null])[] =>
  chooseModels(wish(fields), catalog).map((one) => [one.model.id, one.sort] as const)
const refused = (fields: Partial<ModelWish>, errorName: string, message: string): void =>
  assert.equal(
    verdict(() => chooseModels(wish(fields), catalog)),
    `${errorName} | ${message}`,
  )

test('id, alias and routing suffix lead to the canonical model', () => {
  assert.deepEqual(chosen({ model: 'v/m' }), [['v/m', null]])
  assert.deepEqual(chosen({ model: 'short' }), [['v/m', null]])
  assert.deepEqual(chosen({ model: 'v/m:nitro' }), [['v/m', 'throughput']])
  assert.deepEqual(chosen({ model: 'short:floor' }), [['v/m', 'price']])
  assert.deepEqual(chosen({ model: 'v/free:floor' }), [['v/free:floor', null]])
})

test('an omitted model is the default one, unless models[] names some', () => {
  assert.deepEqual(chosen({ defaultModel: 'v/other' }), [['v/other', null]])
  assert.deepEqual(chosen({ defaultModel: 'v/other', fallbackModels: ['v/m'] }), [['v/m', null]])
  assert.deepEqual(chosen({ model: 'v/m', fallbackModels: ['v/other', 'short'] }), [
    ['v/m', null],
    ['v/other', null],
  ])
  refused({}, 'missing_model', "Parameter 'model' is required")
})

test('an unknown model is passed over where another is known, wherever it stands', () => {
  assert.deepEqual(chosen({ model: 'nope', fallbackModels: ['v/m'] }), [['v/m', null]])
  assert.deepEqual(chosen({ model: 'v/m', fallbackModels: ['nope', 'v/off', 'v/other'] }), [
    ['v/m', null],
    ['v/other', null],
  ])
  assert.deepEqual(chosen({ fallbackModels: ['nope', 'v/m'] }), [['v/m', null]])
})

test('unknown, inactive, endpointless and differently cased models are model_not_found', () => {
  for (const id of ['nope', 'v/off', 'v/empty', 'V/M', 'v/m:fast', 'constructor'])
    refused({ model: id }, 'model_not_found', `Model '${id}' not found or inactive`)
  refused(
    { model: 'nope', fallbackModels: ['v/off', 'neither'] },
    'model_not_found',
    "Model 'nope' not found or inactive",
  )
})

test('a model of another kind is model_not_supported and says where it works', () => {
  refused(
    { model: 'v/embed' },
    'model_not_supported',
    "Model 'v/embed' does not support chat/completions. Supported: embeddings",
  )
  refused(
    { model: 'v/say' },
    'model_not_supported',
    "Model 'v/say' does not support chat/completions. Supported: audio/transcriptions, audio/translations",
  )
})

test('403: a key reaches only its allowed models, by canonical id', () => {
  const allowedModels = new Set(['v/m'])
  assert.deepEqual(chosen({ model: 'short:nitro', allowedModels }), [['v/m', 'throughput']])
  refused({ model: 'v/other', allowedModels }, 'access_denied', "This key has no access to model 'v/other'")
  refused(
    { model: 'v/m', fallbackModels: ['v/other'], allowedModels },
    'access_denied',
    "This key has no access to model 'v/other'",
  )
})

test('parts that the model cannot read are model_not_supported', () => {
  const request = chat({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://x/i' } }] }],
  })
  checkModalities(model('v/m', { inputModalities: ['text', 'image'] }), request)
  assert.throws(() => checkModalities(model('v/m'), request), {
    message: "Model 'v/m' does not support image input. Supported: text",
  })
})
