import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WEATHER, type Circumstances } from '../../../../test/harness/protocol-read.ts'
import { FORMAT, bodyOf, configOf, refuses } from '../../../../test/harness/gemini-requests.ts'

function thinkingOf(body: Record<string, unknown>, circumstances: Circumstances = {}): unknown {
  return Object(configOf(body, circumstances)).thinkingConfig
}

test('numbers have their own names; seeds are of 32 bits', () => {
  assert.deepEqual(
    configOf(
      {
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40.7,
        frequency_penalty: 1,
        presence_penalty: -1,
        seed: 7,
        stop: ['a', 'b'],
        n: 2,
        logprobs: true,
        top_logprobs: 3,
      },
      { sendMaxTokens: 500 },
    ),
    {
      maxOutputTokens: 500,
      candidateCount: 2,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      frequencyPenalty: 1,
      presencePenalty: -1,
      seed: 7,
      stopSequences: ['a', 'b'],
      responseLogprobs: true,
      logprobs: 3,
    },
  )
  assert.deepEqual(configOf({ stop: 'a', seed: 2 ** 40 + 5 }), { seed: 5, stopSequences: ['a'] })
  assert.equal(configOf({ seed: 0.5 }), undefined)
  assert.equal(configOf({ top_logprobs: 3 }), undefined)
})

test('what the protocol has no word for is dropped', () => {
  const body = bodyOf({
    logit_bias: { 5: 1 },
    min_p: 0.1,
    top_a: 0.1,
    repetition_penalty: 1.1,
    verbosity: 'low',
    user: 'u',
    metadata: { a: 'b' },
    prediction: { type: 'content', content: 'x' },
    web_search_options: {},
    prompt_cache_key: 'k',
    safety_identifier: 's',
    parallel_tool_calls: true,
  })
  assert.deepEqual(body, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })
})

test('what the endpoint does not list is dropped', () => {
  const body = bodyOf(
    {
      temperature: 1,
      top_p: 0.5,
      tools: [WEATHER],
      tool_choice: 'auto',
      response_format: FORMAT,
      reasoning: { effort: 'high' },
      modalities: ['text', 'image'],
      stop: 'a',
      seed: 1,
      logprobs: true,
    },
    { supportedParameters: ['temperature'], sendMaxTokens: 9 },
  )
  assert.deepEqual(body, {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { maxOutputTokens: 9, temperature: 1 },
  })
})

test('images and sound are asked for as modalities; sound comes as samples only', () => {
  assert.deepEqual(configOf({ modalities: ['text', 'image'] }), { responseModalities: ['TEXT', 'IMAGE'] })
  assert.deepEqual(configOf({ modalities: ['audio'], audio: { voice: 'Kore', format: 'pcm16' } }), {
    responseModalities: ['AUDIO'],
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
  })
  refuses({ modalities: ['audio'], audio: { voice: 'Kore', format: 'mp3' } }, /^audio\.format: /)
  refuses({ modalities: ['smell'] }, /^modalities: /)
})

test('without a word on reasoning the model does as it does', () => {
  for (const model of ['gemini-1.5-pro', 'gemini-2.0-flash', 'gemini-2.5-pro', 'gemini-3-pro-preview'])
    assert.equal(thinkingOf({}, { model }), undefined, model)
})

test('thinking by budget: a share of max_tokens within the bounds of the model', () => {
  const flash = { model: 'gemini-2.5-flash', sendMaxTokens: 10_000 }
  const shown = (thinkingBudget: number): unknown => ({ includeThoughts: true, thinkingBudget })
  assert.deepEqual(thinkingOf({ reasoning_effort: 'high' }, flash), shown(8_000))
  assert.deepEqual(thinkingOf({ reasoning: { effort: 'medium' } }, flash), shown(5_000))
  assert.deepEqual(thinkingOf({ reasoning: { effort: 'max' } }, { model: 'gemini-2.5-flash' }), shown(24_576))
  assert.deepEqual(thinkingOf({ reasoning: { max_tokens: 3_000 } }, flash), shown(3_000))
  assert.deepEqual(thinkingOf({ reasoning: { max_tokens: 99_999 } }, { model: 'gemini-2.5-pro' }), shown(32_768))
  assert.deepEqual(
    thinkingOf({ reasoning: { effort: 'minimal' } }, { model: 'gemini-2.5-flash-lite', sendMaxTokens: 1_000 }),
    shown(512),
  )
  assert.deepEqual(thinkingOf({ reasoning: { enabled: true } }, flash), shown(-1))
  assert.deepEqual(thinkingOf({ include_reasoning: true }, flash), shown(-1))
})

test('thinking is stopped where it can be, and is least where it cannot', () => {
  for (const body of [
    { reasoning_effort: 'none' },
    { reasoning: { enabled: false } },
    { reasoning: { max_tokens: 0 } },
  ]) {
    assert.deepEqual(thinkingOf(body, { model: 'gemini-2.5-flash' }), { thinkingBudget: 0 })
    assert.deepEqual(thinkingOf(body, { model: 'gemini-2.5-pro' }), { thinkingBudget: 128 })
    assert.deepEqual(thinkingOf(body, { model: 'gemini-3-flash-preview' }), { thinkingLevel: 'minimal' })
    assert.deepEqual(thinkingOf(body, { model: 'gemini-3-pro-preview' }), { thinkingLevel: 'low' })
    assert.equal(thinkingOf(body, { model: 'gemini-2.0-flash' }), undefined)
  }
})

test('thinking by level: the nearest that the model has', () => {
  const level = (effort: string, model: string): unknown =>
    Object(thinkingOf({ reasoning: { effort } }, { model })).thinkingLevel
  const efforts = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']
  assert.deepEqual(
    efforts.map((effort) => level(effort, 'gemini-3-pro-preview')),
    ['low', 'low', 'high', 'high', 'high', 'high'],
  )
  assert.deepEqual(
    efforts.map((effort) => level(effort, 'gemini-3.1-pro-preview')),
    ['low', 'low', 'medium', 'high', 'high', 'high'],
  )
  assert.deepEqual(
    efforts.map((effort) => level(effort, 'gemini-3-flash-preview')),
    ['minimal', 'low', 'medium', 'high', 'high', 'high'],
  )
  assert.deepEqual(thinkingOf({ reasoning: { max_tokens: 2_000 } }, { model: 'gemini-3-pro-preview' }), {
    includeThoughts: true,
    thinkingBudget: 2_000,
  })
  assert.deepEqual(thinkingOf({ reasoning: { enabled: true } }, { model: 'gemini-3-pro-preview' }), {
    includeThoughts: true,
  })
})

test('excluded reasoning is thought but not asked to be shown', () => {
  const circumstances = { model: 'gemini-2.5-flash', sendMaxTokens: 10_000 }
  assert.deepEqual(thinkingOf({ reasoning: { effort: 'high', exclude: true } }, circumstances), {
    thinkingBudget: 8_000,
  })
  assert.deepEqual(thinkingOf({ reasoning_effort: 'high', include_reasoning: false }, circumstances), {
    thinkingBudget: 8_000,
  })
})

test('models that cannot reason, or not to an effort, get no reasoning parameter', () => {
  for (const model of [
    'gemini-1.5-flash',
    'gemini-2.0-flash-001',
    'gemini-2.5-flash-image',
    'gemini-2.5-flash-preview-tts',
    'gemma-3-27b-it',
  ])
    assert.equal(thinkingOf({ reasoning_effort: 'high' }, { model }), undefined, model)
  assert.deepEqual(thinkingOf({ reasoning_effort: 'high' }, { model: 'gemini-3-pro-image-preview' }), {
    includeThoughts: true,
  })
})

test('newer models are sent no sampling parameters and no beginning of an answer', () => {
  const sampled = { temperature: 0.5, top_p: 0.5, top_k: 5, frequency_penalty: 0, presence_penalty: 1, seed: 3 }
  for (const model of ['gemini-3.5-flash-lite', 'gemini-3.6-flash', 'gemini-3.8-flash', 'gemini-4-pro'])
    assert.deepEqual(configOf(sampled, { model }), { seed: 3 }, model)
  assert.equal(Object.keys(Object(configOf(sampled, { model: 'gemini-3.5-flash' }))).length, 6)
  const begun = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Well,' },
  ]
  const roles = (messages: readonly unknown[], model: string): unknown =>
    Object(bodyOf({ messages }, { model })['contents']).map(({ role }: { role: string }) => role)
  assert.deepEqual(roles(begun, 'gemini-3.6-flash'), ['user', 'model', 'user'])
  assert.deepEqual(roles(begun.slice(0, 1), 'gemini-3.6-flash'), ['user'])
  assert.deepEqual(roles(begun, 'gemini-3.5-flash'), ['user', 'model'])
})
