import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../../catalog/catalog.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { planChat, type PlanRequest } from './chat-plan.ts'
import { chat, endpoint, model, planWish, prices, snapshot } from '../../../test/harness/plan-fixture.ts'
import { refusal } from '../../../test/harness/refused.ts'
import { pictureTokensMax } from './media-tokens.ts'
import { createTokenCounter, inputBound } from './token-count.ts'

const tokens = createTokenCounter()

function wish(request: ChatRequest, fields: Partial<PlanRequest> = {}): PlanRequest {
  return planWish(request, { tokens, ...fields })
}

const part = (value: Record<string, unknown>): ChatRequest =>
  chat({ max_tokens: 5, messages: [{ role: 'user', content: [value] }] })
const PICTURE = { type: 'image_url', image_url: { url: 'https://x.test/i.png' } }
const PDF = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }
const SOUND = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
const VIDEO = { type: 'video_url', video_url: { url: 'https://x.test/v.mp4' } }

function held(request: ChatRequest, fields: Partial<Endpoint>): number {
  const catalog = snapshot([
    model('v/m', {
      inputModalities: ['text', 'image', 'file', 'audio', 'video'],
      endpoints: [endpoint('alpha', fields)],
    }),
  ])
  return planChat(wish(request, { snapshot: catalog })).inputTokensBound
}

test('a picture is held for at what its model documents, by detail; where nothing is documented at the context', () => {
  const text = inputBound(chat({ messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }))
  const low = { ...PICTURE, image_url: { ...PICTURE.image_url, detail: 'low' } }
  assert.deepEqual(
    ['openai/gpt-4o-mini', 'gpt-4o', 'claude-opus-4-8', 'gemini-2.5-flash', 'somebodys-own'].map((upstreamModel) =>
      held(part(PICTURE), { upstreamModel }),
    ),
    [48_169 + text, 1_445 + text, 4_784 + text, 6_450 + text, 128_000],
  )
  assert.deepEqual(
    ['gpt-4o-mini', 'gpt-4o'].map((upstreamModel) => held(part(low), { upstreamModel })),
    [2_833 + text, 85 + text],
  )
})

/** The most tokens at any `detail`, at `low`, and at `high`, as the providers' pages state them; null = they do not. */
const DOCUMENTED: Readonly<Record<string, readonly [most: number, low: number, high: number] | null>> = {
  'gpt-4.1': [1_445, 85, 1_445],
  'gpt-4.1-mini': [6_636, 6_636, 6_636],
  'gpt-4.1-nano-2025-04-14': [10_077, 10_077, 10_077],
  'gpt-5': [1_190, 70, 1_190],
  'gpt-5-2025-08-07': [1_190, 70, 1_190],
  'gpt-5-mini': [6_636, 6_636, 6_636],
  'gpt-5-codex': null,
  'gpt-5-pro': null,
  'gpt-5.1': [1_190, 70, 1_190],
  'gpt-5.2': [4_916, 4_916, 4_916],
  'gpt-5.2-codex': null,
  'gpt-5.3': null,
  'gpt-5.4': [12_000, 4_916, 3_000],
  'gpt-5.4-nano': [12_000, 4_916, 3_000],
  'gpt-5.5': [12_000, 308, 3_000],
  'gpt-5.5-pro': null,
  'gpt-5.6-sol': [36_000, 308, 3_000],
  'gpt-6-astra': [36_000, 308, 3_000],
  'gpt-6-codex': null,
  o3: [1_275, 75, 1_275],
  'o4-mini': [7_046, 7_046, 7_046],
  'claude-3-5-haiku-latest': [1_568, 1_568, 1_568],
  'claude-opus-4-20250514': [1_568, 1_568, 1_568],
  'anthropic/claude-sonnet-4.6': [1_568, 1_568, 1_568],
  'us.anthropic.claude-haiku-4-5-20251001-v1:0': [1_568, 1_568, 1_568],
  'claude-opus-4-7': [4_784, 4_784, 4_784],
  'claude-opus-4-10': [4_784, 4_784, 4_784],
  'claude-sonnet-5': [4_784, 4_784, 4_784],
  'gemini-3.5-flash': [2_240, 2_240, 2_240],
  'gemini-2.0-flash': [6_450, 6_450, 6_450],
  'gemini-flash-latest': null,
  'grok-4.3': [1_792, 1_792, 1_792],
  'pixtral-12b-2409': [4_160, 4_160, 4_160],
}

test("the documented figures of a picture are found by the model's whole name: its other forms have other figures", () => {
  const { provider } = endpoint('alpha')
  for (const [upstreamModel, expected] of Object.entries(DOCUMENTED)) {
    const most = [undefined, 'low', 'high', 'original'].map((detail) =>
      pictureTokensMax({ provider, upstreamModel }, detail),
    )
    const [any, low, high] = expected ?? [null, null, null]
    assert.deepEqual(most, [any, low, high, any], upstreamModel)
  }
})

test('documents, sound and video are held for at the context, unless the catalogue row says what one comes to', () => {
  for (const [value, name] of [
    [PDF, 'file'],
    [SOUND, 'audio'],
    [VIDEO, 'video'],
    [PICTURE, 'image'],
  ] as const) {
    assert.equal(held(part(value), {}), 128_000, name)
    assert.equal(held(part(value), { contextLength: 9_000 }), 9_000, name)
    assert.ok(held(part(value), { mediaTokens: { [name]: 300 } }) < 400, name)
  }
  assert.ok(
    held(part({ type: 'file', file: { file_data: 'data:text/plain;base64,SGVsbG8=' } }), {}) < 200,
    'a text file has no more tokens than bytes',
  )
  const packed = (head: string): string => `data:text/plain;base64,${Buffer.from(`${head} packed`).toString('base64')}`
  for (const file of [
    { file_data: packed('%PDF-1.7') },
    { file_data: packed(`${' '.repeat(900)}%PDF-1.7`) },
    { file_data: packed('PK\u0003\u0004') },
    { file_data: 'data:text/plain,x' },
    { file_data: packed('Hello'), filename: 'a.PDF' },
    { file_data: packed('Hello'), filename: 'a.docx' },
  ]) {
    assert.equal(
      held(part({ type: 'file', file }), {}),
      128_000,
      `what may be read as a document is held for as one: ${JSON.stringify(file)}`,
    )
  }
  assert.ok(held(part({ type: 'file', file: { file_data: packed('Hello'), filename: 'a.txt' } }), {}) < 250)
})

test('402: a hold above the text says what it is for', () => {
  const catalog = snapshot([model('v/m', { inputModalities: ['text', 'file'] })])
  const plain = refusal(() => planChat(wish(chat(), { funds: { availableMicro: 1n, keyRoomMicro: null } })))
  assert.match(plain.message, /choose a cheaper model\.$/)
  const error = refusal(() =>
    planChat(
      wish(chat({ messages: [{ role: 'user', content: [PDF] }] }), {
        snapshot: catalog,
        funds: { availableMicro: 1n, keyRoomMicro: null },
      }),
    ),
  )
  assert.match(
    error.message,
    /The amount covers documents whose tokens only the provider can count: an input of up to 128000 tokens\. What is not used is given back\.$/,
  )
  const earlier = { role: 'assistant', content: null, audio: { id: 'audio-1' } }
  const spoken = refusal(() =>
    planChat(
      wish(chat({ messages: [{ role: 'user', content: 'Hi' }, earlier, { role: 'user', content: 'Again' }] }), {
        funds: { availableMicro: 1n, keyRoomMicro: null },
      }),
    ),
  )
  assert.match(spoken.message, /The amount covers sound whose tokens only the provider can count/)
  const hosted = refusal(() =>
    planChat(wish(chat(), { hosted: { callsMax: 3 }, funds: { availableMicro: 1n, keyRoomMicro: null } })),
  )
  assert.match(
    hosted.message,
    /covers up to 3 calls of the provider's own tools and what they read: an input of up to 128000 tokens/,
  )
})

test('tools of the provider are held for by their calls, with the context as input', () => {
  const endpoints = [endpoint('alpha', { sell: prices('10', '40', { search: '2500' }) })]
  const plan = planChat(
    wish(chat({ max_tokens: 5 }), { snapshot: snapshot([model('v/m', { endpoints })]), hosted: { callsMax: 8 } }),
  )
  assert.equal(plan.holdMicro, 128_000n * 10n + 5n * 40n + 8n * 2_500n)
})

test('pictures of an answer are held for where the model draws', () => {
  const sell = prices('10', '40', { image_output: '1000000' })
  const hold = (outputModalities: readonly string[]): bigint =>
    planChat(
      wish(chat({ max_tokens: 5 }), {
        snapshot: snapshot([model('v/m', { outputModalities, endpoints: [endpoint('alpha', { sell })] })]),
      }),
    ).holdMicro
  assert.equal(hold(['text', 'image']) - hold(['text']), 10_000_000n)
})
