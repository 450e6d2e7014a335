import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FailedAttempt, providerWords } from './attempt-error.ts'

const PROMPT = 'Tell me about the harbour of Trieste in winter'

function refused(said: string | null, status: number | null = 400): FailedAttempt {
  return {
    failure: {
      reason: 'status',
      status,
      publicMessage: null,
      said,
      refusal: null,
      retryAfterSeconds: null,
      redacted: true,
      quotes: true,
      detail: '',
    },
    providerName: 'Acme',
    modelId: 'acme/small',
    contextLength: null,
  }
}

const request = (content: unknown): unknown => ({ model: 'claude-sonnet-large', messages: [{ role: 'user', content }] })

test('a provider’s message is kept; the name of the model is no secret', () => {
  assert.deepEqual(
    providerWords([refused('Incorrect API key provided: [redacted]', 401)], () => request(PROMPT)),
    ['Incorrect API key provided: [redacted]'],
  )
  assert.deepEqual(
    providerWords([refused('The model claude-sonnet-large does not exist', 404)], () => request(PROMPT)),
    ['The model claude-sonnet-large does not exist'],
  )
  assert.deepEqual(
    providerWords([refused(null), { ...refused(null), failure: 'empty' }], () => request(PROMPT)),
    [null, null],
  )
})

test('what repeats the prompt is withheld: a part of it, with other spaces, in a part of a message, and where it cannot be compared', () => {
  const withheld = ['[withheld: it may repeat the prompt]']
  assert.deepEqual(
    providerWords([refused(`Invalid input: ${PROMPT}`)], () => request(PROMPT)),
    withheld,
  )
  assert.deepEqual(
    providerWords([refused("Bad part: 'harbour of Tri'")], () => request([{ type: 'text', text: `x ${PROMPT}` }])),
    withheld,
  )
  assert.deepEqual(
    providerWords([refused('Invalid: Tell me\nabout\tthe harbour')], () => request(PROMPT)),
    withheld,
  )
  assert.deepEqual(
    providerWords([refused('Your PIN 4711 is refused')], () => request('PIN 4711')),
    withheld,
  )
  assert.deepEqual(
    providerWords([refused('Invalid')], () => request('y'.repeat(300_000))),
    withheld,
  )
  assert.deepEqual(
    providerWords([refused('Invalid')], () => undefined),
    withheld,
  )
})
