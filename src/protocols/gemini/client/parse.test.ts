import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBatchEmbed, parseEmbedContent } from './embed.ts'
import { parseCountTokens, parseGenerateContent } from './parse.ts'
import type { GenerateContentRequest } from './request.ts'
import { refusal } from '../../../../test/harness/refused.ts'

const USER = { role: 'user', parts: [{ text: 'Hi' }] }
const PNG = 'iVBORw0KGgo='

function parse(body: Record<string, unknown>): GenerateContentRequest {
  return parseGenerateContent({ contents: [USER], ...body }, { model: 'a/b', stream: false, framing: 'array' })
}

test('contents become messages: text, media, thoughts, calls and results', () => {
  const { chat } = parse({
    systemInstruction: { parts: [{ text: 'One' }, { text: 'Two' }] },
    contents: [
      {
        parts: [
          { text: 'Look' },
          { inlineData: { mimeType: 'image/png', data: PNG } },
          { inlineData: { mimeType: 'audio/mpeg', data: PNG } },
          { inline_data: { mime_type: 'application/pdf', data: PNG, display_name: 'a.pdf' } },
          { fileData: { fileUri: 'https://example.com/v', mimeType: 'video/mp4' } },
        ],
      },
      { role: 'model', parts: [{ text: 'Hm', thought: true }, { text: 'I ' }, { text: 'call' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' },
          { functionCall: { name: 'f' } },
        ],
      },
      {
        role: 'user',
        parts: [
          { text: 'go on' },
          { functionResponse: { name: 'f', response: { output: 'first' } } },
          {
            functionResponse: {
              name: 'f',
              response: { error: 'second' },
              parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }],
            },
          },
        ],
      },
    ],
  })
  assert.deepEqual(chat.messages, [
    {
      role: 'system',
      content: [
        { type: 'text', text: 'One' },
        { type: 'text', text: 'Two' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        { type: 'input_audio', input_audio: { data: PNG, format: 'mp3' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PNG}` } },
        { type: 'video_url', video_url: { url: 'https://example.com/v' } },
      ],
    },
    {
      role: 'assistant',
      content: 'I call',
      reasoning: 'Hm',
      reasoning_details: [
        { type: 'reasoning.encrypted', data: 'c2ln', id: 'call_1', format: 'google-gemini-v1', index: 0 },
      ],
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: 'call_2', type: 'function', function: { name: 'f', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'first' },
    {
      role: 'tool',
      tool_call_id: 'call_2',
      content: [
        { type: 'text', text: 'second' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      ],
      is_error: true,
    },
    { role: 'user', content: 'go on' },
  ])
  assert.deepEqual([...chat.inputModalities].toSorted(), ['audio', 'file', 'image', 'video'])
})

test('generationConfig becomes parameters, in either spelling', () => {
  const { chat, showsThoughts } = parse({
    generation_config: {
      top_p: 0.5,
      topK: 40,
      candidate_count: 2,
      max_output_tokens: 7,
      thinking_config: { include_thoughts: true, thinking_budget: 100 },
      response_json_schema: { type: 'object' },
      response_modalities: ['TEXT', 'IMAGE'],
      imageConfig: { aspectRatio: '1:1' },
    },
  })
  assert.deepEqual(chat.parameters, {
    top_p: 0.5,
    top_k: 40,
    reasoning: { max_tokens: 100 },
    modalities: ['text', 'image'],
    image_config: { aspect_ratio: '1:1' },
  })
  assert.deepEqual([chat.n, chat.maxTokens, showsThoughts], [2, 7, true])
  assert.deepEqual(chat.responseFormat, {
    type: 'json_schema',
    json_schema: { name: 'response', schema: { type: 'object' } },
  })
  for (const [thinkingConfig, reasoning] of [
    [{ thinkingBudget: 0 }, { enabled: false }],
    [{ thinkingBudget: -1 }, { enabled: true }],
    [{ thinkingLevel: 'LOW' }, { effort: 'low' }],
    [{}, undefined],
  ] as const)
    assert.deepEqual(parse({ generationConfig: { thinkingConfig } }).chat.parameters['reasoning'], reasoning)
})

test('schemas in Google’s words become JSON Schema, and names of the client’s own stay', () => {
  const parameters = {
    type: 'OBJECT',
    property_ordering: ['min_items'],
    properties: {
      min_items: { type: 'ARRAY', min_items: '2', items: { type: 'INTEGER', nullable: true } },
      type: { type: 'STRING', enum: ['A'], nullable: true },
    },
    required: ['min_items'],
  }
  const { chat } = parse({
    tools: [
      {
        function_declarations: [
          { name: 'f', parameters },
          { name: 'g', parameters_json_schema: parameters },
        ],
      },
    ],
  })
  assert.deepEqual(
    chat.tools?.map((tool) => tool.function.parameters),
    [
      {
        type: 'object',
        properties: {
          min_items: { type: 'array', minItems: 2, items: { type: ['integer', 'null'] } },
          type: { type: ['string', 'null'], enum: ['A', null] },
        },
        required: ['min_items'],
      },
      parameters,
    ],
  )
})

test('what cannot be said is named; what would make the answer wrong is refused in a sentence', () => {
  const declared = { functionDeclarations: [{ name: 'f' }, { name: 'g' }] }
  const request = parse({
    tools: [declared, { urlContext: {}, googleSearch: {} }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['g', 'x'] } },
    safetySettings: [{}],
    labels: {},
    novel: 1,
    generationConfig: { mediaResolution: 'LOW' },
    contents: [{ parts: [{ text: 'x' }, { novelPart: {} }] }],
  })
  assert.deepEqual(request.withheld, ['tools.urlContext', 'labels'])
  assert.deepEqual(request.untranslated, [
    'contents.parts.novelPart',
    'generationConfig.mediaResolution',
    'safetySettings',
    'novel',
  ])
  assert.deepEqual([request.search, request.needsSearch], ['googleSearch', false])
  assert.deepEqual(
    request.chat.tools?.map((tool) => tool.function.name),
    ['g'],
  )
  assert.equal(request.chat.toolChoice, 'required')
  const refused: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ contents: [] }, /'contents' is required/],
    [{ contents: 'x' }, /contents\[0\]: must be an object/],
    [{ contents: [{ role: 'assistant', parts: [] }] }, /'assistant' is not allowed. Allowed: user, model/],
    [{ contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: '?' } }] }] }, /is not valid base64/],
    [{ contents: [{ parts: [{ inlineData: { mimeType: 'png', data: PNG } }] }] }, /must be a media type/],
    [{ contents: [{ parts: [{ functionResponse: { name: 'f', response: {} } }] }] }, /no functionCall 'f' before it/],
    [{ cachedContent: 'cachedContents/1' }, /cachedContent: is not offered/],
    [{ tools: [{ urlContext: {} }] }, /'urlContext' is not offered: it has no price/],
    [{ generationConfig: { temperature: 3 } }, /temperature: must be a number between 0 and 2/],
    [{ generationConfig: { responseMimeType: 'text/csv' } }, /Allowed: text\/plain, application\/json/],
    [{ toolConfig: { functionCallingConfig: { mode: 'SOME' } } }, /'SOME' is not allowed/],
    [{ generationConfig: { maxOutputTokens: 1, max_output_tokens: 9 } }, /given twice/],
  ]
  for (const [body, message] of refused) assert.match(refusal(() => parse(body)).message, message)
})

test('countTokens takes a request or what holds one; embeddings take texts with the same options', () => {
  assert.equal(parseCountTokens({ generateContentRequest: { contents: [USER] } }, 'a/b').messages.length, 1)
  const one = parseEmbedContent(
    { content: { parts: [{ text: 'x' }, { text: 'y' }] }, task_type: 'RETRIEVAL_QUERY' },
    'a/b',
  )
  assert.deepEqual([one.input, one.inputType], [{ type: 'texts', texts: ['xy'] }, 'search_query'])
  const content = { parts: [{ text: 'x' }] }
  const many = parseBatchEmbed(
    {
      requests: [
        { content, outputDimensionality: 8 },
        { content, outputDimensionality: 8 },
      ],
    },
    'a/b',
  )
  assert.equal(many.dimensions, 8)
  assert.throws(
    () => parseBatchEmbed({ requests: [{ content }, { content, outputDimensionality: 8 }] }, 'a/b'),
    /same taskType/,
  )
  assert.throws(() => parseEmbedContent({ content: { parts: [{ inlineData: {} }] } }, 'a/b'), /must hold text/)
})
