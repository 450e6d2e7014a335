import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { TraitTable } from '../catalog/trait-table.ts'
import { CLAUDE_TRAITS, traitsOf as claudeTraits } from './models/claude-traits.ts'
import { BEDROCK_TRAITS, bedrockModelOf, INVOKE_TRAITS } from './bedrock/request.ts'
import { PREDICTS } from './gemini/provider/images.ts'
import { GEMINI_TRAITS, traitsOf as geminiTraits } from './models/gemini-traits.ts'
import { IMAGE_TRAITS } from './openai/provider/images.ts'
import { SPEECH_TRAITS, TRANSCRIPTION_TRAITS } from './openai/provider/sound.ts'

/** A slash in a name separates a collection from it, and is no trait. */
const BY_NAME =
  /(?:test|exec)\([^)]*upstreamModel|upstreamModel\w*\.(?!includes\('\/'\))(?:includes|startsWith|endsWith|match)\(/

test('every row of traits names its page and the day on which the page said so', () => {
  const tables = [CLAUDE_TRAITS, BEDROCK_TRAITS, INVOKE_TRAITS, GEMINI_TRAITS, PREDICTS, IMAGE_TRAITS, SPEECH_TRAITS]
  for (const { rows } of [...tables, TRANSCRIPTION_TRAITS])
    for (const { of, from, source, date } of rows) {
      assert.match(source, /^https:\/\/[\w.-]+\.(com|dev|ai)\/\S+$/, of)
      assert.match(date, /^20\d\d-\d\d-\d\d$/, of)
      assert.match(from ?? '1', /^\d{1,2}(\.\d{1,2})?$/, of)
    }
})

test("no provider's code decides by a piece of a model's name: rows of traits do", () => {
  const root = new URL('.', import.meta.url)
  const faults = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const lines = readFileSync(new URL(file, root), 'utf8').split('\n')
      return lines.filter((line) => BY_NAME.test(line)).map((line) => `${file}: ${line.trim()}`)
    })
  assert.deepEqual(faults, [
    // Deepgram's voice is a part of the name that is sent.
    "deepgram/deepgram.ts: return FAMILY.test(upstreamModel) ? `${upstreamModel}-${voice.includes('-') ? voice : `${voice}-en`}` : upstreamModel",
  ])
})

test('versions are ordered as numbers; the newest row up to the version counts', () => {
  const page = { source: 'https://example.com/page', date: '2026-11-27' }
  const table = new TraitTable([
    { of: 'acme big', from: '9.5', traits: 'b', ...page },
    { of: 'acme big', from: '9.10', traits: 'c', ...page },
    { of: 'acme big', from: '3', traits: 'a', ...page },
    { of: 'acme', from: '1', traits: 'old', ...page },
    { of: 'acme', from: '4', traits: 'new', ...page },
  ])
  const expected: readonly (readonly [string, string | null])[] = [
    ['acme-big-3', 'a'],
    ['acme-big-2', 'a'],
    ['acme-big-9-5-20260101', 'b'],
    ['acme-big-9.9', 'b'],
    ['acme-big-9.10', 'c'],
    ['acme-big-10', 'c'],
    ['acme-9.6-big', 'b'],
    ['acme-big-latest', 'c'],
    ['acme-big-20260101', 'c'],
    ['vendor/eu.acme.big-9.5@20260101:free', 'b'],
    ['acme-2.1', 'old'],
    ['acme-v2', 'old'],
    ['acme-7', 'new'],
    ['acme-small-1', 'new'],
    ['other-big-9', null],
  ]
  assert.deepEqual(
    expected.map(([name]) => [name, table.of(name)]),
    expected,
  )
})

test("Claude's traits, whatever the name's spelling", () => {
  const read = (name: string): string => {
    const { thinking, leastThinking, samplingParameters, constrains, forcesTools, takesPrefill } = claudeTraits(name)
    const words = [
      thinking,
      thinking === 'adaptive' ? (leastThinking ?? 'always') : null,
      `samples ${samplingParameters}`,
    ]
    if (constrains) words.push('constrains')
    if (forcesTools) words.push('forces')
    if (takesPrefill) words.push('prefill')
    return words.filter((word) => word !== null).join(' ')
  }
  const expected: Readonly<Record<string, readonly string[]>> = {
    'none samples 2 forces prefill': [
      'claude-2.1',
      'anthropic.claude-v2:1',
      'claude-instant-1.2',
      'claude-3-5-haiku-latest',
    ],
    'budget samples 2 forces prefill': [
      'us.anthropic.claude-3-7-sonnet-20250219-v1:0',
      'claude-sonnet-4-20250514',
      'anthropic/claude-opus-4',
      'kimi-k2',
    ],
    'budget samples 1 forces prefill': ['claude-opus-4-1-20250805'],
    'budget samples 1 constrains forces prefill': ['claude-opus-4-5@20251101', 'claude-haiku-4-5', 'claude-4.5-sonnet'],
    'budget samples 1 constrains forces': ['claude-opus-4-6', 'global.anthropic.claude-sonnet-4-6'],
    'adaptive disabled samples 0 constrains forces': [
      'claude-opus-4-7',
      'claude-opus-4-8',
      'anthropic/claude-sonnet-5',
      'claude-opus-5-20260724',
      'claude-haiku-5-5',
    ],
    'adaptive always samples 0 constrains forces': ['claude-fable-5', 'claude-mythos-5'],
    'adaptive between_tools samples 0 constrains': ['claude-sonnet-5-5', 'anthropic.claude-sonnet-5-5'],
    'adaptive always samples 0 constrains': [
      'claude-opus-5-5',
      'anthropic/claude-opus-5.5',
      'anthropic.claude-opus-5-5',
      'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-5-5-v1:0',
      'claude-fable-5-1',
      'claude-fable-5.2',
      'claude-mythos-5-1',
      // Unknown models.
      'claude-opus-6',
      'claude-sonnet-6',
      'claude-haiku-6-1',
      'claude-fable-6',
      'claude-saga-6',
      'claude-saga-1',
      'claude-7',
      'claude-opus-latest',
    ],
  }
  for (const [traits, names] of Object.entries(expected))
    for (const name of names) assert.equal(read(name), traits, name)
})

test("Gemini's traits, whatever the name's spelling", () => {
  const read = (name: string): string => {
    const { thinking, levels, samples, takesPrefill } = geminiTraits(name)
    return [thinking, ...levels, ...(samples ? ['samples'] : []), ...(takesPrefill ? ['prefill'] : [])].join(' ')
  }
  const expected: Readonly<Record<string, readonly string[]>> = {
    'none samples prefill': [
      'gemini-2.0-flash',
      'gemini-1.5-flash-8b',
      'gemini-2.5-flash-preview-tts',
      'gemini-2.5-flash-image',
      'gemini-embedding-001',
      'gemini-live-2.5-flash',
      'tunedModels/mine',
      'gemma-3-27b-it',
    ],
    'budget samples prefill': ['gemini-2.5-pro', 'models/gemini-2.5-flash-lite-preview-06-17'],
    'shown samples prefill': ['gemini-3-pro-image-preview', 'gemini-3.1-flash-image'],
    'level low high samples prefill': ['gemini-3-pro-preview'],
    'level low medium high samples prefill': ['gemini-3.1-pro-preview'],
    'level minimal low medium high samples prefill': [
      'gemini-3-flash-preview',
      'gemini-3.5-flash',
      'gemini-3.1-flash-lite',
    ],
    'level minimal low medium high': [
      'gemini-3.5-flash-lite',
      'gemini-3.6-flash',
      'models/gemini-3.7-flash',
      'publishers/google/models/gemini-3.8-flash-001',
      // Unknown models.
      'gemini-4-flash',
      'gemini-3.10-flash-preview',
      'gemini-flash-latest',
      'gemini-flash-lite-latest',
    ],
    'level low medium high': ['gemini-4-pro', 'gemini-pro-latest', 'gemini-4-saga'],
  }
  for (const [traits, names] of Object.entries(expected))
    for (const name of names) assert.equal(read(name), traits, name)
})

test("Bedrock's traits are those of Claude, and by maker for others", () => {
  const read = (name: string): unknown => {
    const { claude, caches, namesCacheTime, means } = bedrockModelOf(name)
    return [claude !== null, caches, namesCacheTime, means.decodes, means.forcesTools]
  }
  assert.deepEqual(read('us.anthropic.claude-sonnet-4-5-20250929-v1:0'), [true, true, true, 'closed', true])
  assert.deepEqual(read('us.anthropic.claude-3-7-sonnet-20250219-v1:0'), [true, true, false, 'none', true])
  assert.deepEqual(read('anthropic.claude-opus-5-5'), [true, true, true, 'closed', false])
  assert.deepEqual(read('anthropic.claude-sonnet-5-5'), [true, true, true, 'none', false], 'no schemas there')
  assert.deepEqual(read('us.amazon.nova-pro-v1:0'), [false, true, false, 'none', true])
  assert.deepEqual(read('qwen.qwen3-32b-v1:0'), [false, false, false, 'all', false])
  assert.deepEqual(read('meta.llama3-1-70b-instruct-v1:0'), [false, false, false, 'none', false])
})
