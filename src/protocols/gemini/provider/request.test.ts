import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WEATHER, type Circumstances } from '../../../../test/harness/protocol-read.ts'
import { SCHEMA, FORMAT, requestOf, bodyOf, configOf, refuses } from '../../../../test/harness/gemini-requests.ts'

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
