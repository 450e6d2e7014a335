import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptFailure } from '../../ports/attempt-failure.ts'
import { upstreamFailure, withoutSecretsOf } from '../../wire/upstream-error.ts'
import { read, readChunks, whole, foldWhole, parts, STOP } from '../../../../test/harness/gemini-reads.ts'

test('a blocked prompt is a filtered answer, streamed or not', () => {
  const body = { promptFeedback: { blockReason: 'OTHER' }, usageMetadata: { promptTokenCount: 4 } }
  for (const { choices, usage } of [readChunks([body]).answer, foldWhole(body)]) {
    assert.deepEqual(
      choices.map(({ finish, native }) => [finish, native]),
      [['content_filter', 'OTHER']],
    )
    assert.equal(usage?.inputTokens, 4)
  }
  assert.equal(readChunks([body]).failure, null)
  assert.equal(readChunks([{ promptFeedback: { safetyRatings: [] } }]).failure?.reason, 'garbage')
})

test('a stream is complete with a reason to finish, and cut or garbage without', () => {
  assert.equal(readChunks([parts({ text: 'Hi' }), STOP]).failure, null)
  assert.equal(readChunks([parts({ text: 'Hi' })]).failure?.reason, 'cut')
  assert.equal(readChunks([{ usageMetadata: { promptTokenCount: 1 } }]).failure?.reason, 'garbage')
  assert.equal(read([Buffer.from('data: nonsense\n\n')]).failure?.reason, 'garbage')
  assert.equal(
    read([Buffer.from(`data: ${JSON.stringify({ ...parts({ text: 'Hi' }), ...STOP })}\n\ndata: [DONE]\n\n`)]).failure,
    null,
  )
  for (const body of [{ choices: [] }, { candidates: [] }, [], 'x', null]) {
    const found = whole(body)
    assert.ok('reason' in found && found.reason === 'garbage', JSON.stringify(body))
  }
})

test('more candidates or calls than any answer has are given up', () => {
  const many = Array.from({ length: 300 }, (_, index) => ({ index, content: { parts: [{ text: 'x' }] } }))
  assert.equal(readChunks([{ candidates: many }]).failure?.reason, 'garbage')
  assert.equal(readChunks([parts(...many.map(() => ({ functionCall: { name: 'f' } })))]).failure?.reason, 'garbage')
})

function errorOf(status: number, error: unknown, headers = {}): AttemptFailure {
  return upstreamFailure(status, error, headers, 0)
}

test('errors come as an object or a list of one, and say in their details when to come again', () => {
  const error = {
    code: 429,
    message: 'Quota',
    status: 'RESOURCE_EXHAUSTED',
    details: [{ '@type': 'x' }, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }],
  }
  for (const body of [{ error }, [{ error }]]) {
    const { status, retryAfterSeconds, publicMessage } = errorOf(429, body)
    assert.deepEqual([status, retryAfterSeconds, publicMessage], [429, 35, null])
  }
  assert.equal(errorOf(429, { error }, { 'retry-after': '2' }).retryAfterSeconds, 2)
  assert.equal(errorOf(503, { error: { ...error, details: [{ retryDelay: '86400s' }] } }).retryAfterSeconds, 60)
  assert.equal(errorOf(404, undefined).status, 404)
})

test("faults of the operator's key, project or region are not the client's", () => {
  const key = errorOf(400, {
    error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' },
  })
  assert.deepEqual([key.refusal, key.publicMessage], ['credentials', null])
  const region = errorOf(400, {
    error: { code: 400, message: 'User location is not supported for the API use.', status: 'FAILED_PRECONDITION' },
  })
  assert.deepEqual([region.refusal, region.publicMessage], ['account', null])
  const named = errorOf(400, {
    error: {
      code: 400,
      message:
        'Cannot read projects/secret-project/locations/x for project_number:123456789012 and a@b.iam.gserviceaccount.com',
      status: 'INVALID_ARGUMENT',
    },
  })
  assert.doesNotMatch(
    withoutSecretsOf({ apiKeys: [], baseUrl: '' }, named).publicMessage ?? '',
    /secret-project|123456789012|gserviceaccount/,
  )
})

test('a prompt that is too long has a distinct error', () => {
  for (const message of [
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Unable to submit request because the input token count is 40000 but the model only supports up to 32768.',
  ]) {
    const { refusal, status, publicMessage } = errorOf(400, {
      error: { code: 400, message, status: 'INVALID_ARGUMENT' },
    })
    assert.deepEqual([refusal, status, publicMessage], ['context_length', 400, message])
  }
})

test('an error within a 200 has the status it names', () => {
  const body = {
    error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE', details: [{ retryDelay: '3s' }] },
  }
  for (const found of [
    readChunks([parts({ text: 'Hi' }), body]).failure,
    readChunks([[body]]).failure,
    whole(body),
    whole([body]),
  ]) {
    assert.ok(found !== null && 'reason' in found)
    assert.deepEqual([found.reason, found.status, found.retryAfterSeconds], ['error_event', 503, 3])
  }
})
