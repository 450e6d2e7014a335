import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BUNDLED_FILE, RUBLE_DAYS, rowsDigest } from '../scripts/bundled-catalog.ts'
import { FLAT, HOSTED_STEPS, VENDOR_STEPS } from '../scripts/vendor-steps.ts'
import { readBundledRelease } from '../src/catalog/bundled.ts'
import { checkText } from '../src/catalog/catalog-check.ts'
import { SEARCHES_ALWAYS } from '../src/catalog/feeds/data-set.ts'
import { KNOWN_PROVIDERS } from '../src/catalog/known-providers.ts'
import { uncharged } from '../src/catalog/price-sheet.ts'
import { ownValue } from '../src/base/own-value.ts'
import { KNOWN_ADAPTERS } from '../src/protocols/index.ts'
import { chat, endpoint } from './harness/plan-fixture.ts'
import { openaiBody } from '../src/protocols/openai/provider/openai.ts'

const DAY_MS = 86_400_000
const file = JSON.parse(readFileSync(BUNDLED_FILE, 'utf8'))
const { models } = readBundledRelease()
const rows = models.flatMap((model) => model.endpoints.map((one) => ({ model, one })))

test('nobody has edited the generated file, and each row of it has a page and a day', () => {
  assert.equal(rowsDigest(file.models), file.digest, 'run npm run catalog:bundle')
  for (const { id, endpoints } of file.models)
    for (const { model, price, source, date } of endpoints) {
      assert.match(source, /^https:\/\//, id)
      const day = ownValue(RUBLE_DAYS, model)
      assert.equal(price.currency === 'RUB', day !== undefined, id)
      assert.ok((day === undefined ? [file.published, file.limits_published] : [day]).includes(date), id)
    }
})

test('a release has a bundle that is a week old at most', () => {
  const changes = readFileSync(join(import.meta.dirname, '../CHANGELOG.md'), 'utf8')
  const [, released] = /^## \S+ \((\d{4}-\d{2}-\d{2})\)$/m.exec(changes) ?? []
  if (released === undefined) return
  const days = (Date.parse(released) - Date.parse(file.limits_published)) / DAY_MS
  assert.ok(days <= 7, `npm run catalog:bundle: its lists are ${days} days old`)
})

test("every bundled row passes the catalogue's own reader", () => {
  const providers = Object.fromEntries(KNOWN_PROVIDERS.map(({ slug, adapter }) => [slug, { adapter }]))
  const text = JSON.stringify({ bundled: false, rates: { USD: 100 }, providers, models })
  const { problems } = checkText(text, { adapters: KNOWN_ADAPTERS, env: {} })
  assert.deepEqual(problems, [])
})

test("the rows of vendors that have steps are those of the vendors' pages, both ways", () => {
  const byName = new Map(rows.map(({ one }) => [`${one.provider}/${one.model}`, one.price]))
  const textOf = ({ prompt, completion, input_cache_read: cached }: Readonly<Record<string, unknown>>): unknown => [
    prompt,
    completion,
    cached,
  ]
  for (const { provider, model, above, hours, below, beyond } of VENDOR_STEPS) {
    const price = byName.get(`${provider}/${model}`)
    assert.ok(price !== undefined, `${model} of the table is not in the bundle`)
    assert.deepEqual(textOf({ ...price }), below, model)
    const conditions = above === null ? price.hours : price.tiers
    assert.deepEqual(
      conditions?.map((one) => textOf({ ...one })),
      Array(conditions?.length ?? 1).fill(beyond),
      model,
    )
    // "200,000 and more" and "more than 200,000" are one step.
    if (above !== null) assert.ok(Math.abs((price.tiers?.[0]?.above ?? 0) - above) <= 1, model)
    else
      assert.deepEqual(
        price.hours?.map(({ from, to, timezone, days }) => [from, to, timezone, days?.join(' ')]),
        hours?.map((one) => [...one, 'UTC', 'mon tue wed thu fri']),
        model,
      )
  }
  const known = new Set(VENDOR_STEPS.map(({ provider, model }) => `${provider}/${model}`))
  const vendors = new Set(VENDOR_STEPS.map(({ provider }) => provider))
  for (const [name, { tiers, hours }] of byName)
    if ((tiers ?? hours) !== undefined && vendors.has(name.split('/')[0] ?? ''))
      assert.ok(known.has(name), `${name} has steps that the table lacks`)
  for (const name of FLAT) {
    const price = byName.get(name)
    assert.ok(price !== undefined, name)
    assert.deepEqual([price.tiers, price.hours], [undefined, undefined], name)
  }
})

test('no route sells a long prompt at the price of a short one where another route of the model has a step', () => {
  const steps = new Map(HOSTED_STEPS.map(({ id, above }) => [id, above]))
  for (const { id, endpoints } of models)
    for (const { above } of endpoints.flatMap(({ price }) => price.tiers ?? []))
      steps.set(id, Math.min(above, steps.get(id) ?? Infinity))
  for (const { id } of HOSTED_STEPS)
    assert.ok(
      models.some((model) => model.id === id),
      `${id} is not in the bundle`,
    )
  for (const { model, one } of rows) {
    const step = steps.get(model.id)
    if (step === undefined || one.price.tiers !== undefined) continue
    assert.ok((one.context_length ?? model.context_length ?? 0) <= step, `${model.id} at ${one.provider}`)
  }
})

test('the newest models are sold short prompts at the list price, not at that of long ones', () => {
  for (const { one } of rows)
    for (const { above, prompt } of one.price.tiers ?? []) {
      assert.ok(above > 0)
      if (prompt !== undefined) assert.ok(Number(one.price.prompt) < Number(prompt), one.model)
    }
})

test('a limit is what a list says, or says that it is a guess', () => {
  const guesses = models.filter(({ guessed = [] }) => guessed.includes('max_completion_tokens'))
  assert.ok(guesses.length < models.length / 2, `${guesses.length} of ${models.length}`)
  const stated = new Map(models.map((model) => [model.id, model]))
  for (const [id, tokens] of [
    ['anthropic/claude-opus-5.5', 128_000],
    ['deepseek/deepseek-v4-pro', 393_216],
    ['google/gemini-3.8-flash', 65_536],
    ['openai/gpt-6-sol', 128_000],
    ['z-ai/glm-5.3', 128_000],
  ] as const) {
    assert.equal(stated.get(id)?.max_completion_tokens, tokens, id)
    assert.equal(stated.get(id)?.guessed, undefined, id)
  }
  // xAI states no limit, and what a reseller of it states is none of its.
  for (const id of ['x-ai/grok-4.20', 'x-ai/grok-4.3', 'x-ai/grok-4.6', 'x-ai/grok-4.7'])
    assert.deepEqual(
      [stated.get(id)?.max_completion_tokens, stated.get(id)?.guessed],
      [128_000, ['max_completion_tokens']],
    )
})

test('every bundled price is one that an answer is charged by', () => {
  for (const { model, one } of rows) {
    const uses = { listed: one.supported_parameters ?? [], native: one.native_responses ?? false }
    assert.deepEqual(
      Object.keys(one.price).filter((key) => uncharged(model.type, key, uses)),
      [],
      model.id,
    )
  }
})

test('a model that always searches has a price for it', () => {
  const searching = rows.filter(({ model }) => SEARCHES_ALWAYS.test(model.id))
  for (const { model, one } of searching) assert.ok(one.price.request !== undefined, `${model.id} searches for nothing`)
  assert.ok(searching.length > 0)
})

test("OpenAI's reasoning models get their limit as max_completion_tokens, and no parameter that they refuse", () => {
  const request = chat({
    max_tokens: 9,
    temperature: 0.5,
    top_p: 0.5,
    stop: ['x'],
    logprobs: true,
    presence_penalty: 1,
  })
  const found = models
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ provider, model }) => provider === 'openai' && /^(o\d|gpt-([5-9]|\d\d))/.test(model))
  assert.ok(found.length > 15, String(found.length))
  for (const { model, supported_parameters: supportedParameters = null } of found) {
    const body = openaiBody({
      endpoint: endpoint('openai', { upstreamModel: model, supportedParameters }),
      apiKey: null,
      request,
      sendMaxTokens: 9,
      generationId: 'gen-1-a',
      splice: null,
    })
    assert.deepEqual(
      [body['max_completion_tokens'], body['max_tokens'], body['logprobs']],
      [9, undefined, undefined],
      model,
    )
    if (!model.includes('chat'))
      assert.deepEqual(
        [body['temperature'], body['top_p'], body['stop'], body['presence_penalty']],
        [undefined, undefined, undefined, undefined],
        model,
      )
  }
})
