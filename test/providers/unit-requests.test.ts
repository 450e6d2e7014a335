import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEmbeddings } from '../../src/protocols/openai/client/embeddings.ts'
import { parseRerank } from '../../src/protocols/openai/client/rerank.ts'
import { endpoint } from '../harness/plan-fixture.ts'
import { bedrockEmbed, bedrockRerank } from '../../src/protocols/bedrock/bedrock.ts'
import { cohereEmbed, cohereRerank } from '../../src/protocols/cohere/provider/cohere.ts'
import type { EmbeddingsCall, EmbeddingsProtocol } from '../../src/protocols/upstream/embeddings.ts'
import { geminiEmbed } from '../../src/protocols/gemini/provider/gemini.ts'
import { parseLifted } from '../../src/protocols/wire/lifted-json.ts'
import type { JsonRequest } from '../../src/protocols/ports/call.ts'
import { ollamaEmbed } from '../../src/protocols/ollama/provider/ollama.ts'
import { openaiEmbeddings } from '../../src/protocols/openai/provider/embeddings.ts'

const now = (): number => Date.UTC(2026, 0, 1)

function callOf(
  upstreamModel: string,
  body: Readonly<Record<string, unknown>>,
  baseUrl = 'https://upstream.test',
  apiKey: string | null = 'k',
): EmbeddingsCall {
  const { provider, ...rest } = endpoint('alpha')
  return {
    endpoint: { ...rest, provider: { ...provider, baseUrl }, upstreamModel },
    apiKey,
    request: parseEmbeddings({ model: 'v/m', input: 'a', ...body }),
    generationId: 'gen-1',
  }
}

function request(protocol: EmbeddingsProtocol, call: EmbeddingsCall): JsonRequest {
  return protocol.request(call, call.request.input)
}

test('OpenAI: numbers are asked for by silence, base64 by name, and long lists come in base64', () => {
  const openai = openaiEmbeddings
  assert.deepEqual(request(openai, callOf('e', {})), {
    path: '/embeddings',
    body: { model: 'e', input: 'a' },
    headers: { authorization: 'Bearer k' },
  })
  assert.deepEqual(request(openai, callOf('e', { encoding_format: 'base64', input: ['a'] })).body, {
    model: 'e',
    input: 'a',
    encoding_format: 'base64',
  })
  const long = Array.from({ length: 513 }, () => 'a')
  assert.equal(request(openai, callOf('e', { input: long })).body['encoding_format'], 'base64')
  assert.equal(request(openai, callOf('e', { input: long.slice(1) })).body['encoding_format'], undefined)
})

test('Gemini: a batch, with the task and the dimensions in its words', () => {
  const gemini = geminiEmbed
  const call = callOf('gemini-embedding-001', { input: ['a', 'b'], dimensions: 768, input_type: 'search_query' })
  const asked = (text: string) => ({
    model: 'models/gemini-embedding-001',
    content: { parts: [{ text }] },
    taskType: 'RETRIEVAL_QUERY',
    outputDimensionality: 768,
  })
  assert.deepEqual(request(gemini, call), {
    path: '/models/gemini-embedding-001:batchEmbedContents',
    body: { requests: [asked('a'), asked('b')] },
    headers: { 'x-goog-api-key': 'k' },
  })
  assert.equal(gemini.batchMax(call), 100)
})

test('Vertex AI: one request a text', () => {
  const gemini = geminiEmbed
  const call = callOf(
    'gemini-embedding-2',
    { input_type: 'clustering' },
    'https://aiplatform.test/v1/projects/p/locations/global/publishers/google',
    'ya29.token',
  )
  assert.deepEqual(request(gemini, call), {
    path: '/models/gemini-embedding-2:embedContent',
    body: { content: { parts: [{ text: 'a' }] }, taskType: 'CLUSTERING' },
    headers: { authorization: 'Bearer ya29.token' },
  })
  assert.equal(gemini.batchMax(call), 1)
})

test('Ollama: nothing is cut without a word', () => {
  assert.deepEqual(request(ollamaEmbed, callOf('all-minilm', { dimensions: 5 }, 'http://o', null)), {
    path: '/api/embed',
    body: { model: 'all-minilm', input: ['a'], truncate: false, dimensions: 5 },
    headers: {},
  })
})

test('Cohere: it must be told what a text is for; others name the same otherwise', () => {
  const cohere = cohereEmbed
  const fields = { texts: ['a'], embedding_types: ['float'], truncate: 'NONE' }
  assert.deepEqual(request(cohere, callOf('embed-v4.0', {})), {
    path: '/v2/embed',
    body: { model: 'embed-v4.0', ...fields, input_type: 'search_document' },
    headers: { authorization: 'Bearer k' },
  })
  assert.deepEqual(request(cohere, callOf('embed-v4.0', { input_type: 'query', dimensions: 256 })).body, {
    model: 'embed-v4.0',
    ...fields,
    input_type: 'search_query',
    output_dimension: 256,
  })
  assert.equal(
    request(cohere, callOf('embed-v4.0', { input_type: 'classification' })).body['input_type'],
    'classification',
  )
})

test('Cohere: an answer of the first version has its lists without types', () => {
  const answer = parseLifted(
    Buffer.from(
      JSON.stringify({
        id: 'x',
        embeddings: [
          [1, 2],
          [3, 4],
        ],
        meta: { billed_units: { input_tokens: 4 } },
      }),
    ),
  )
  assert.ok(answer)
  const page = cohereEmbed.page(answer, {}, callOf('embed-v4.0', {}))
  assert.ok('vectors' in page)
  assert.deepEqual(
    [page.vectors.map(({ bytes }) => bytes.toString()), page.usage?.inputTokens, page.upstreamId],
    [['[1,2]', '[3,4]'], 4, 'x'],
  )
})

test("Bedrock: each maker's dialect, signed or with a key", () => {
  const bedrock = bedrockEmbed(now)
  const { path, body, headers } = request(bedrock, callOf('amazon.titan-embed-text-v2:0', { dimensions: 256 }))
  assert.deepEqual(
    [path, body, headers],
    [
      '/model/amazon.titan-embed-text-v2%3A0/invoke',
      { inputText: 'a', dimensions: 256 },
      { authorization: 'Bearer k' },
    ],
  )
  assert.deepEqual(
    request(bedrock, callOf('amazon.nova-2-multimodal-embeddings-v1:0', { dimensions: 256, input_type: 'query' })).body,
    {
      taskType: 'SINGLE_EMBEDDING',
      singleEmbeddingParams: {
        embeddingPurpose: 'GENERIC_RETRIEVAL',
        text: { value: 'a', truncationMode: 'NONE' },
        embeddingDimension: 256,
      },
    },
  )
  assert.deepEqual(request(bedrock, callOf('eu.cohere.embed-v4:0', {})).body, {
    texts: ['a'],
    input_type: 'search_document',
    embedding_types: ['float'],
    truncate: 'NONE',
  })
  assert.equal(
    typeof request(bedrock, callOf('m', {}, 'https://bedrock-runtime.us-east-1.amazonaws.com', 'ID:SECRET')).headers,
    'function',
  )
  assert.deepEqual(
    ['amazon.titan-embed-text-v2:0', 'cohere.embed-v4:0'].map((model) => bedrock.batchMax(callOf(model, {}))),
    [1, 96],
  )
})

test('Bedrock: the billed tokens are read from a header or from beside the vector', () => {
  const bedrock = bedrockEmbed(now)
  const read = (body: unknown, headers: Readonly<Record<string, string>>): unknown => {
    const answer = parseLifted(Buffer.from(JSON.stringify(body)))
    assert.ok(answer)
    const page = bedrock.page(answer, headers, callOf('amazon.titan-embed-text-v2:0', {}))
    assert.ok('vectors' in page)
    return [page.vectors.map(({ bytes }) => bytes.toString()), page.usage?.inputTokens, page.usage?.implausible]
  }
  assert.deepEqual(read({ embedding: [1, 2], inputTextTokenCount: 3 }, {}), [['[1,2]'], 3, false])
  assert.deepEqual(read({ embedding: [1, 2], inputTextTokenCount: 3 }, { 'x-amzn-bedrock-input-token-count': '5' }), [
    ['[1,2]'],
    5,
    false,
  ])
  assert.deepEqual(read({ embeddings: { float: [[1], [2]] } }, { 'x-amzn-bedrock-input-token-count': '5' }), [
    ['[1]', '[2]'],
    5,
    false,
  ])
  assert.deepEqual(read({ embeddings: [[1], [2]] }, { 'x-amzn-bedrock-input-token-count': 'many' }), [
    ['[1]', '[2]'],
    0,
    true,
  ])
})

test('no provider but OpenAI reads token numbers', () => {
  for (const protocol of [geminiEmbed, cohereEmbed, ollamaEmbed, bedrockEmbed(now)]) {
    assert.throws(() => request(protocol, callOf('m', { input: [1, 2] })), {
      name: 'UnsendableError',
      message: 'input: this provider takes texts and no token numbers',
    })
  }
})

test('rerank: Cohere at home and at Bedrock', () => {
  const { endpoint: at, apiKey, generationId } = callOf('cohere.rerank-v3-5:0', {})
  const call = {
    endpoint: at,
    apiKey,
    generationId,
    request: parseRerank({ model: 'v/m', query: 'q', documents: ['a', 'b'], top_n: 1 }),
  }
  assert.deepEqual(cohereRerank.request(call), {
    path: '/v2/rerank',
    body: { model: 'cohere.rerank-v3-5:0', query: 'q', documents: ['a', 'b'], top_n: 1 },
    headers: { authorization: 'Bearer k' },
  })
  assert.deepEqual(bedrockRerank(now).request(call), {
    path: '/model/cohere.rerank-v3-5%3A0/invoke',
    body: { query: 'q', documents: ['a', 'b'], top_n: 1, api_version: 2 },
    headers: { authorization: 'Bearer k' },
  })
  const amazon = { ...call, endpoint: { ...at, upstreamModel: 'amazon.rerank-v1:0' } }
  assert.deepEqual(bedrockRerank(now).request(amazon).body, { query: 'q', documents: ['a', 'b'], top_n: 1 })
})
