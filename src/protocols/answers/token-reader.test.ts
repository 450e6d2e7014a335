import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { sdkUsage } from '../ai-sdk/sdk-chat.ts'
import { anthropicUsage } from '../anthropic/provider/reader.ts'
import { bedrockUsage } from '../bedrock/reader.ts'
import { cohereUsage } from '../cohere/provider/cohere.ts'
import { geminiUsage } from '../gemini/provider/usage.ts'
import { ollamaUsage } from '../ollama/provider/ollama.ts'
import { openaiUsage } from '../openai/provider/usage.ts'
import { countOf } from './token-reader.ts'
import { secondsIn } from '../upstream/transcripts.ts'

const COUNTS: readonly (readonly [json: string, count: number | null])[] = [
  ['0', 0],
  ['-0', 0],
  ['20', 20],
  ['20.5', 21],
  ['"20"', 20],
  ['"20.5"', 21],
  ['"0"', 0],
  ['9007199254740991', 9_007_199_254_740_991],
  ['1e400', null],
  ['-1', null],
  ['-0.5', null],
  ['9007199254740993', null],
  ['1e16', null],
  ['"-5"', null],
  ['"1e3"', null],
  ['""', null],
  ['"abc"', null],
  ['null', null],
  ['true', null],
  ['[20]', null],
  ['{}', null],
  [`"${'9'.repeat(41)}"`, null],
]

test('rule 10: a fraction is rounded up, digits are a number, and a value that is no count is missing and never 0', () => {
  for (const [json, count] of COUNTS) assert.equal(countOf(JSON.parse(json)), count, json)
})

/** A report of 20 tokens each way, with one of its values replaced. */
const PROTOCOLS: readonly (readonly [
  name: string,
  input: (value: unknown) => UsageReport | null,
  output: (value: unknown) => UsageReport | null,
])[] = [
  [
    'openai',
    (value) => openaiUsage({ prompt_tokens: value, completion_tokens: 20 }),
    (value) => openaiUsage({ prompt_tokens: 20, completion_tokens: value }),
  ],
  [
    'responses',
    (value) => openaiUsage({ input_tokens: value, output_tokens: 20 }),
    (value) => openaiUsage({ input_tokens: 20, output_tokens: value }),
  ],
  [
    'anthropic',
    (value) => anthropicUsage({ input_tokens: value, output_tokens: 20 }),
    (value) => anthropicUsage({ input_tokens: 20, output_tokens: value }),
  ],
  [
    'gemini',
    (value) => geminiUsage({ promptTokenCount: value, candidatesTokenCount: 20 }),
    (value) => geminiUsage({ promptTokenCount: 20, candidatesTokenCount: value }),
  ],
  [
    'bedrock',
    (value) => bedrockUsage({ inputTokens: value, outputTokens: 20 }),
    (value) => bedrockUsage({ inputTokens: 20, outputTokens: value }),
  ],
  [
    'cohere',
    (value) => cohereUsage({ tokens: { input_tokens: value, output_tokens: 20 } }),
    (value) => cohereUsage({ tokens: { input_tokens: 20, output_tokens: value } }),
  ],
  [
    'ollama',
    (value) => ollamaUsage({ prompt_eval_count: value, eval_count: 20 }, true),
    (value) => ollamaUsage({ prompt_eval_count: 20, eval_count: value }, true),
  ],
  [
    'ai-sdk',
    (value) => sdkUsage({ inputTokens: { total: value }, outputTokens: { total: 20 } }),
    (value) => sdkUsage({ inputTokens: { total: 20 }, outputTokens: { total: value } }),
  ],
]

for (const [name, input, output] of PROTOCOLS) {
  test(`rule 10: ${name} reads every number of a usage object by the one rule`, () => {
    for (const [json, count] of COUNTS) {
      const value: unknown = JSON.parse(json)
      // Absent values are skipped, since their meaning differs by protocol.
      if (value === null) continue
      const read = input(value)
      const said = output(value)
      assert.deepEqual(
        [read?.usage.input, read?.missing, read?.implausible],
        count === null ? [undefined, ['input'], true] : [count, undefined, false],
        `input ${json}`,
      )
      assert.deepEqual(
        [said?.usage.output, said?.missing, said?.implausible],
        count === null ? [undefined, ['output'], true] : [count, undefined, false],
        `output ${json}`,
      )
    }
  })
}

test('a part that adds to the input and is no count leaves the whole input to be counted', () => {
  const report = anthropicUsage({ input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 1e16 })
  assert.deepEqual([report?.usage, report?.missing], [{ output: 2 }, ['input']])
})

test('a share of the input that is no count leaves the input as it is', () => {
  const report = openaiUsage({ prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: -1 } })
  assert.deepEqual([report?.usage, report?.missing, report?.implausible], [{ input: 5, output: 2 }, undefined, true])
})

test('seconds are read by the same rule, in fractions', () => {
  assert.deepEqual(
    [secondsIn('2.5'), secondsIn(2.5), secondsIn(-1), secondsIn(1e9), secondsIn('x')],
    [2.5, 2.5, null, null, null],
  )
})

test('no other file of the provider side reads a count', () => {
  const folder = join(import.meta.dirname, '..')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('sandbox/') && !name.includes('/client/'),
  )
  const own = files.filter((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    const makesReport = /\binputTokens: (?!\{)|\binputUsage\(/.test(text)
    return makesReport && !text.includes("/token-reader.ts'")
  })
  assert.deepEqual(own, ['answers/token-reader.ts'])
})

test('pictures, sound and what came of them from a cache are counted apart where a provider tells them', () => {
  const report = openaiUsage({
    input_tokens: 100,
    output_tokens: 60,
    input_tokens_details: {
      text_tokens: 40,
      image_tokens: 50,
      audio_tokens: 10,
      cached_tokens: 30,
      cached_tokens_details: { text_tokens: 5, image_tokens: 21, audio_tokens: 4 },
    },
    output_tokens_details: { text_tokens: 15, image_tokens: 45 },
  })
  assert.deepEqual(report?.usage, {
    input: 35,
    output: 15,
    cache_read: 5,
    audio_cache_read: 4,
    image_cache_read: 21,
    audio_input: 6,
    image_tokens: 29,
    image_output_tokens: 45,
  })
  const { usage } =
    openaiUsage({ prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { image_tokens: 90 } }) ?? {}
  assert.deepEqual(usage, { input: 0, output: 2, image_tokens: 9 })
})
