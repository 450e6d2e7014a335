import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { recordedCases, type Exchange, type RecordedCase } from '../harness/recording.ts'
import { CHAT_FOLDS } from './chat-fold.ts'
import { at, documentsOf, fieldsOf, lastAt, listOf, textOf, type Fields } from './documents.ts'

const BYTES_MAX = 3_000_000
const KINDS = [
  'chat',
  'completions',
  'responses',
  'embeddings',
  'images',
  'speech',
  'transcriptions',
  'translations',
  'rerank',
  'videos',
  'jobs',
  'models',
]
/** The place of the usage in each protocol; of a stream the last one counts. */
const USAGE_PATHS = [
  [],
  ['usage'],
  ['message', 'usage'],
  ['response', 'usage'],
  ['usageMetadata'],
  ['metadata', 'usage'],
  ['delta', 'usage'],
  ['response', 'meta'],
  ['meta'],
  ['x_groq', 'usage'],
]

const cases = recordedCases()

test('every kind is there, in at most three megabytes, each case once and with its source', () => {
  const files = globSync('*', { cwd: import.meta.dirname })
  assert.ok(files.reduce((sum, file) => sum + statSync(join(import.meta.dirname, file)).size, 0) <= BYTES_MAX)
  assert.deepEqual(new Set(cases.map(({ name }) => name.split('/')[1])), new Set(KINDS))
  const rows = readFileSync(join(import.meta.dirname, 'SOURCES.tsv'), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((row) => row.split('\t'))
  assert.deepEqual(rows.map(([name = '']) => name).toSorted(), cases.map(({ name }) => name).toSorted())
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length)
  for (const row of rows) assert.ok(row.length === 9 && row.every((field) => field !== ''), row.join(' | '))
})

describe('the expected values are those of the body, read by separate rules', () => {
  for (const recorded of cases) {
    const exchanges: readonly Exchange[] = recorded.steps.length > 0 ? recorded.steps : [recorded]
    test(recorded.name, () => {
      for (const exchange of exchanges) checkExchange(recorded, exchange)
    })
  }
})

function checkExchange({ name, protocol }: RecordedCase, exchange: Exchange): void {
  const { expected, status, body, framing } = exchange
  if (expected.sha256 !== undefined) assert.equal(createHash('sha256').update(body).digest('hex'), expected.sha256)
  if (expected.bytes !== undefined) assert.equal(body.length, expected.bytes)
  if (framing === 'txt') assert.equal(body.toString('utf8'), expected.text)
  const documents = documentsOf(exchange)
  if (status >= 400) return checkError(exchange, documents)
  const fold = CHAT_FOLDS[protocol]
  if (fold !== undefined && expected.choices !== undefined) checkChoices(exchange, fold(documents), name)
  const { usage, usage_native: native } = expected
  if (native !== undefined && native !== null) assert.ok(isWithin(native, documents), `${name}: usage`)
  if (usage !== undefined && usage !== null)
    assert.deepEqual(
      [usage.prompt_tokens, usage.completion_tokens],
      tokensOf(protocol, name, native),
      `${name}: tokens`,
    )
  checkUnits(exchange, documents)
}

function checkError({ expected, framing }: Exchange, documents: readonly Fields[]): void {
  const message = expected.error?.message
  if (message === undefined || message === null || framing === 'html') return
  assert.ok(textsOf(documents).includes(message), message)
}

function checkChoices({ expected }: Exchange, folded: ReturnType<(typeof CHAT_FOLDS)[string]>, name: string): void {
  for (const choice of expected.choices ?? []) {
    const got = folded.get(choice.index)
    assert.ok(got, `${name}: choice ${choice.index}`)
    assert.equal(got.text, choice.text ?? '')
    assert.equal(got.reasoning, choice.reasoning ?? '')
    assert.equal(got.refusal, choice.refusal ?? '')
    assert.equal(got.finish, choice.finish_reason_native)
    // Some providers number them from 1.
    const calls = got.calls.filter((call) => call !== undefined)
    assert.deepEqual(
      calls.map(({ id, name: called }) => [id, called]),
      choice.tool_calls.map(({ id, name: called }) => [id, called]),
    )
    for (const [index, call] of calls.entries()) {
      const text = choice.tool_calls[index]?.arguments ?? ''
      assert.deepEqual(call.arguments, typeof call.arguments === 'string' ? text : JSON.parse(text))
    }
  }
}

/** All input tokens, cached ones too, and all output tokens, reasoning too. */
function tokensOf(protocol: string, name: string, native: unknown): readonly [number, number] {
  const sum = (...paths: readonly string[]): number =>
    paths.reduce((total, path) => total + Number(at(native, ...path.split('.')) ?? 0), 0)
  if (protocol === 'anthropic-messages' || protocol === 'bedrock-invoke')
    return [sum('input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'), sum('output_tokens')]
  if (protocol.startsWith('gemini-'))
    return [sum('promptTokenCount', 'toolUsePromptTokenCount'), sum('candidatesTokenCount', 'thoughtsTokenCount')]
  if (protocol === 'bedrock-converse')
    return [sum('inputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'), sum('outputTokens')]
  if (protocol === 'cohere-embed') return [sum('billed_units.input_tokens'), 0]
  if (protocol.startsWith('cohere-')) return [sum('tokens.input_tokens'), sum('tokens.output_tokens')]
  if (protocol.startsWith('ollama-')) return [sum('prompt_eval_count'), sum('eval_count')]
  // xAI counts a chat's reasoning apart from its answer.
  const beside = name.startsWith('xai/chat/') ? sum('completion_tokens_details.reasoning_tokens') : 0
  return [
    sum('prompt_tokens', 'input_tokens') || sum('total_tokens'),
    sum('completion_tokens', 'output_tokens') + beside,
  ]
}

/** Whether an object of the documents, or members of several, equal the recorded usage. */
function isWithin(usage: Readonly<Record<string, unknown>>, documents: readonly Fields[]): boolean {
  const found = USAGE_PATHS.flatMap((path) => documents.map((document) => at(document, ...path)))
  return Object.entries(usage).every(([name, value]) =>
    found.some((one) => JSON.stringify(fieldsOf(one)[name]) === JSON.stringify(value)),
  )
}

function checkUnits({ expected }: Exchange, documents: readonly Fields[]): void {
  const [document = {}] = documents
  if (expected.text !== undefined && documents.length > 0) assert.equal(transcriptOf(documents), expected.text)
  if (expected.duration !== undefined)
    assert.equal(document['duration'] ?? at(document, 'metadata', 'duration'), expected.duration)
  if (expected.results !== undefined)
    assert.deepEqual(
      listOf(document['results'] ?? document['data']).map((result) => ({
        index: result['index'],
        score: result['relevance_score'] ?? result['relevanceScore'],
      })),
      expected.results,
    )
  if (expected.vectors !== undefined) checkVectors(expected.vectors, document)
  for (const [index, { sha256, revised_prompt: prompt }] of (expected.images ?? []).entries()) {
    const image = listOf(document['data'] ?? document['predictions'])[index] ?? {}
    if (sha256 !== undefined)
      assert.equal(
        createHash('sha256')
          .update(Buffer.from(String(image['b64_json'] ?? image['bytesBase64Encoded']), 'base64'))
          .digest('hex'),
        sha256,
      )
    if (prompt !== undefined) assert.ok(String(image['revised_prompt']).startsWith(prompt.slice(0, 60)))
  }
  const { id } = expected
  if (id !== undefined) assert.ok(textsOf(documents).includes(id), id)
}

function checkVectors(vectors: NonNullable<Exchange['expected']['vectors']>, document: Fields): void {
  const [vector] = allVectors(document)
  assert.equal(vector?.length, vectors[0]?.dims)
  for (const [index, number] of (vectors[0]?.first ?? []).entries())
    assert.ok(Math.abs(Number(vector?.[index]) - number) < 1e-5)
}

/** Every vector within, of numbers or in base64. */
function allVectors(value: unknown): readonly (readonly number[])[] {
  if (typeof value === 'string' && value.length > 1_000) {
    const bytes = Buffer.from(value, 'base64')
    return [Array.from({ length: bytes.length / 4 }, (_number, index) => bytes.readFloatLE(index * 4))]
  }
  if (Array.isArray(value) && typeof value[0] === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(allVectors) : []
}

function transcriptOf(documents: readonly Fields[]): string | null {
  return (
    textOf(lastAt(documents, 'text')) ??
    textOf(at(documents[0], 'results', 'channels', 0, 'alternatives', 0, 'transcript'))
  )
}

/** Every text within. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}
