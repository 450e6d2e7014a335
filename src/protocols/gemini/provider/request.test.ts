import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestsOf, WEATHER, type Circumstances } from '../../../../test/harness/protocol-read.ts'
import { geminiProtocol } from './gemini.ts'

const { requestOf, bodyOf, refuses } = requestsOf(geminiProtocol, {
  model: 'gemini-2.5-flash',
  apiKey: 'upstream-key',
})

const SCHEMA = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/a' } },
  $defs: { a: { type: 'integer', minimum: 1 } },
  additionalProperties: false,
}

const FORMAT = { type: 'json_schema', json_schema: { name: 'n', strict: true, schema: SCHEMA } }

function configOf(body: Record<string, unknown>, circumstances: Circumstances = {}): unknown {
  return bodyOf(body, circumstances)['generationConfig']
}

const PIXEL = 'iVBORw0KGgo='

function contentsOf(messages: readonly unknown[], circumstances: Circumstances = {}): unknown {
  return bodyOf({ messages }, circumstances)['contents']
}

function partsOf(content: unknown): unknown {
  return Object(contentsOf([{ role: 'user', content }]))[0].parts
}

test('path, credentials and the smallest body', () => {
  const { path, headers, body } = requestOf({})
  assert.equal(path, '/models/gemini-2.5-flash:generateContent')
  assert.deepEqual(headers, { 'x-goog-api-key': 'upstream-key' })
  assert.deepEqual(body, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })
  assert.equal(requestOf({ stream: true }).path, '/models/gemini-2.5-flash:streamGenerateContent?alt=sse')
  assert.deepEqual(requestOf({}, { apiKey: 'ya29.token' }).headers, { authorization: 'Bearer ya29.token' })
  assert.deepEqual(requestOf({}, { apiKey: null }).headers, {})
})

test('a model may name its collection; other characters of a path are escaped', () => {
  assert.equal(requestOf({}, { model: 'tunedModels/my-1' }).path, '/tunedModels/my-1:generateContent')
  assert.equal(requestOf({}, { model: 'gemini-x@001?a#b' }).path, '/models/gemini-x%40001%3Fa%23b:generateContent')
})

test('system and developer messages are separate, in their order; without other messages they are the question', () => {
  const body = bodyOf({
    messages: [
      { role: 'system', content: 'One' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: [{ type: 'text', text: 'Two', cache_control: { type: 'ephemeral' } }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'there' },
        ],
      },
    ],
  })
  assert.deepEqual(body, {
    systemInstruction: { parts: [{ text: 'One' }, { text: 'Two' }] },
    contents: [{ role: 'user', parts: [{ text: 'Hi' }, { text: 'there' }] }],
  })
  assert.deepEqual(bodyOf({ messages: [{ role: 'system', content: 'Say hello' }] }), {
    contents: [{ role: 'user', parts: [{ text: 'Say hello' }] }],
  })
  refuses(
    { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }] }] },
    /^messages\[0\]\.content: a system message/,
  )
  refuses({ messages: [{ role: 'user', content: '' }] }, /^messages: /)
})

test('the beginning of the answer is passed as it is', () => {
  assert.deepEqual(
    contentsOf([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Well,' },
    ]),
    [
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'Well,' }] },
    ],
  )
})

test('images, audio, PDFs and video are data or addresses, each with its type', () => {
  const inline = (mimeType: string): unknown => ({ inlineData: { mimeType, data: PIXEL } })
  const file = (mimeType: string, fileUri: string): unknown => ({ fileData: { mimeType, fileUri } })
  const image = (url: string): unknown => ({ type: 'image_url', image_url: { url, detail: 'high' } })
  assert.deepEqual(
    partsOf([
      image(`data:image/png;base64,${PIXEL}`),
      image('data:image/jpg;base64,AAAA'),
      image(`data:image/jpg;base64,${PIXEL}`),
      image('https://x.test/a/B.WEBP?size=1#f'),
      image('https://x.test/picture'),
      image('gs://bucket/a.heic'),
      { type: 'input_audio', input_audio: { data: PIXEL, format: 'wav' } },
      { type: 'input_audio', input_audio: { data: PIXEL, format: 'pcm16' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PIXEL}` } },
      { type: 'file', file: { filename: 'a.csv', file_data: `data:;base64,${PIXEL}` } },
      { type: 'file', file: { file_data: 'https://x.test/doc' } },
      { type: 'video_url', video_url: { url: `data:video/webm;base64,${PIXEL}` } },
      { type: 'video_url', video_url: { url: 'https://www.youtube.com/watch?v=1' } },
    ]),
    [
      inline('image/png'),
      { inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } },
      inline('image/png'),
      file('image/webp', 'https://x.test/a/B.WEBP?size=1#f'),
      file('image/jpeg', 'https://x.test/picture'),
      file('image/heic', 'gs://bucket/a.heic'),
      inline('audio/wav'),
      inline('audio/L16;rate=24000'),
      inline('application/pdf'),
      inline('text/csv'),
      file('application/pdf', 'https://x.test/doc'),
      inline('video/webm'),
      file('video/mp4', 'https://www.youtube.com/watch?v=1'),
    ],
  )
  const uploaded = 'https://generativelanguage.googleapis.com/v1beta/files/abc'
  assert.deepEqual(partsOf([image(uploaded)]), [file('image/jpeg', uploaded)], 'the type is never left to the provider')
})

test('a value that is neither an address nor base64 is refused with its path', () => {
  const image = (url: string): Record<string, unknown> => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
  })
  for (const url of ['file:///etc/passwd', 'data:image/svg+xml,<svg/>', 'x'])
    refuses(image(url), /^messages\[0\]\.content\[1\]\.image_url\.url: /)
  refuses(
    {
      messages: [
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: PIXEL, format: 'wav\r\nx' } }] },
      ],
    },
    /input_audio\.format/,
  )
})

const CALLED = {
  role: 'assistant',
  content: null,
  tool_calls: [
    { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
    { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } },
  ],
}

test('calls and their results find each other by id, and results get the name of their tool', () => {
  assert.deepEqual(
    contentsOf([
      { role: 'user', content: 'Weather?' },
      { ...CALLED, content: 'I look', reasoning: 'Hm' },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: [
          { type: 'text', text: 'noon' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"sky":"clear"}' },
      { role: 'user', content: 'So?' },
    ]),
    [
      { role: 'user', parts: [{ text: 'Weather?' }] },
      {
        role: 'model',
        parts: [
          { text: 'I look' },
          { functionCall: { id: 'call_1', name: 'get_weather', args: { city: 'Rome' } } },
          { functionCall: { id: 'call_2', name: 'now', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'call_2', name: 'now', response: { output: 'noon' } } },
          { functionResponse: { id: 'call_1', name: 'get_weather', response: { output: '{"sky":"clear"}' } } },
          { text: 'Result of the call call_2:' },
          { inlineData: { mimeType: 'image/png', data: PIXEL } },
          { text: 'So?' },
        ],
      },
    ],
  )
})

test('a result of an unknown call keeps the name its message gives, and is refused without one', () => {
  const result = { role: 'tool', tool_call_id: 'lost', content: 'x' }
  assert.deepEqual(contentsOf([{ ...result, name: 'f' }]), [
    { role: 'user', parts: [{ functionResponse: { id: 'lost', name: 'f', response: { output: 'x' } } }] },
  ])
  refuses({ messages: [{ role: 'user', content: 'x' }, result] }, /^messages\[1\]\.tool_call_id: /)
})

test('arguments that are no object are kept as one value; nested too deep they are refused', () => {
  const called = (text: string): Record<string, unknown> => ({
    messages: [
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }] },
    ],
  })
  const args = (text: string): unknown => Object(bodyOf(called(text))['contents'])[0].parts[0].functionCall.args
  assert.deepEqual(args('{"a":'), { arguments: '{"a":' })
  assert.deepEqual(args('[1]'), { arguments: '[1]' })
  refuses(called('['.repeat(100_000)), /^messages\[0\]\.tool_calls\[0\]\.function\.arguments: /)
})

test('a signature goes back on the call or the text it came with; a foreign one is left out', () => {
  const detail = (data: string, id?: string, format = 'google-gemini-v1'): unknown => ({
    type: 'reasoning.encrypted',
    data,
    format,
    ...(id === undefined ? {} : { id }),
  })
  const parts = (details: readonly unknown[], model: string): unknown =>
    Object(contentsOf([{ ...CALLED, content: 'I look', reasoning_details: details }], { model }))[0].parts
  const expected = (ofText: string | null, first: string | null, second: string | null): unknown => [
    { text: 'I look', ...(ofText === null ? {} : { thoughtSignature: ofText }) },
    {
      functionCall: { id: 'call_1', name: 'get_weather', args: { city: 'Rome' } },
      ...(first === null ? {} : { thoughtSignature: first }),
    },
    { functionCall: { id: 'call_2', name: 'now', args: {} }, ...(second === null ? {} : { thoughtSignature: second }) },
  ]
  const skip = 'skip_thought_signature_validator'
  for (const model of ['gemini-2.5-flash', 'gemini-3-pro-preview']) {
    assert.deepEqual(
      parts(
        [detail('QUJD', 'call_1'), detail('REVG'), { type: 'reasoning.text', text: 'Hm', format: 'google-gemini-v1' }],
        model,
      ),
      expected('REVG', 'QUJD', null),
      model,
    )
    assert.deepEqual(parts([detail('QUJD', 'call_2')], model), expected(null, null, 'QUJD'), model)
  }
  const foreign = [
    detail('QUJD', 'call_1', 'anthropic-claude-v1'),
    detail('not base64!', 'call_2'),
    detail('QUJD', 'call_9'),
  ]
  assert.deepEqual(parts(foreign, 'gemini-2.5-flash'), expected(null, null, null))
  assert.deepEqual(parts(foreign, 'gemini-3-pro-preview'), expected(null, skip, null))
  assert.deepEqual(parts([], 'gemini-flash-latest'), expected(null, skip, null))
})

test('tools are declared with their JSON schema; one without parameters has none', () => {
  const bare = { type: 'function', function: { name: 'now' } }
  const loose = { type: 'function', function: { name: 'f', parameters: { properties: { a: {} } }, strict: true } }
  assert.deepEqual(bodyOf({ tools: [WEATHER, bare, loose], parallel_tool_calls: false })['tools'], [
    {
      functionDeclarations: [
        { name: 'get_weather', description: 'Now', parametersJsonSchema: WEATHER.function.parameters },
        { name: 'now' },
        { name: 'f', parametersJsonSchema: { type: 'object', properties: { a: {} } } },
      ],
    },
  ])
})

test('tool_choice is a calling mode', () => {
  const config = (choice: unknown): unknown =>
    bodyOf({ tools: [WEATHER], ...(choice === undefined ? {} : { tool_choice: choice }) })['toolConfig']
  assert.equal(config(undefined), undefined)
  assert.deepEqual(config('auto'), { functionCallingConfig: { mode: 'AUTO' } })
  assert.deepEqual(config('none'), { functionCallingConfig: { mode: 'NONE' } })
  assert.deepEqual(config('required'), { functionCallingConfig: { mode: 'ANY' } })
  assert.deepEqual(config({ type: 'function', function: { name: 'get_weather' } }), {
    functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] },
  })
  assert.equal(bodyOf({ tool_choice: 'auto' })['toolConfig'], undefined)
})

test('an answer in JSON is asked for with its schema as it stands', () => {
  assert.deepEqual(configOf({ response_format: { type: 'json_object' } }), { responseMimeType: 'application/json' })
  assert.deepEqual(configOf({ response_format: FORMAT }), {
    responseMimeType: 'application/json',
    responseJsonSchema: SCHEMA,
  })
  assert.equal(configOf({ response_format: { type: 'text' } }), undefined)
})

test('tools beside JSON: sent to models that take both, refused for those that do not, left out where none may be called', () => {
  const both = { tools: [WEATHER], response_format: FORMAT }
  assert.ok(bodyOf(both, { model: 'gemini-3-flash-preview' })['tools'])
  refuses(both, /^response_format: /)
  const none = bodyOf({ ...both, tool_choice: 'none' })
  assert.deepEqual([none['tools'], none['toolConfig']], [undefined, undefined])
  assert.ok(none['generationConfig'])
})

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
