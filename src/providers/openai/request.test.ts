import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dialectOf, type DialectEntry } from '../../catalog/dialect.ts'
import { parseChat } from '../../protocols/openai/client/chat/parse.ts'
import { endpoint } from '../../../test/harness/plan-fixture.ts'
import { openaiBody } from './request.ts'

const HI = [{ role: 'user', content: 'hi' }]

function bodyOf(
  fields: Record<string, unknown>,
  supportedParameters: readonly string[] | null = null,
  dialect: DialectEntry = {},
): Record<string, unknown> {
  const made = endpoint('p', { supportedParameters })
  const request = parseChat({ model: 'a/b', messages: HI, ...fields })
  return openaiBody({
    endpoint: { ...made, provider: { ...made.provider, dialect: dialectOf(dialect) } },
    apiKey: null,
    request,
    sendMaxTokens: 7,
    generationId: 'gen-1-a',
    splice: null,
  })
}

function reasoningOf(
  fields: Record<string, unknown>,
  supported: readonly string[] | null = null,
  dialect: DialectEntry = {},
): Record<string, unknown> {
  const { reasoning, reasoning_effort: effort, thinking } = bodyOf(fields, supported, dialect)
  return {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(effort === undefined ? {} : { effort }),
    ...(thinking === undefined ? {} : { thinking }),
  }
}

describe('reasoning in the spelling of the service', () => {
  test("an endpoint without a list is OpenAI's own: it gets only the effort", () => {
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low' } }), { effort: 'low' })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'high' }), { effort: 'high' })
    assert.deepEqual(reasoningOf({ reasoning: { max_tokens: 2_000 } }), {}, 'a budget has no word there')
    assert.deepEqual(reasoningOf({ reasoning: { enabled: false } }), { effort: 'none' })
    assert.deepEqual(reasoningOf({}), {})
  })

  test('an endpoint that lists its parameters gets the one it lists, and none it does not', () => {
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low', max_tokens: 9 } }, ['reasoning']), {
      reasoning: { effort: 'low', max_tokens: 9 },
    })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, ['reasoning']), { reasoning: { effort: 'low' } })
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low' } }, ['reasoning_effort']), { effort: 'low' })
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low' } }, ['temperature']), {})
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, ['reasoning', 'reasoning_effort']), { effort: 'low' })
  })

  test('a declared dialect decides', () => {
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, null, { reasoning: 'thinking' }), {
      thinking: { type: 'enabled' },
    })
    assert.deepEqual(reasoningOf({ reasoning: { enabled: false } }, null, { reasoning: 'thinking' }), {
      thinking: { type: 'disabled' },
    })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, null, { reasoning: 'object' }), {
      reasoning: { effort: 'low' },
    })
  })
})

test('usage in a stream is asked for, unless the service refuses the word', () => {
  assert.deepEqual(bodyOf({ stream: true })['stream_options'], { include_usage: true })
  assert.equal(bodyOf({ stream: true }, null, { stream_usage: false })['stream_options'], undefined)
  assert.equal(bodyOf({})['stream_options'], undefined)
})

test('nothing the client invents goes upstream, and nothing the endpoint does not list', () => {
  assert.deepEqual(
    bodyOf({ junk: 1, temperature: 0.5, top_k: 3, provider: { order: ['x'] } }, ['max_tokens', 'temperature']),
    {
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 7,
      temperature: 0.5,
    },
  )
})
