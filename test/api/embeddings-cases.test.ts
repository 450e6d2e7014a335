import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BODY_VARIANTS, checkRecordedError, providerOf, recordedUnits, startUnits } from './recorded-units.ts'
import type { RecordedCase } from '../harness/recording.ts'
import type { ReplayOptions } from '../harness/replay.ts'
import type { Answer } from '../harness/gateway.ts'

const ROWS = {
  openai: 'adapter: openai',
  azure: 'adapter: openai, dialect: { auth_header: api-key, query: { api-version: "2023-07-01-preview" } }',
  mistral: 'adapter: openai',
  voyage: 'adapter: openai, dialect: { names: { dimensions: output_dimension } }',
  ollama: 'adapter: ollama',
  cohere: 'adapter: cohere',
  gemini: 'adapter: gemini',
  vertex: 'adapter: gemini',
  bedrock: 'adapter: bedrock',
}
/** 1,000 RUB per million are a thousandth of a ruble per token. */
const PRICE = 'prompt: 1000'
/** The Nova case with its dimensions; the token count is in the answer's header. */
const NOVA = 'bedrock/embeddings/nova-with-dimensions'
const NOVA_TOKENS = 18

interface ExpectedVectors {
  readonly count: number
  readonly dims: number
  readonly first: readonly number[]
}

const units = await startUnits(ROWS, 'embeddings', () => PRICE)

/** The recorder's expectation; it has none for Bedrock's own dialect, so it is read from the body. */
function expectedOf(recorded: RecordedCase): ExpectedVectors {
  if (recorded.name === NOVA) return { count: 1, dims: 256, first: [-0.109526575, 0.022427728, -0.034227055] }
  const { count, vectors } = Object(recorded.expected)
  return { count, dims: vectors[0].dims, first: vectors[0].first }
}

function numbersOf(vector: unknown): readonly number[] {
  if (Array.isArray(vector)) return vector
  const bytes = Buffer.from(String(vector), 'base64')
  return Array.from({ length: bytes.length / 4 }, (_value, index) => bytes.readFloatLE(index * 4))
}

function vectorsOf(answer: Answer): readonly unknown[] {
  assert.equal(answer.status, 200, answer.text.slice(0, 500))
  const { data } = answer.body
  assert.deepEqual(
    data.map(({ index, object }: Record<string, unknown>) => [index, object]),
    data.map((_item: unknown, index: number) => [index, 'embedding']),
  )
  return data.map(({ embedding }: Record<string, unknown>) => embedding)
}

async function ask(recorded: RecordedCase, format: string, opts: ReplayOptions, count: number): Promise<Answer> {
  const input = Array.from({ length: count }, (_value, index) => `What is embedded, number ${index}`)
  return units.ask(recorded, opts, '/v1/embeddings', { input: count === 1 ? input[0] : input, encoding_format: format })
}

describe('recorded embeddings', async () => {
  for (const recorded of recordedUnits('embeddings')) {
    test(recorded.name, async () => {
      if (recorded.status >= 400) {
        const answer = await ask(recorded, 'float', {}, 1)
        checkRecordedError(recorded, answer, await units.lastLog())
        return
      }
      const { count, dims, first } = expectedOf(recorded)
      const usage = recorded.name === NOVA ? { prompt_tokens: NOVA_TOKENS } : recorded.expected.usage
      for (const opts of BODY_VARIANTS) {
        const floats = vectorsOf(await ask(recorded, 'float', opts, count))
        const answer = await ask(recorded, 'base64', opts, count)
        const texts = vectorsOf(answer)
        assert.deepEqual([floats.length, texts.length], [count, count])
        for (const [index, vector] of floats.entries()) {
          assert.ok(Array.isArray(vector) && typeof texts[index] === 'string')
          assert.equal(vector.length, dims)
          assert.deepEqual(
            numbersOf(vector).map(Math.fround),
            numbersOf(texts[index]),
            'both forms are the same vector',
          )
        }
        for (const [index, number] of first.entries())
          assert.ok(Math.abs((numbersOf(floats[0])[index] ?? 9) - number) < 1e-6, `${index}: ${number}`)
        const { usage: told } = answer.body
        if (usage !== null && usage !== undefined) assert.equal(told.prompt_tokens, usage.prompt_tokens)
        assert.ok(told.prompt_tokens > 0)
        assert.deepEqual(told, {
          prompt_tokens: told.prompt_tokens,
          total_tokens: told.prompt_tokens,
          cost: told.prompt_tokens / 1_000,
          currency: 'RUB',
        })
        const log = await units.lastLog()
        const expected = {
          generation_id: answer.body.id,
          type: 'embeddings',
          status: 'completed',
          model_name: `test/${providerOf(recorded)}`,
          input_tokens: told.prompt_tokens,
          output_tokens: 0,
          total_cost: told.cost,
          streamed: false,
          billing_basis: usage === null || usage === undefined ? 'counted' : 'provider_usage',
        }
        assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, log[name]])), expected)
      }
    })
  }
})

test('every provider of recorded embeddings has its adapter here', async () => {
  assert.deepEqual([...new Set(recordedUnits('embeddings').map(providerOf))].toSorted(), Object.keys(ROWS).toSorted())
})
