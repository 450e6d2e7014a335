import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../catalog/catalog.ts'
import { ApiError } from '../errors.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { planChat, type PlanRequest } from './chat-plan.ts'
import { chat, endpoint, model, NO_ADAPTERS, prices, QUIET, snapshot } from './plan-fixture.ts'
import { createTokenCounter, inputBound } from './token-count.ts'

const ENDLESS = { availableMicro: 9_000_000_000_000_000n, keyRoomMicro: null }
const tokens = createTokenCounter()

function wish(request: ChatRequest, fields: Partial<PlanRequest> = {}): PlanRequest {
  return { request, defaultModel: null, allowedModels: null, snapshot: snapshot([model('v/m')]), funds: ENDLESS, health: QUIET, random: () => 0, tokens, adapters: NO_ADAPTERS, ...fields }
}

function refusal(run: () => unknown): ApiError {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown
    throw thrown
  }
  throw new Error('Nothing was refused.')
}

const part = (value: Record<string, unknown>): ChatRequest => chat({ max_tokens: 5, messages: [{ role: 'user', content: [value] }] })
const PICTURE = { type: 'image_url', image_url: { url: 'https://x.test/i.png' } }
const PDF = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }
const SOUND = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
const VIDEO = { type: 'video_url', video_url: { url: 'https://x.test/v.mp4' } }

function held(request: ChatRequest, fields: Partial<Endpoint>): number {
  const catalog = snapshot([model('v/m', { inputModalities: ['text', 'image', 'file', 'audio', 'video'], endpoints: [endpoint('alpha', fields)] })])
  return planChat(wish(request, { snapshot: catalog })).inputTokensBound
}

test('a picture is held for at what its model documents, by detail; where nothing is documented at the context', () => {
  const text = inputBound(chat({ messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }))
  const low = { ...PICTURE, image_url: { ...PICTURE.image_url, detail: 'low' } }
  assert.deepEqual(['openai/gpt-4o-mini', 'gpt-4o', 'claude-opus-4-8', 'gemini-2.5-flash', 'somebodys-own'].map((upstreamModel) => held(part(PICTURE), { upstreamModel })), [48_169 + text, 1_445 + text, 4_800 + text, 4_400 + text, 128_000])
  assert.deepEqual(['gpt-4o-mini', 'gpt-4o'].map((upstreamModel) => held(part(low), { upstreamModel })), [2_833 + text, 85 + text])
})

test('documents, sound and video are held for at the context, unless the catalogue row says what one comes to', () => {
  for (const [value, name] of [[PDF, 'file'], [SOUND, 'audio'], [VIDEO, 'video'], [PICTURE, 'image']] as const) {
    assert.equal(held(part(value), {}), 128_000, name)
    assert.equal(held(part(value), { contextLength: 9_000 }), 9_000, name)
    assert.ok(held(part(value), { mediaTokens: { [name]: 300 } }) < 400, name)
  }
  assert.ok(held(part({ type: 'file', file: { file_data: 'data:text/plain;base64,SGVsbG8=' } }), {}) < 200, 'a text file has no more tokens than bytes')
})

test('402: a hold above the text says what it is for', () => {
  const catalog = snapshot([model('v/m', { inputModalities: ['text', 'file'] })])
  const plain = refusal(() => planChat(wish(chat(), { funds: { availableMicro: 1n, keyRoomMicro: null } })))
  assert.match(plain.message, /choose a cheaper model\.$/)
  const error = refusal(() => planChat(wish(chat({ messages: [{ role: 'user', content: [PDF] }] }), { snapshot: catalog, funds: { availableMicro: 1n, keyRoomMicro: null } })))
  assert.match(error.message, /The amount covers documents whose tokens only the provider can count: an input of up to 128000 tokens\. What is not used is given back\.$/)
  const hosted = refusal(() => planChat(wish(chat(), { hosted: { callsMax: 3 }, funds: { availableMicro: 1n, keyRoomMicro: null } })))
  assert.match(hosted.message, /covers up to 3 calls of the provider's own tools and what they read: an input of up to 128000 tokens/)
})

test('tools of the provider are held for by their calls, with the context as input', () => {
  const endpoints = [endpoint('alpha', { sell: prices('10', '40', { search: '2500' }) })]
  const plan = planChat(wish(chat({ max_tokens: 5 }), { snapshot: snapshot([model('v/m', { endpoints })]), hosted: { callsMax: 8 } }))
  assert.equal(plan.holdMicro, 128_000n * 10n + 5n * 40n + 8n * 2_500n)
})

test('pictures of an answer are held for where the model draws', () => {
  const sell = prices('10', '40', { image_output: '1000000' })
  const hold = (outputModalities: readonly string[]): bigint => planChat(wish(chat({ max_tokens: 5 }), { snapshot: snapshot([model('v/m', { outputModalities, endpoints: [endpoint('alpha', { sell })] })]) })).holdMicro
  assert.equal(hold(['text', 'image']) - hold(['text']), 10_000_000n)
})
