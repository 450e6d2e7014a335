import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolInput } from '../answers/tool-calls.ts'
import { upstreamFailure } from './upstream-error.ts'

test('a prompt that is too long differs from a max_tokens that is, and from too many tokens in a minute', () => {
  const refusalOf = (status: number, message: string): string | null | undefined =>
    upstreamFailure(status, { message }, {}, 0).refusal
  assert.equal(
    refusalOf(400, 'too many tokens: total number of tokens in the prompt exceeds the limit of 128000'),
    'context_length',
  )
  assert.equal(refusalOf(400, "This model's maximum context length is 8192 tokens"), 'context_length')
  assert.equal(refusalOf(400, 'too many tokens: max tokens must be less than or equal to 4096'), 'request')
  for (const said of [
    'Input Tokens Exceeded: Number of input tokens 230001 exceeds maximum length 200000',
    'Input is too long for requested model.',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    'Range of input length should be [1, 30720]',
    'Prompt exceeds max length',
  ]) {
    assert.equal(refusalOf(400, said), 'context_length', said)
  }
  const named = upstreamFailure(
    400,
    { error: { message: 'The request was refused', type: 'too_many_prompt_tokens', code: 400 } },
    {},
    0,
  )
  assert.equal(named.refusal, 'context_length', 'by its type, whatever the message says')
  assert.equal(refusalOf(429, 'too many tokens in a minute'), null)
})

test('arguments of a tool call are an object for protocols that want one, whatever the model has said', () => {
  for (const nothing of ['', '  ', 'null', ' null\n']) assert.deepEqual(toolInput(nothing, 'path'), {})
  assert.deepEqual(toolInput('{"a":[1,2]}', 'path'), { a: [1, 2] })
  for (const odd of ['{"a":', '[1]', '7', '"text"']) assert.deepEqual(toolInput(odd, 'path'), { arguments: odd })
  assert.throws(() => toolInput('['.repeat(65), 'messages[0]'), /^UnsendableError: messages\[0\]: is nested too deep/)
})
