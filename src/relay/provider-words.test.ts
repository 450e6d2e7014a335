import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FailedAttempt } from './attempt-error.ts'
import { providerWords } from './provider-words.ts'

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
      detail: '',
    },
    providerName: 'Acme',
    modelId: 'acme/small',
  }
}

const request = (content: unknown): unknown => ({ model: 'claude-sonnet-large', messages: [{ role: 'user', content }] })

test('a provider’s message is shown with its status; the name of the model is no secret', () => {
  assert.equal(
    providerWords([refused('Incorrect API key provided: [redacted]', 401)], request(PROMPT)),
    'Acme 401: Incorrect API key provided: [redacted]',
  )
  assert.equal(
    providerWords([refused('The model claude-sonnet-large does not exist', 404)], request(PROMPT)),
    'Acme 404: The model claude-sonnet-large does not exist',
  )
  assert.equal(providerWords([refused(null), { ...refused(null), failure: 'empty' }], request(PROMPT)), '')
})

test('what repeats the prompt is withheld: a part of it, with other spaces, in a part of a message, and where it cannot be compared', () => {
  const withheld = 'Acme 400: [withheld: it may repeat the prompt]'
  assert.equal(providerWords([refused(`Invalid input: ${PROMPT}`)], request(PROMPT)), withheld)
  assert.equal(
    providerWords([refused("Bad part: 'harbour of Tri'")], request([{ type: 'text', text: `x ${PROMPT}` }])),
    withheld,
  )
  assert.equal(providerWords([refused('Invalid: Tell me\nabout\tthe harbour')], request(PROMPT)), withheld)
  assert.equal(providerWords([refused('Your PIN 4711 is refused')], request('PIN 4711')), withheld)
  assert.equal(providerWords([refused('Invalid')], request('y'.repeat(300_000))), withheld)
  assert.equal(providerWords([refused('Invalid')], undefined), withheld)
})
