import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chat } from '../../../test/harness/plan-fixture.ts'
import { createTokenCounter, inputBound, textBound } from './token-count.ts'
import { cpuMs } from '../../../test/harness/patience.ts'

const tokens = createTokenCounter()

test('text is counted by the encoding of the model, o200k_base where it is unknown', () => {
  assert.equal(tokens.countText('hello world', 'o200k_base'), 2)
  assert.equal(tokens.countText('hello world', null), 2)
  const russian = 'Привет, как дела сегодня?'
  assert.ok(tokens.countText(russian, 'cl100k_base') > tokens.countText(russian, 'o200k_base'))
  assert.equal(tokens.countText('', null), 0)
})

test('special tokens in a text are text', () => {
  assert.ok(tokens.countText('<|endoftext|>', null) > 1)
})

test('slices cost at most 1 % more than the text as a whole', () => {
  const sentence = 'The quick brown fox jumps over the lazy dog. '
  const one = tokens.countText(sentence, null)
  const many = tokens.countText(sentence.repeat(200), null)
  assert.ok(many <= one * 200 * 1.01, `${many} of ${one * 200}`)
})

test('a text is counted whole while the time lasts, then sampled: near the count of the whole, and bounded by the bytes of the rest', () => {
  const sentence = 'lorem ipsum dolor sit amet '
  const perRepeat = tokens.countText(sentence.repeat(1_000), null) / 1_000
  const request = chat({ prompt: sentence.repeat(4_000), messages: null })
  let nowMs = 0
  const patient = createTokenCounter(
    () => 0.5,
    () => 0,
  )
  const hurried = createTokenCounter(Math.random, () => (nowMs += 5))
  const whole = patient.countChat(request, 'o200k_base')
  const sampled = hurried.countChat(request, 'o200k_base')
  assert.equal(patient.mostOfChat(request, 'o200k_base'), whole)
  const most = hurried.mostOfChat(request, 'o200k_base') ?? 0
  assert.ok(most > whole && most <= textBound(request), `${most} of ${whole}`)
  assert.ok(Math.abs(whole / (perRepeat * 4_000) - 1) < 0.02)
  assert.ok(Math.abs(sampled / whole - 1) < 0.02, `${sampled} of ${whole}`)
})

test('the counts of one turn of the loop share their time; each counts at least 8 KiB', async () => {
  let nowMs = 0
  const counter = createTokenCounter(
    () => 0,
    () => (nowMs += 1),
  )
  const long = 'слово дом '.repeat(100_000)
  const request = chat({ prompt: long, messages: null })
  const looksOf = (count: () => void): number => {
    const beforeMs = nowMs
    count()
    return nowMs - beforeMs
  }
  for (let turn = 1; turn <= 2; turn += 1) {
    const input = looksOf(() => counter.countChat(chat({ prompt: long, messages: null }), null))
    assert.ok(input > 50 && input <= 70, `turn ${turn}: ${input}`)
    const more = [
      () => counter.countText(long, null),
      () => counter.countTexts([long], null),
      () => counter.countChat(request, turn === 1 ? 'o200k_base' : 'cl100k_base'),
      () => counter.findLonger([long], 1, null),
    ].map(looksOf)
    for (const looks of more) assert.ok(looks <= 4, `turn ${turn}: ${more.join(', ')}`)
    await new Promise(setImmediate)
  }
})

test('the dearest text to tokenise does not hold the loop', () => {
  let state = 1
  const letters = Array.from({ length: 1_000_000 }, () => {
    state = (state * 48_271) % 2_147_483_647
    return String.fromCharCode(0x4e00 + (state % 20_000))
  }).join('')
  let counted = 0
  const usedMs = cpuMs(() => (counted = tokens.countText(letters, null)), 1_500)
  // Without the time limit this takes half a second and more; the bound leaves room for a busy machine.
  assert.ok(usedMs < 1_500, String(usedMs))
  assert.ok(counted > 1_500_000)
})

test('a text cannot hide from the sample: half blanks, half words are estimated as such', () => {
  const block = `${' '.repeat(1_024)}${'word '.repeat(205).slice(0, 1_024)}`
  const one = tokens.countText(block, null)
  let nowMs = 0
  let state = 7
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  const counted = createTokenCounter(random, () => (nowMs += 0.1)).countText(block.repeat(2_000), null)
  assert.ok(Math.abs(counted / (one * 2_000) - 1) < 0.2, `${counted} of ${one * 2_000}`)
})

test('a count is a bound only by the encoding of the model; tools are worded by each provider, so that they get a margin', () => {
  assert.equal(tokens.mostOfChat(chat(), 'o200k_base'), tokens.countChat(chat(), 'o200k_base'))
  assert.deepEqual([tokens.mostOfChat(chat(), null), tokens.mostOfChat(chat(), 'Claude')], [null, null])
  const tools = chat({ tools: [{ type: 'function', function: { name: 'f' } }] })
  assert.ok((tokens.mostOfChat(tools, 'o200k_base') ?? 0) > tokens.countChat(tools, 'o200k_base') + 600)
})

test('images count by detail, audio by length', () => {
  const withPart = (part: unknown): number =>
    tokens.countChat(chat({ messages: [{ role: 'user', content: [part] }] }), null)
  const image = (detail: string): unknown => ({ type: 'image_url', image_url: { url: 'http://x/i', detail } })
  assert.equal(withPart(image('high')) - withPart(image('low')), 1_445 - 85)
  const audio = { type: 'input_audio', input_audio: { data: 'AAAA'.repeat(8_000), format: 'wav' } }
  assert.equal(withPart(audio) - withPart(image('low')), 96 - 85)
})

test('property: count ≤ byte bound, whatever the text', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3_000 }),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.lorem({ maxCount: 50 }),
  )
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), fc.boolean(), (texts, withTools) => {
      const tools = withTools
        ? [{ type: 'function', function: { name: 'f', description: texts[0], parameters: {} } }]
        : undefined
      const request = chat({ messages: texts.map((content) => ({ role: 'user', content })), tools })
      for (const encoding of ['o200k_base', 'cl100k_base']) {
        const counted = tokens.countChat(request, encoding)
        assert.ok(counted <= inputBound(request), `${counted} > ${inputBound(request)}`)
      }
    }),
    { numRuns: 100 },
  )
})

test('texts are counted one by one; exact where the encoding is known and all was counted', () => {
  assert.deepEqual(tokens.countTexts(['hello world', 'hello'], 'o200k_base'), { tokens: 3, exact: true })
  assert.deepEqual(tokens.countTexts(['hello world', 'hello'], null), { tokens: 3, exact: false })
  let nowMs = 0
  const hurried = createTokenCounter(Math.random, () => (nowMs += 5))
  assert.equal(hurried.countTexts(['lorem ipsum '.repeat(10_000)], 'o200k_base').exact, false)
})

test('a text of too many tokens is found by its length first, counted only where its bytes leave a doubt', () => {
  const long = 'hello '.repeat(50)
  assert.deepEqual(tokens.findLonger(['a'.repeat(40), `${long}you`, long], 50, null), { index: 1, tokens: 51 })
  assert.equal(tokens.findLonger(['hello '.repeat(40), 'short'], 50, null), null)
  let asked = 0
  const counting = createTokenCounter(Math.random, () => {
    asked += 1
    return 0
  })
  assert.equal(counting.findLonger(['a'.repeat(50), 'ё'.repeat(25)], 50, null), null)
  assert.equal(asked, 0, 'fifty bytes are at most fifty tokens')
})

test('the search for a too long text ends with its time limit: the provider refuses the rest', () => {
  let nowMs = 0
  const hurried = createTokenCounter(Math.random, () => (nowMs += 10))
  const texts = Array.from({ length: 2_048 }, () => 'hello '.repeat(40))
  assert.equal(hurried.findLonger(texts, 50, null), null)
  assert.ok(nowMs < 1_000, String(nowMs))
})

test('an estimate of a long input is near its count', () => {
  const tokens = createTokenCounter()
  const prompt = Array.from({ length: 3_000 }, (_value, index) => `${index}. The harbour is open, гавань открыта`).join(
    '\n',
  )
  const request = chat({ prompt, messages: null })
  const estimate = tokens.estimateChat(request, 'o200k_base')
  const count = tokens.countChat(request, 'o200k_base')
  assert.ok(Math.abs(estimate / count - 1) < 0.1, `${estimate} of ${count}`)
  assert.equal(tokens.estimateChat(request, 'o200k_base'), count)
})
