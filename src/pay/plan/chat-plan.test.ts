import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ApiError } from '../../base/errors.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { ceilMicro, type Micro } from '../../base/money.ts'
import { planChat, recountedHold, type PlanRequest } from './chat-plan.ts'
import { maxInputTokens } from './context-check.ts'
import { InsufficientBalanceError } from './plan.ts'
import { chat, endpoint, model, planWish, prices, QUIET, snapshot } from '../../../test/harness/plan-fixture.ts'
import { refusal } from '../../../test/harness/refused.ts'
import { inputBound, textBound } from './token-count.ts'
import { affordableTokens, worstCost, worstMicro } from './worst-price.ts'

/** A counter that returns `count` and counts its calls. */
function counter(count: number): PlanRequest['tokens'] & { asked: () => number } {
  let asked = 0
  return {
    countChat: () => {
      asked += 1
      return count
    },
    countText: () => count,
    countTexts: () => ({ tokens: count, exact: true }),
    findLonger: () => null,
    mostOfChat: (_request, tokenizer) => (tokenizer === 'o200k_base' ? count : null),
    asked: () => asked,
  }
}

function wish(request: ChatRequest, fields: Partial<PlanRequest> = {}): PlanRequest {
  return planWish(request, { tokens: counter(10), ...fields })
}

const long = (bytes: number): readonly unknown[] => [{ role: 'user', content: 'a'.repeat(bytes) }]

test('the reserve is 256 tokens and 2 % of the context, at most half of it', () => {
  assert.deepEqual([128_000, 8_192, 300].map(maxInputTokens), [125_184, 7_772, 150])
})

test('a request far from its limits is planned without tokenising', () => {
  const tokens = counter(10)
  const request = chat({ max_tokens: 100 })
  const plan = planChat(wish(request, { tokens }))
  assert.equal(tokens.asked(), 0)
  assert.equal(plan.inputTokensBound, inputBound(request))
  assert.equal(plan.holdMicro, BigInt(inputBound(request) * 10 + 100 * 40))
  assert.deepEqual([plan.maxTokens, plan.maxTokensComputed, plan.candidates[0]?.sendMaxTokens], [100, false, 100])
})

test('a long text that cannot fail is not tokenised, with max_tokens omitted neither', () => {
  const tokens = counter(10)
  const plan = planChat(wish(chat({ messages: long(100_000) }), { tokens }))
  assert.deepEqual([tokens.asked(), plan.maxTokens, plan.maxTokensComputed], [0, 16_384, true])
})

test('an explicit max_tokens above the model’s output maximum is lowered to it', () => {
  const plan = planChat(wish(chat({ max_tokens: 100_000 })))
  assert.deepEqual([plan.maxTokens, plan.candidates[0]?.sendMaxTokens], [16_384, 16_384])
})

test('400 input_tokens_exceeded names model, context, input and maximum, from the count', () => {
  const error = refusal(() =>
    planChat(
      wish(chat({ model: 'openai/gpt-4o-mini', messages: long(200_000) }), {
        tokens: counter(131_500),
        snapshot: snapshot([model('openai/gpt-4o-mini')]),
      }),
    ),
  )
  assert.equal(error.errorName, 'input_tokens_exceeded')
  assert.equal(
    error.message,
    "This model's maximum context length is 128000 tokens. Model openai/gpt-4o-mini: your input is 131500 tokens, the maximum allowed input is 125184 tokens. Please reduce the length of the messages.",
  )
  assert.deepEqual(error.details.metadata, {
    context_length: 128_000,
    input_tokens: 131_500,
    max_input_tokens: 125_184,
  })
})

test('400 token_limit_exceeded when input and max_tokens together, or max_tokens by itself, pass the context', () => {
  const catalog = snapshot([model('openai/gpt-4o-mini')])
  const error = (count: number, max_tokens: number): ApiError =>
    refusal(() =>
      planChat(
        wish(chat({ model: 'openai/gpt-4o-mini', max_tokens, messages: long(100_000) }), {
          tokens: counter(count),
          snapshot: catalog,
        }),
      ),
    )
  assert.equal(error(100_000, 60_000).errorName, 'token_limit_exceeded')
  assert.equal(
    error(100_000, 60_000).message,
    "This model's maximum context length is 128000 tokens. Total token limit per request exceeded for model openai/gpt-4o-mini: input 100000 + max_tokens 60000 = 160000 tokens, the limit is 128000. Reduce the length of the messages or lower max_tokens.",
  )
  assert.equal(error(10, 128_000).errorName, 'token_limit_exceeded')
  assert.equal(
    planChat(wish(chat({ max_tokens: 127_990, messages: long(100_000) }), { tokens: counter(10) })).maxTokens,
    16_384,
  )
})

test('a text whose bytes pass the context but whose tokens do not is accepted, and held by the count', () => {
  const plan = planChat(wish(chat({ max_tokens: 100, messages: long(150_000) }), { tokens: counter(20_000) }))
  assert.deepEqual([plan.inputTokensBound, plan.holdMicro], [20_000, 20_000n * 10n + 100n * 40n])
})

test('an endpoint is left out as too small by the count, never by the bytes', () => {
  const endpoints = [
    endpoint('small', { sell: prices('1', '1'), contextLength: 8_192 }),
    endpoint('large', { sell: prices('9', '9') }),
  ]
  const first = (count: number): string | undefined =>
    planChat(
      wish(chat({ max_tokens: 100, messages: long(20_000) }), {
        tokens: counter(count),
        snapshot: snapshot([model('v/m', { endpoints })]),
      }),
    ).candidates[0]?.endpoint.provider.slug
  assert.deepEqual([first(5_000), first(9_000)], ['small', 'large'])
})

test('models[] are tried in order, but one whose endpoints are all ejected comes last', () => {
  const [one, two] = [
    model('v/one', { endpoints: [endpoint('alpha')] }),
    model('v/two', { endpoints: [endpoint('beta')] }),
  ]
  const order = (out: string): readonly string[] =>
    planChat(
      wish(chat({ model: 'v/one', models: ['v/two'] }), {
        snapshot: snapshot([one, two]),
        health: { ...QUIET, ejected: (id) => id === out },
      }),
    ).candidates.map(({ model: { id } }) => id)
  assert.deepEqual(order(''), ['v/one', 'v/two'])
  assert.deepEqual(order('alpha/m'), ['v/two', 'v/one'])
})

test('the count of another family bounds nothing: its texts are held for by their bytes, and never for more than the context', () => {
  for (const tokenizer of ['Claude', null]) {
    const catalog = snapshot([model('v/m', { tokenizer })])
    const held = (bytes: number): number =>
      planChat(wish(chat({ max_tokens: 1, messages: long(bytes) }), { tokens: counter(20_001), snapshot: catalog }))
        .inputTokensBound
    assert.deepEqual([held(125_180), held(150_000)], [inputBound(chat({ messages: long(125_180) })), 128_000])
  }
})

test('-1 and an omitted max_tokens take what the context leaves', () => {
  const catalog = snapshot([model('v/m', { contextLength: 8_192, maxCompletionTokens: null })])
  for (const max_tokens of [-1, null]) {
    const plan = planChat(
      wish(chat({ max_tokens, messages: long(6_000) }), { tokens: counter(1_000), snapshot: catalog }),
    )
    assert.deepEqual([plan.maxTokens, plan.maxTokensComputed], [8_192 - 1_000 - 64, true])
  }
})

test('an omitted max_tokens is lowered to what balance and key allow, to the last token', () => {
  const request = chat({ messages: long(1_000) })
  const plan = planChat(
    wish(request, { tokens: counter(100), funds: { availableMicro: 1_000n + 40n * 50n + 39n, keyRoomMicro: null } }),
  )
  assert.deepEqual([plan.maxTokens, plan.holdMicro, plan.candidates[0]?.sendMaxTokens], [50, 3_000n, 50])
  const keyed = planChat(
    wish(request, { tokens: counter(100), funds: { availableMicro: 1_000_000n, keyRoomMicro: 1_000n + 40n * 20n } }),
  )
  assert.equal(keyed.maxTokens, 20)
})

test('402 when not even 16 tokens are affordable, with the amounts in the message', () => {
  const run = (): unknown =>
    planChat(
      wish(chat({ messages: long(1_000) }), {
        tokens: counter(100),
        funds: { availableMicro: 1_000n + 40n * 15n, keyRoomMicro: null },
      }),
    )
  const error = refusal(run)
  assert.ok(error instanceof InsufficientBalanceError)
  assert.deepEqual([error.status, error.requiredMicro, error.availableMicro], [402, 1_640n, 1_600n])
  assert.deepEqual(error.details.metadata, { required: 0.00164, available: 0.0016, currency: 'RUB' })
})

test('free models need no money', () => {
  const catalog = snapshot([model('v/m', { endpoints: [endpoint('alpha', { sell: prices('0', '0') })] })])
  const plan = planChat(wish(chat(), { snapshot: catalog, funds: { availableMicro: 0n, keyRoomMicro: 0n } }))
  assert.deepEqual([plan.holdMicro, plan.maxTokens], [0n, 16_384])
})

test('the hold is the worst case at the dearest candidate, of the dearest meters, times n', () => {
  const sell = prices('10', '40', { cache_write_1h: '20', reasoning: '50', request: '7' })
  const catalog = snapshot([model('v/m', { endpoints: [endpoint('alpha'), endpoint('beta', { sell })] })])
  const request = chat({ max_tokens: 100, n: 3 })
  const bound = inputBound(request)
  const plan = planChat(wish(request, { snapshot: catalog }))
  assert.equal(plan.holdMicro, 3n * BigInt(bound * 20 + 100 * 50 + 7))
  assert.equal(plan.candidates.length, 2)
})

test('audio and images are priced when they are in the messages', () => {
  const sell = prices('10', '40', { audio_input: '100', image_input: '5000' })
  const catalog = snapshot([
    model('v/m', {
      inputModalities: ['text', 'image', 'audio'],
      endpoints: [endpoint('alpha', { sell, mediaTokens: { image: 100, audio: 7 } })],
    }),
  ])
  const image = { type: 'image_url', image_url: { url: 'http://x/i' } }
  const pictured = chat({ max_tokens: 1, messages: [{ role: 'user', content: [image, image] }] })
  assert.equal(
    planChat(wish(pictured, { snapshot: catalog })).holdMicro,
    BigInt((textBound(pictured) + 200) * 10 + 40 + 10_000),
  )
  const spoken = chat({
    max_tokens: 1,
    messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }],
  })
  assert.equal(planChat(wish(spoken, { snapshot: catalog })).holdMicro, BigInt((textBound(spoken) + 7) * 100 + 40))
})

test('an endpoint that takes no output cap is held for at its maximum and sent none', () => {
  const catalog = snapshot([model('v/m', { endpoints: [endpoint('alpha', { supportedParameters: ['temperature'] })] })])
  const request = chat({ max_tokens: 10 })
  const plan = planChat(wish(request, { snapshot: catalog }))
  assert.deepEqual([plan.candidates[0]?.sendMaxTokens, plan.maxTokens], [null, 16_384])
  assert.equal(plan.holdMicro, BigInt(inputBound(request) * 10 + 16_384 * 40))
})

test('models[] follow the first model, and one that cannot serve is left out', () => {
  const models = [
    model('v/m', { contextLength: 1_000 }),
    model('v/big', { endpoints: [endpoint('beta', { sell: prices('99', '99') })] }),
  ]
  const names = (request: ChatRequest): readonly string[] =>
    planChat(wish(request, { snapshot: snapshot(models), tokens: counter(5_000) })).candidates.map(
      (one) => one.model.id,
    )
  assert.deepEqual(names(chat({ models: ['v/big'], max_tokens: 5 })), ['v/m', 'v/big'])
  assert.deepEqual(names(chat({ models: ['v/big'], max_tokens: 5, messages: long(20_000) })), ['v/big'])
  assert.equal(refusal(() => names(chat({ messages: long(20_000) }))).errorName, 'input_tokens_exceeded')
})

test('a refused hold is counted again: cheaper by the count, or null where it stays', () => {
  const request = chat({ max_tokens: 100, messages: long(10_000) })
  const plan = planChat(wish(request))
  const tokens = counter(2_000)
  const again = recountedHold(plan, request, tokens)
  assert.equal(again?.holdMicro, 2_000n * 10n + 4_000n)
  assert.deepEqual([again?.inputTokensBound, again?.maxTokens, again?.maxTokensComputed], [2_000, 100, false])
  assert.ok(again !== null && again !== undefined)
  assert.equal(recountedHold(again, request, tokens), null)
  // The count of the messages does not include parts that only a provider of the client's protocol reads.
  const more = { ...request, textBytes: request.textBytes + 3_000, unreadBytes: 3_000 }
  assert.equal(recountedHold(planChat(wish(more)), more, tokens)?.inputTokensBound, 5_000)
})

test('property: a plan never holds more than the funds of an omitted max_tokens, and one token more would', () => {
  const price = fc.integer({ min: 0, max: 5_000_000 }).map((digits) => `${digits / 1_000}`)
  fc.assert(
    fc.property(
      price,
      price,
      fc.integer({ min: 1, max: 5 }),
      fc.bigInt({ min: 0n, max: 50_000_000n }),
      fc.integer({ min: 1, max: 900 }),
      (input, output, n, availableMicro, count) => {
        const catalog = snapshot([model('v/m', { endpoints: [endpoint('alpha', { sell: prices(input, output) })] })])
        const request = chat({ n, messages: long(1_000) })
        const sell = {
          inputToken: prices(input, output).input,
          outputToken: prices(input, output).output,
          fixed: { digits: 0n, scale: 0 },
        }
        const exact = (tokens: number): Micro => ceilMicro(worstCost(sell, count, tokens, n))
        let plan
        try {
          plan = planChat(
            wish(request, { snapshot: catalog, tokens: counter(count), funds: { availableMicro, keyRoomMicro: null } }),
          )
        } catch (thrown) {
          assert.ok(thrown instanceof InsufficientBalanceError)
          assert.equal(thrown.requiredMicro, exact(16))
          assert.ok(thrown.requiredMicro > availableMicro)
          return
        }
        assert.ok(plan.holdMicro <= availableMicro)
        assert.ok(plan.maxTokens >= 16)
        if (plan.maxTokens < 16_384) assert.ok(exact(plan.maxTokens + 1) > availableMicro)
      },
    ),
    { numRuns: 300 },
  )
})

test('property: affordableTokens is the largest output whose price fits', () => {
  const digits = fc.bigInt({ min: 1n, max: 10n ** 9n })
  fc.assert(
    fc.property(
      digits,
      digits,
      fc.nat(9),
      fc.nat(9),
      fc.nat(100_000),
      fc.integer({ min: 1, max: 10 }),
      fc.bigInt({ min: 0n, max: 10n ** 13n }),
      (input, output, scaleIn, scaleOut, tokens, n, funds) => {
        const price = {
          inputToken: { digits: input, scale: scaleIn },
          outputToken: { digits: output, scale: scaleOut },
          fixed: { digits: 0n, scale: 0 },
        }
        const most = affordableTokens(price, tokens, n, funds)
        if (most < 0) assert.ok(worstMicro(price, tokens, 0, n) > funds)
        else {
          assert.ok(worstMicro(price, tokens, most, n) <= funds)
          if (most < Number.MAX_SAFE_INTEGER) assert.ok(worstMicro(price, tokens, most + 1, n) > funds)
        }
      },
    ),
  )
})
