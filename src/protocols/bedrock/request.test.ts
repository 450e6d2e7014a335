import { BEDROCK_PARAMETERS } from './bedrock.ts'
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { authorizationOf } from '../../../test/harness/aws.ts'
import { WEATHER, type Circumstances } from '../../../test/harness/protocol-read.ts'
import {
  PROTOCOL,
  CLAUDE_37,
  CLAUDE_45,
  NOVA,
  LLAMA,
  HELLO,
  WEATHER_SPEC,
  CALLED,
  SCHEMA,
  callOf,
  bodyOf,
  refuses,
} from '../../../test/harness/bedrock-requests.ts'

const CLAUDE_3 = 'anthropic.claude-3-haiku-20240307-v1:0'

const JSON_SCHEMA = {
  response_format: { type: 'json_schema', json_schema: { name: 'my answer', description: 'The a', schema: SCHEMA } },
}

function headersOf(circumstances: Circumstances, body: Record<string, unknown> = {}): Readonly<Record<string, string>> {
  const { headers, body: sent } = PROTOCOL.request(callOf(body, circumstances))
  return typeof headers === 'function' ? headers(Buffer.from(JSON.stringify(sent))) : headers
}

test('path, headers and the smallest body', () => {
  const plain = PROTOCOL.request(callOf({}))
  assert.equal(plain.path, '/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse')
  assert.deepEqual(headersOf({}), { authorization: 'Bearer bedrock-api-key' })
  assert.deepEqual(plain.body, {
    messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
    inferenceConfig: { maxTokens: 10_000 },
  })
  const streamed = PROTOCOL.request(callOf({ stream: true }, { sendMaxTokens: null }))
  assert.equal(streamed.path, '/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse-stream')
  assert.deepEqual(headersOf({}, { stream: true }), {
    accept: 'application/vnd.amazon.eventstream',
    authorization: 'Bearer bedrock-api-key',
  })
  assert.deepEqual(streamed.body, { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] })
  assert.deepEqual(headersOf({ apiKey: null }), {})
  const arn = 'arn:aws:bedrock:us-east-1:1:inference-profile/us.x-v1:0'
  assert.equal(
    PROTOCOL.request(callOf({}, { model: arn })).path,
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x-v1%3A0/converse',
  )
})

test("the signature of the test is AWS's own, by two cases of its published suite", () => {
  const suite = {
    region: 'us-east-1',
    service: 'service',
    method: 'GET',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    body: Buffer.alloc(0),
    headers: { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z' },
  }
  assert.match(
    authorizationOf({ ...suite, path: '/' }),
    /Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31$/,
  )
  assert.match(
    authorizationOf({ ...suite, method: 'POST', path: '/' }),
    /Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b$/,
  )
})

test('an access key signs the request: the host, the encoded model encoded once more, the very bytes', () => {
  for (const [apiKey, token] of [
    ['AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', null],
    ['AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY:FwoGZXIvYXdzEB0a+/==', 'FwoGZXIvYXdzEB0a+/=='],
  ] as const) {
    for (const [baseUrl, host, region, prefix] of [
      ['https://bedrock-runtime.eu-west-1.amazonaws.com', 'bedrock-runtime.eu-west-1.amazonaws.com', 'eu-west-1', ''],
      [
        'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com',
        'bedrock-runtime-fips.us-gov-west-1.amazonaws.com',
        'us-gov-west-1',
        '',
      ],
      [
        'https://vpce-1.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com/',
        'vpce-1.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com',
        'ap-southeast-2',
        '',
      ],
      ['http://127.0.0.1:8080/aws', '127.0.0.1:8080', 'us-east-1', '/aws'],
    ] as const) {
      const call = callOf(
        { stream: true, messages: [{ role: 'user', content: 'Привет' }] },
        { apiKey, baseUrl, model: CLAUDE_45 },
      )
      const { path, body, headers } = PROTOCOL.request(call)
      assert.ok(typeof headers === 'function')
      const bytes = Buffer.from(JSON.stringify(body))
      const { authorization, accept, ...signed } = headers(bytes)
      assert.equal(accept, 'application/vnd.amazon.eventstream')
      assert.deepEqual(signed, {
        'content-type': 'application/json',
        'x-amz-date': '20150830T123600Z',
        ...(token === null ? {} : { 'x-amz-security-token': token }),
      })
      const expected = authorizationOf({
        region,
        service: 'bedrock',
        method: 'POST',
        accessKeyId: 'AKIDEXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
        body: bytes,
        path: `${prefix}${path}`,
        headers: { ...signed, host },
      })
      assert.equal(authorization, expected, baseUrl)
      assert.notEqual(headers(Buffer.from('{}'))['authorization'], expected)
    }
  }
})

test('the canonical path of a model with a colon holds %253A, calculated by hand from the specification', () => {
  const apiKey = 'AKIDEXAMPLE:secret'
  const { headers, body } = PROTOCOL.request(callOf({}, { apiKey, model: 'm-v1:0' }))
  assert.ok(typeof headers === 'function')
  const bytes = Buffer.from(JSON.stringify(body))
  const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const canonical = [
    'POST',
    '/model/m-v1%253A0/converse',
    '',
    'content-type:application/json',
    'host:bedrock-runtime.eu-west-1.amazonaws.com',
    'x-amz-date:20150830T123600Z',
    '',
    'content-type;host;x-amz-date',
    sha256(bytes),
  ].join('\n')
  const toSign = [
    'AWS4-HMAC-SHA256',
    '20150830T123600Z',
    '20150830/eu-west-1/bedrock/aws4_request',
    sha256(canonical),
  ].join('\n')
  const signature = hmac(
    hmac(hmac(hmac(hmac('AWS4secret', '20150830'), 'eu-west-1'), 'bedrock'), 'aws4_request'),
    toSign,
  ).toString('hex')
  assert.equal(
    headers(bytes)['authorization'],
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=${signature}`,
  )
})

test('sampling, stop and limits, as each model takes them', () => {
  const asked = { temperature: 1.5, top_p: 0.9, top_k: 40.5, stop: ['a', 'b'] }
  assert.deepEqual(bodyOf(asked, { model: NOVA })['inferenceConfig'], {
    maxTokens: 10_000,
    temperature: 1,
    topP: 0.9,
    stopSequences: ['a', 'b'],
  })
  assert.equal(bodyOf(asked, { model: NOVA })['additionalModelRequestFields'], undefined)
  assert.deepEqual(bodyOf({ ...asked, stop: 'c' }, { model: CLAUDE_3 })['inferenceConfig'], {
    maxTokens: 10_000,
    temperature: 1,
    topP: 0.9,
    stopSequences: ['c'],
  })
  assert.deepEqual(bodyOf(asked, { model: CLAUDE_3 })['additionalModelRequestFields'], { top_k: 40 })
  assert.deepEqual(bodyOf(asked, { model: CLAUDE_45 })['inferenceConfig'], {
    maxTokens: 10_000,
    temperature: 1,
    stopSequences: ['a', 'b'],
  })
  assert.deepEqual(bodyOf(asked, { model: 'us.anthropic.claude-opus-4-7-v1:0' })['inferenceConfig'], {
    maxTokens: 10_000,
    stopSequences: ['a', 'b'],
  })
  refuses({ stop: ['\n'] }, /^stop: /)
  assert.deepEqual(bodyOf({ stop: ['\n'] }, { model: NOVA })['inferenceConfig'], {
    maxTokens: 10_000,
    stopSequences: ['\n'],
  })
})

test('reasoning is a budget of thinking at Claude, in the ratios of effort', () => {
  const thinking = (fields: Record<string, unknown>, circumstances: Circumstances = {}): unknown =>
    bodyOf(fields, circumstances)['additionalModelRequestFields']
  for (const [effort, budget] of [
    ['xhigh', 9_500],
    ['high', 8_000],
    ['medium', 5_000],
    ['low', 2_000],
    ['minimal', 1_024],
  ] as const) {
    assert.deepEqual(thinking({ reasoning: { effort } }), { thinking: { type: 'enabled', budget_tokens: budget } })
    assert.deepEqual(thinking({ reasoning_effort: effort }), { thinking: { type: 'enabled', budget_tokens: budget } })
  }
  assert.deepEqual(thinking({ reasoning: { max_tokens: 50_000 } }), {
    thinking: { type: 'enabled', budget_tokens: 9_999 },
  })
  assert.equal(thinking({ reasoning: { max_tokens: 2_000 } }, { sendMaxTokens: 1_024 }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'none' } }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'high' } }, { model: CLAUDE_3 }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'high' } }, { model: NOVA }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'high' } }, { supportedParameters: ['max_tokens'] }), undefined)
  assert.deepEqual(thinking({ reasoning: { effort: 'high' } }, { sendMaxTokens: null }), {
    thinking: { type: 'enabled', budget_tokens: 3_276 },
  })
  assert.deepEqual(thinking({ reasoning: { effort: 'high' } }, { model: 'us.anthropic.claude-opus-4-7-v1:0' }), {
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'high' },
  })
})

test('thinking rules out what the model refuses with it, and is left out where the request rules it out', () => {
  const reasoning = { effort: 'high' }
  const body = bodyOf({ reasoning, temperature: 0.5, top_p: 0.9, top_k: 5 })
  assert.deepEqual(
    [body['inferenceConfig'], body['additionalModelRequestFields']],
    [{ maxTokens: 10_000 }, { thinking: { type: 'enabled', budget_tokens: 8_000 } }],
  )
  assert.deepEqual(bodyOf({ reasoning, top_p: 0.95 })['inferenceConfig'], { maxTokens: 10_000, topP: 0.95 })
  const isThinking = (fields: Record<string, unknown>): boolean =>
    bodyOf({ reasoning, ...fields })['additionalModelRequestFields'] !== undefined
  assert.equal(isThinking({ tools: [WEATHER] }), true)
  assert.equal(isThinking({ tools: [WEATHER], tool_choice: 'required' }), false)
  assert.equal(isThinking({ messages: [...HELLO.messages, { role: 'assistant', content: 'I' }] }), false)
  assert.equal(isThinking({ messages: CALLED }), false)
  const forced = bodyOf(
    { reasoning, tools: [WEATHER], tool_choice: 'required' },
    { model: 'us.anthropic.claude-opus-4-7-v1:0' },
  )
  assert.deepEqual(forced['additionalModelRequestFields'], { thinking: { type: 'disabled' } })
})

test('a JSON schema is decoded by, forced as a tool, or asked for in words, as the model can', () => {
  const textFormat = (schema: unknown): unknown => ({
    textFormat: {
      type: 'json_schema',
      structure: { jsonSchema: { name: 'my_answer', description: 'The a', schema: JSON.stringify(schema) } },
    },
  })
  assert.deepEqual(
    bodyOf(JSON_SCHEMA, { model: CLAUDE_45 })['outputConfig'],
    textFormat({ ...SCHEMA, additionalProperties: false }),
  )
  assert.deepEqual(bodyOf(JSON_SCHEMA, { model: 'openai.gpt-oss-120b-1:0' })['outputConfig'], textFormat(SCHEMA))
  const answer = {
    toolSpec: { name: 'give_answer', description: 'Gives the final answer: The a', inputSchema: { json: SCHEMA } },
  }
  for (const model of [CLAUDE_37, NOVA]) {
    assert.deepEqual(bodyOf(JSON_SCHEMA, { model })['toolConfig'], {
      tools: [answer],
      toolChoice: { tool: { name: 'give_answer' } },
    })
    assert.deepEqual(bodyOf({ ...JSON_SCHEMA, tools: [WEATHER] }, { model })['toolConfig'], {
      tools: [WEATHER_SPEC, answer],
      toolChoice: { any: {} },
    })
    assert.deepEqual(bodyOf({ ...JSON_SCHEMA, tools: [WEATHER], tool_choice: 'none' }, { model })['toolConfig'], {
      tools: [answer],
      toolChoice: { tool: { name: 'give_answer' } },
    })
  }
  const words = bodyOf(
    { ...JSON_SCHEMA, messages: [{ role: 'system', content: 'Be brief' }, ...HELLO.messages] },
    { model: LLAMA },
  )['system']
  assert.ok(Array.isArray(words))
  assert.deepEqual(words[0], { text: 'Be brief' })
  assert.match(words[1].text, /schema: \{"type":"object"/)
  assert.match(JSON.stringify(bodyOf({ response_format: { type: 'json_object' } })['system']), /valid JSON object/)
  assert.equal(bodyOf(JSON_SCHEMA, { model: CLAUDE_45, supportedParameters: ['tools'] })['outputConfig'], undefined)
  refuses(
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'array' } } } },
    /^response_format\.json_schema\.schema: /,
  )
})

test('what the protocol has no words for is not sent, and more than one answer is refused', () => {
  const body = bodyOf({
    logit_bias: { 1: 1 },
    seed: 1,
    frequency_penalty: 1,
    presence_penalty: 1,
    user: 'u',
    metadata: { a: 'b' },
    min_p: 0.1,
    logprobs: true,
    parallel_tool_calls: false,
  })
  assert.deepEqual(Object.keys(body), ['messages', 'inferenceConfig'])
  assert.deepEqual(body['inferenceConfig'], { maxTokens: 10_000 })
  for (const name of ['logit_bias', 'seed', 'n', 'frequency_penalty', 'presence_penalty', 'audio'])
    assert.equal(BEDROCK_PARAMETERS.includes(name), false, name)
  refuses({ n: 2 }, /^n: /)
})

test('models that cannot be forced get an instruction, the least effort and the schema without refused words', () => {
  const model = 'anthropic.claude-opus-5-5'
  const forced = bodyOf({ tools: [WEATHER], tool_choice: 'required', reasoning_effort: 'none' }, { model })
  assert.deepEqual(Object(forced['toolConfig']).toolChoice, { auto: {} })
  assert.match(Object(forced['system'])[0].text, /^Call one of the tools now/)
  assert.deepEqual(forced['additionalModelRequestFields'], { output_config: { effort: 'low' } })
  const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } }
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }
  const decoded = bodyOf(format, { model })
  assert.equal(decoded['toolConfig'], undefined)
  assert.deepEqual(JSON.parse(Object(decoded['outputConfig']).textFormat.structure.jsonSchema.schema), {
    type: 'object',
    properties: { a: { type: 'integer', description: 'It must satisfy {"minimum":1}.' } },
    additionalProperties: false,
  })
  const told = bodyOf(format, { model: 'us.anthropic.claude-sonnet-5-5' })
  assert.deepEqual([told['toolConfig'], told['outputConfig']], [undefined, undefined])
  assert.match(Object(told['system'])[0].text, /It must fit this JSON schema/)
})
