import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KNOWN_QUIRKS, knownQuirks } from './known-quirks.ts'

test('each known quirk has a page and the day on which it said so', () => {
  for (const { source, date, host, family, adapter } of KNOWN_QUIRKS) {
    assert.ok(URL.canParse(source) && source.startsWith('https://'), source)
    assert.match(date, /^\d{4}-\d{2}-\d{2}$/)
    assert.ok(host ?? family ?? adapter, 'a row is of somebody')
  }
})

test('quirks follow from the host, the adapter and the beginning of the name', () => {
  const of = (host: string, model: string | null, adapter = 'openai'): unknown =>
    knownQuirks({ adapter, baseUrl: `https://${host}/v1` }, model)
  const echo = { reasoning_echo: 'reasoning_content' }
  assert.deepEqual(of('example.com', 'gpt-5'), {})
  assert.deepEqual(of('example.com', 'org/DeepSeek-V4-Pro'), echo)
  assert.deepEqual(of('example.com', null), {})
  assert.partialDeepStrictEqual(of('api.deepseek.com', null), { ...echo, json_word: true })
  assert.deepEqual(of('evil-api.deepseek.com.example', null), {})
  assert.partialDeepStrictEqual(of('api.moonshot.ai', 'kimi-k2.6'), { ...echo, reasoning_blank: ' ' })
  assert.equal('fixed' in (of('api.moonshot.ai', 'moonshot-v1-8k') as object), false)
  assert.partialDeepStrictEqual(of('my.openai.azure.com', 'gpt'), { json_word: true })
  assert.partialDeepStrictEqual(of('openrouter.ai', 'deepseek/deepseek-v4-pro'), { reasoning_echo: 'reasoning' })
  assert.partialDeepStrictEqual(of('api.cerebras.ai', 'm'), { strict: 'all_or_none' })
  assert.partialDeepStrictEqual(of('dashscope.aliyuncs.com', 'qwq-plus'), {
    reasoning: 'enable_thinking',
    stream: 'always',
  })
  assert.deepEqual(of('example.com', 'minimax-m3', 'anthropic'), echo)
  assert.deepEqual(of('example.com', 'claude-opus-5', 'anthropic'), { reasoning_echo: 'none' })
  assert.deepEqual(of('api.anthropic.com', 'latest', 'anthropic'), { reasoning_echo: 'none' })
})
