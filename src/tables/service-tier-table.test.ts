import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askedWord, plainWordAt, servesAsAsked, TIER_SERVICES, tierNamed } from './service-tier-table.ts'

test('every service of the table names its page and the day on which the page said so', () => {
  for (const { adapter, source, date } of TIER_SERVICES) {
    assert.match(source, /^https:\/\/[\w.-]+\.(com|ai|dev)\/\S+$/, adapter)
    assert.match(date, /^20\d\d-\d\d-\d\d$/, adapter)
  }
})

test('what each service is asked for flex and priority, what it is sent for the plain tier, and whether it then serves it', () => {
  for (const [adapter, baseUrl, flex, priority, plain, isAsAsked] of [
    ['openai', 'https://api.openai.com/v1', 'flex', 'priority', 'default', true],
    ['openai', 'https://eu.api.openai.com/v1', 'flex', 'priority', 'default', true],
    ['openai', 'https://my.openai.azure.com/openai/v1', null, 'priority', 'default', true],
    ['openai', 'https://my.openai.azure.com/openai/deployments/gpt-4o', null, 'priority', null, false],
    ['openai', 'https://api.groq.com/openai/v1', 'flex', null, null, true],
    ['openai', 'https://api.x.ai/v1', null, 'priority', null, true],
    ['openai', 'https://openrouter.ai/api/v1', 'flex', 'priority', null, false],
    ['openai', 'https://llm.example.com/v1', 'flex', 'priority', null, false],
    ['openai', 'https://notapi.openai.com.example.com/v1', 'flex', 'priority', null, false],
    ['anthropic', 'https://api.anthropic.com/v1', null, 'auto', 'standard_only', true],
    ['anthropic', 'https://llm.example.com/v1', null, 'auto', null, false],
    ['gemini', 'https://generativelanguage.googleapis.com/v1beta', 'flex', 'priority', null, true],
    [
      'gemini',
      'https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google',
      'flex',
      'priority',
      null,
      false,
    ],
    ['bedrock', 'https://bedrock-runtime.us-east-1.amazonaws.com', 'flex', 'priority', null, true],
    // Their protocols have no field for a tier.
    ['cohere', 'https://api.cohere.com', null, null, null, false],
    ['ai-sdk', 'https://api.openai.com/v1', null, null, null, false],
  ] as const) {
    const asked = { adapter, baseUrl }
    const word = plainWordAt(asked)
    assert.deepEqual(
      [askedWord(asked, 'flex'), askedWord(asked, 'priority'), word, servesAsAsked(asked, word)],
      [flex, priority, plain, isAsAsked],
      baseUrl,
    )
  }
  const unknown = { adapter: 'openai', baseUrl: 'https://llm.example.com/v1' }
  assert.equal(servesAsAsked(unknown, 'default'), true, "the operator's own word")
  assert.equal(
    askedWord({ adapter: 'openai', baseUrl: 'https://api.groq.com/openai/v1' }, 'performance'),
    'performance',
  )
})

test("services' words for tiers are read as ours", () => {
  for (const [word, tier] of [
    ['on_demand', 'default'],
    ['standard', 'default'],
    ['standard_only', 'default'],
    ['ON_DEMAND_PRIORITY', 'priority'],
    ['fast', 'priority'],
    ['performance', 'performance'],
    ['auto', null],
    ['', null],
    [7, null],
  ] as const)
    assert.equal(tierNamed(word), tier, String(word))
})
