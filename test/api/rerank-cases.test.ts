import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BODY_VARIANTS, providerOf, recordedUnits, startUnits } from './recorded-units.ts'

const ROWS = {
  cohere: 'adapter: cohere',
  bedrock: 'adapter: bedrock',
  together: 'adapter: openai',
  voyage: 'adapter: openai, dialect: { names: { top_n: top_k } }',
}
/** Sold by search units; the others by tokens. */
const BY_SEARCH = ['cohere', 'bedrock']
/** Long enough that the recorded usage (2,966 tokens) is plausible for them. */
const DOCUMENTS = Array.from(
  { length: 8 },
  (_value, index) => `${index} ${'the quick brown fox jumps over the lazy dog '.repeat(30)}`,
)

const units = await startUnits(ROWS, 'rerank', (name) => (BY_SEARCH.includes(name) ? 'search: 0.2' : 'prompt: 1000'))

describe('recorded rankings', async () => {
  for (const recorded of recordedUnits('rerank')) {
    test(recorded.name, async () => {
      const { results, usage_native: native } = Object(recorded.expected)
      const provider = providerOf(recorded)
      const searches = BY_SEARCH.includes(provider) ? 1 : null
      for (const opts of BODY_VARIANTS) {
        const answer = await units.ask(recorded, opts, '/v1/rerank', { query: 'fox', documents: DOCUMENTS })
        assert.equal(answer.status, 200, answer.text)
        const { id, usage, ...body } = answer.body
        const tokens = native?.total_tokens
        const cost = searches === null ? tokens / 1_000 : 0.2
        assert.deepEqual(body, {
          object: 'list',
          model: `test/${provider}`,
          provider,
          results: results.map(({ index, score }: { index: number; score: number }) => ({
            index,
            relevance_score: score,
            document: { text: DOCUMENTS[index] },
          })),
          ...(searches === null ? {} : { meta: { billed_units: { search_units: 1 } } }),
        })
        assert.deepEqual(usage, {
          ...(searches === null ? { total_tokens: tokens } : { search_units: 1 }),
          cost,
          currency: 'RUB',
        })
        const log = await units.lastLog()
        const said = native?.billed_units !== undefined || searches === null
        assert.deepEqual(
          [
            log['generation_id'],
            log['type'],
            log['status'],
            log['input_tokens'],
            log['output_tokens'],
            log['total_cost'],
            log['billing_basis'],
          ],
          [id, 'rerank', 'completed', searches === null ? tokens : 0, 0, cost, said ? 'provider_usage' : 'counted'],
        )
      }
    })
  }
})

test('every provider of recorded rankings has its adapter here', async () => {
  assert.deepEqual([...new Set(recordedUnits('rerank').map(providerOf))].toSorted(), Object.keys(ROWS).toSorted())
})
