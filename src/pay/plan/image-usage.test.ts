import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImageResult } from '../../kinds/images/request.ts'
import { parseImages } from '../../protocols/openai/client/images.ts'
import { pictureOf } from '../../kinds/images/bytes.ts'
import { chargeMicro } from '../../tables/meters.ts'
import { measuredImageUsage, worstImageUsage } from './image-usage.ts'
import { endpoint, model, prices } from '../../../test/harness/plan-fixture.ts'
import { countedReport } from './usage-bounds.ts'

const SOURCE = `data:image/png;base64,${Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')}`
const PICTURE = { picture: pictureOf(Buffer.from('x'), null), revisedPrompt: null }
const IMAGE = model('v/i', { type: 'image', maxCompletionTokens: 4_160 })
const PER_PICTURE = endpoint('unit', {
  sell: prices('0', '0', { image_output: '2000000', image_input: '100000', request: '5' }),
  buy: prices('0', '0', { image_output: '1000000' }),
})
const PER_TOKEN = endpoint('token', { sell: prices('10', '40'), maxCompletionTokens: 4_160 })
const TOKENS = { countText: (text: string): number => Math.ceil(text.length / 4) }

function request(fields: Record<string, unknown>): ReturnType<typeof parseImages> {
  return parseImages({ model: 'v/i', prompt: 'a cat on a mat', ...fields })
}

function result(images: number, calls: number, usage: ImageResult['usage'] = null): ImageResult {
  return { images: Array.from({ length: images }, () => PICTURE), usage, upstreamId: null, calls }
}

test('per picture: the hold is n pictures, the charge those that came', () => {
  const wish = request({ n: 4, image: SOURCE })
  assert.deepEqual(worstImageUsage(wish, IMAGE, PER_PICTURE), { image_output: 4, image_input: 4, request: 4 })
  const { report, flagged, basis } = measuredImageUsage(
    wish,
    result(3, 1, { report: countedReport(50, 60), imageTokens: 0 }),
    IMAGE,
    PER_PICTURE,
    TOKENS,
  )
  assert.deepEqual(
    [report.usage, report.inputTokens, report.outputTokens, flagged, basis],
    [{ image_output: 3, image_input: 1, request: 1 }, 0, 0, false, 'provider_usage'],
  )
})

test('per token: each picture may be a call with the longest answer, and the prompt every time', () => {
  const wish = request({ n: 2 })
  assert.deepEqual(worstImageUsage(wish, IMAGE, PER_TOKEN), {
    image_output: 2,
    image_input: 0,
    request: 2,
    input: 2 * (14 + 64),
    output: 2 * 4_160,
  })
  assert.ok((worstImageUsage(request({ image: SOURCE }), IMAGE, PER_TOKEN).input ?? 0) > 6_000)
})

test('the hold is by the dearest meter that the tokens may fall under', () => {
  const dear = endpoint('token', {
    sell: prices('10', '40', { cache_write: '12', reasoning: '80' }),
    maxCompletionTokens: 100,
  })
  assert.deepEqual(worstImageUsage(request({}), IMAGE, dear), {
    image_output: 1,
    image_input: 0,
    request: 1,
    cache_write: 78,
    reasoning: 100,
  })
})

test('whatever an honest provider reports costs no more than was held', () => {
  for (const count of [1, 3, 10]) {
    const wish = request({ n: count })
    const most = countedReport(count * 20, count * 4_160)
    for (const calls of [1, count]) {
      const { report, flagged } = measuredImageUsage(
        wish,
        result(count, calls, { report: most, imageTokens: 0 }),
        IMAGE,
        PER_TOKEN,
        TOKENS,
      )
      assert.equal(flagged, false)
      assert.ok(
        chargeMicro(report.usage, PER_TOKEN.sell) <=
          chargeMicro(worstImageUsage(wish, IMAGE, PER_TOKEN), PER_TOKEN.sell),
      )
    }
  }
})

test('unreported tokens are counted; tokens that cannot be counted are bounded and flagged', () => {
  const wish = request({ n: 2 })
  const counted = measuredImageUsage(wish, result(2, 2), IMAGE, PER_TOKEN, TOKENS)
  assert.deepEqual([counted.basis, counted.report.inputTokens, counted.report.outputTokens], ['counted', 8, 2_580])
  const absurd = measuredImageUsage(
    wish,
    result(1, 1, { report: countedReport(9e6, 9e6), imageTokens: 0 }),
    IMAGE,
    PER_TOKEN,
    TOKENS,
  )
  assert.equal(absurd.flagged, true)
  assert.ok(absurd.report.inputTokens < 2_000 && absurd.report.outputTokens === 2 * 4_160)
  assert.deepEqual([absurd.reported.usage.input, absurd.reported.usage.image_output_tokens], [9e6, 9e6])
})

test('what the provider bills us by the token is measured by the token, though the client pays by the picture', () => {
  const mixed = endpoint('mixed', {
    sell: prices('0', '0', { image_output: '2000000' }),
    buy: prices('10', '40'),
    maxCompletionTokens: 4_160,
  })
  const { report } = measuredImageUsage(
    request({}),
    result(1, 1, { report: countedReport(50, 60), imageTokens: 0 }),
    IMAGE,
    mixed,
    TOKENS,
  )
  assert.deepEqual([report.usage.image_output_tokens, report.usage.image_output], [60, 1])
  assert.equal(chargeMicro(report.usage, mixed.sell), 2_000_000n)
})

test('the tokens of pictures have their own price, also where a provider does not tell them from its words', () => {
  const apart = endpoint('apart', {
    sell: prices('10', '40', { image_tokens: '20', image_output_tokens: '90' }),
    maxCompletionTokens: 4_160,
  })
  const told = { ...countedReport(50, 60), usage: { input: 10, image_tokens: 40, output: 15, image_output_tokens: 45 } }
  const measured = (report: typeof told | ReturnType<typeof countedReport>): bigint => {
    const { report: billed } = measuredImageUsage(
      request({}),
      result(1, 1, { report, imageTokens: 0 }),
      IMAGE,
      apart,
      TOKENS,
    )
    return chargeMicro(billed.usage, apart.sell)
  }
  assert.equal(measured(told), BigInt(10 * 10 + 40 * 20 + 15 * 40 + 45 * 90))
  assert.equal(measured(countedReport(50, 60)), BigInt(50 * 10 + 60 * 90))
})
