import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { type Answer, serveSandbox } from '../harness/gateway.ts'
import { meanwhile, patient } from '../harness/patience.ts'
import { exchangeRaw } from '../harness/raw-http.ts'

/** Bodies that are built to cost time, memory or trust (guarantees.md F48–F51; R11, S4). */
const SIZE = 10_485_760
const STALL_MS_MAX = 100
/** Other programs stop the server too: one of so many tries must be free of them. */
const TRIES = 6
const PROBE_MS = 2

const { key, tollgate } = await serveSandbox('{ rate_limit: { requests: 100000, window: 60 } }')

function send(body: string | Buffer): Promise<Answer> {
  return tollgate.post('/v1/chat/completions', key, body)
}

function assertRefused(answer: Answer, what: string, types: readonly string[] = ['invalid_json']): void {
  assert.ok(answer.status === 400 || answer.status === 413, `${what}: ${answer.status} ${answer.text.slice(0, 200)}`)
  assert.ok(types.includes(answer.body.error.metadata.error_type), `${what}: ${answer.text.slice(0, 200)}`)
}

/** `unit` repeated between the two ends, as often as 10 MB hold. */
function filled(open: string, unit: string, close: string, bytes = SIZE): string {
  return open + unit.repeat(Math.floor((bytes - Buffer.byteLength(open + close)) / Buffer.byteLength(unit))) + close
}

const numbered = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_value, index) => of(index)).join(',')
const CHAT = '{"model":"sandbox/chat","max_tokens":5,"messages":[{"role":"user","content":"'

const BOMBS: Readonly<Record<string, () => string>> = {
  'arrays 5 million deep': () => '['.repeat(SIZE / 2) + ']'.repeat(SIZE / 2),
  'arrays that never close': () => '['.repeat(SIZE),
  'objects a million deep': () => '{"a":'.repeat(1_000_000) + '1' + '}'.repeat(1_000_000),
  'objects and arrays by turns': () => '[{"a":'.repeat(1_000_000),
  'depth 65': () => `{"a":${'['.repeat(64)}${']'.repeat(64)}}`,
  '3.5 million empty objects': () => filled('{"a":[{}', ',{}', ']}'),
  '3.5 million empty arrays': () => filled('{"a":[[]', ',[]', ']}'),
  '0.9 million different keys': () => `{${numbered(800_000, (index) => `"k${index}":1`)}}`.slice(0, SIZE),
  'a million equal keys': () => filled('{"a":1', ',"a":1', '}'),
  'keys that hash alike': () => `{${numbered(29_000, (index) => `"${(index * 4_294_967_296).toString()}":1`)}}`,
  '5 million ones': () => filled('{"a":[1', ',1', ']}'),
  '5 million nothings between commas': () => filled('{"a":[', ',', ']}'),
  '3 million empty strings': () => filled('{"a":[""', ',""', ']}'),
  'colons alone': () => filled('{', ':', '}'),
  'commas alone': () => filled('{', ',', '}'),
  'quotes alone': () => filled('{', '"', '}'),
  'backslashes alone': () => filled('{"a":"', '\\', '"}'),
  'escaped quotes': () => filled(CHAT, '\\"', '"}]'),
  'escaped backslashes': () => filled(CHAT, '\\\\', '"}]'),
  'escaped letters': () => filled(CHAT, '\\u0041', '"}]'),
  'lone surrogates': () => filled(CHAT, '\\ud800', '"}]}'),
  'low surrogates first': () => filled(CHAT, '\\udc00\\ud800', '"}]}'),
  'half escapes': () => filled(CHAT, '\\u', '"}]}'),
  'white space before': () => filled('', ' ', '{}').slice(0, SIZE - 2) + '{',
  'white space within': () => filled('{', '\n', '"a"}'),
  'one number of 10 MB': () => filled('{"model":', '1', '}'),
  'one number with 10 MB of fraction': () => filled('{"model":0.', '9', '}'),
  'one exponent of 10 MB': () => filled('{"model":1e', '9', '}'),
  'a minus of 10 MB': () => filled('{"model":', '-', '}'),
  'true without an end': () => filled('{"a":[', 'true', ']}'),
  nulls: () => filled('{"a":[null', ',null', ']}'),
  'one key of 10 MB, twice a colon': () => `{"${'k'.repeat(SIZE - 20)}"::1}`,
  'an unclosed string': () => filled('{"a":"', 'x', ''),
  'a second value behind': () => `{"model":"x"}${' '.repeat(SIZE - 20)}{}`,
}

/** Large valid bodies: they pass the scan, and must not block the server either. */
const HONEST: Readonly<Record<string, () => string>> = {
  'a long text': () => filled(CHAT, 'lorem ipsum ', '"}]}'),
  'a text of two-byte letters': () => filled(CHAT, 'слово ', '"}]}'),
  emoji: () => filled(CHAT, '😀', '"}]}'),
  'a text of line breaks': () => filled(CHAT, '\\n', '"}]}'),
  'pairs of escapes': () => filled(CHAT, '\\ud83d\\ude00', '"}]}'),
  '14,000 messages': () =>
    `{"model":"sandbox/none","messages":[${numbered(14_000, (index) => `{"role":"user","content":"message number ${index}"}`)}]}`,
}

/**
 * Requests the health all the time and returns the longest wait, which is at least the longest stop of the server's
 * event loop.
 */
async function probed(work: () => Promise<unknown>): Promise<number> {
  const state = { over: false, worstMs: 0 }
  const probe = async (): Promise<void> => {
    const startedMs = performance.now()
    const { body } = await request(`${tollgate.url}/healthz`)
    await body.dump()
    if (!state.over) state.worstMs = Math.max(state.worstMs, performance.now() - startedMs)
  }
  await meanwhile(
    work().finally(() => (state.over = true)),
    probe,
    PROBE_MS,
  )
  return state.worstMs
}

/** The client shares the process with the server: it sends its 10 MB before it measures. */
async function stallOf(body: Buffer): Promise<{ readonly stallMs: number; readonly answer: Answer }> {
  let best: { stallMs: number; answer: Answer } | null = null
  for (let tries = 0; tries < TRIES && (best === null || best.stallMs > STALL_MS_MAX); tries += 1) {
    let answer: Answer | null = null
    const stallMs = await probed(async () => {
      answer = await send(body)
    })
    assert.ok(answer !== null)
    if (best === null || stallMs < best.stallMs) best = { stallMs, answer }
  }
  assert.ok(best !== null)
  return best
}

for (const [what, bomb] of Object.entries(BOMBS)) {
  test(`F48: ${what}: refused, and no other request waits for it`, async (t) => {
    const { stallMs, answer } = await stallOf(Buffer.from(bomb()))
    assertRefused(answer, what, [
      'invalid_json',
      'invalid_input',
      'missing_messages',
      'missing_model',
      'request_too_large',
    ])
    t.diagnostic(`${Math.round(stallMs)} ms`)
    assert.ok(stallMs <= patient(STALL_MS_MAX), `the server stood still for ${Math.round(stallMs)} ms`)
  })
}

for (const [what, body] of Object.entries(HONEST)) {
  test(`R11: ${what}: no more than ${STALL_MS_MAX} ms`, async (t) => {
    const { stallMs, answer } = await stallOf(Buffer.from(body()))
    assert.ok(
      answer.status === 200 ||
        (answer.status === 400 && answer.body.error.metadata.error_type !== 'invalid_json') ||
        answer.status === 402,
      answer.text.slice(0, 300),
    )
    t.diagnostic(`${Math.round(stallMs)} ms`)
    assert.ok(stallMs <= patient(STALL_MS_MAX), `the server stood still for ${Math.round(stallMs)} ms`)
  })
}

const BROKEN: readonly string[] = [
  '',
  ' ',
  '{',
  '}',
  '[',
  ']',
  '[]',
  '[{}]',
  'null',
  'true',
  '1',
  '"x"',
  '{]',
  '[}',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{,"a":1}',
  '{"a":1 "b":2}',
  "{'a':1}",
  '{a:1}',
  '{"a":01}',
  '{"a":1.}',
  '{"a":.5}',
  '{"a":+1}',
  '{"a":1e}',
  '{"a":0x1}',
  '{"a":NaN}',
  '{"a":Infinity}',
  '{"a":undefined}',
  '{"a":"\n"}',
  '{"a":"\t"}',
  '{"a":"\\x41"}',
  '{"a":"\\u12"}',
  '{"a":"\\"}',
  '{"a":"x}',
  '{"a":tru}',
  '{"a":nul}',
  '{"a":1}}',
  '{"a":1}{"a":2}',
  '{"a":1}x',
  '/* */{}',
  '{}//',
  '{"a":1,/**/"b":2}',
  '{"a":[1,]}',
  '{"a":[,1]}',
  '\u0000{}',
  '{}\u0000',
  '{"a":"\u0000"}',
  '{"a":"\u001f"}',
  '\ufeff{}',
  '{"a":"\\ud800"}',
  '{"a":"\\udc00"}',
  '{"\\ud800":1}',
  '{"a":"\\ud800\\u0041"}',
  '{"a":"\\udbff"}',
  '{"a":"\\uD83D"}',
  '--',
  '{"a": 1',
  'model=x&messages=y',
  '<xml/>',
]

test(`F49: ${BROKEN.length} texts that are no JSON object are 400 invalid_json`, async () => {
  for (const text of BROKEN) assertRefused(await send(Buffer.from(text)), JSON.stringify(text))
})

/** Bytes that are not UTF-8, in an otherwise valid body. */
const BAD_UTF8 = [
  '80',
  'bf',
  'c0af',
  'c080',
  'c1bf',
  'c2',
  'c241',
  'e0809f',
  'e08080',
  'e282',
  'e28241',
  'eda080',
  'edbfbf',
  'eda080edb080',
  'f0808080',
  'f08fbfbf',
  'f09f98',
  'f4908080',
  'f5808080',
  'f8888080',
  'fc8480808080',
  'fe',
  'ff',
  'fffe',
  'feff',
]

test(`F49: ${BAD_UTF8.length} byte sequences that are not UTF-8 are refused, and none becomes a question mark`, async () => {
  for (const hex of BAD_UTF8) {
    const body = Buffer.concat([Buffer.from(CHAT), Buffer.from(hex, 'hex'), Buffer.from('"}]}')])
    assertRefused(await send(body), hex)
  }
})

const MANY = { balance: 0 }

test('F50: names that mean something to JavaScript mean nothing here', async () => {
  const messages = '"model":"sandbox/chat","max_tokens":5,"messages":[{"role":"user","content":"x"}]'
  for (const name of [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
    '__lookupGetter__',
    'then',
    'toJSON',
  ]) {
    for (const value of ['{"polluted":1}', '{"prototype":{"polluted":1}}', '"x"', '[]', 'null']) {
      const answer = await send(
        `{"${name}":${value},${messages},"provider":{"${name}":${value}},"response_format":{"type":"text","${name}":${value}}}`,
      )
      assert.ok(answer.status === 200 || answer.status === 400, `${name} ${value}: ${answer.status} ${answer.text}`)
    }
  }
  assert.equal(Object.hasOwn(MANY, 'polluted'), false)
  const plain = await send(`{${messages}}`)
  assert.equal(plain.status, 200)
  assert.ok(!plain.text.includes('polluted'))
  // The last of equal names wins, for the bill and for the provider.
  const twice = await send(
    '{"model":"nobody/nothing","model":"sandbox/chat","max_tokens":5,"messages":[{"role":"user","content":"x"}]}',
  )
  assert.equal(twice.body.model, 'sandbox/chat')
})

test('F51: numbers that are none, or not these, are a 400 or as good as absent; never an error of ours, never a wrong charge', async () => {
  const values = [
    '1e400',
    '-1e400',
    '-0',
    '0',
    '-1',
    '1.5',
    '9007199254740993',
    '1e30',
    '"5"',
    '""',
    'true',
    '[]',
    '[5]',
    '{}',
    'null',
  ]
  for (const field of [
    'max_tokens',
    'max_completion_tokens',
    'n',
    'temperature',
    'top_p',
    'top_k',
    'seed',
    'frequency_penalty',
    'presence_penalty',
    'repetition_penalty',
    'min_p',
    'top_logprobs',
  ]) {
    for (const value of values) {
      const answer = await send(
        `{"model":"sandbox/chat","messages":[{"role":"user","content":"x\\nsandbox: words=2"}],"${field}":${value}}`,
      )
      assert.ok(answer.status === 200 || answer.status === 400, `${field}: ${value}: ${answer.status} ${answer.text}`)
      if (answer.status === 200)
        assert.ok(
          Number.isFinite(answer.body.usage.cost) && answer.body.usage.cost >= 0 && answer.body.usage.cost < 1,
          `${field}: ${value}`,
        )
      else if (value !== 'null')
        assert.match(
          answer.body.error.message,
          new RegExp(field === 'max_completion_tokens' ? 'max_(?:completion_)?tokens' : field),
          `${field}: ${value}: ${answer.text}`,
        )
      if (['"5"', 'true', '{}', '[]', '1e400'].includes(value)) assert.equal(answer.status, 400, `${field}: ${value}`)
    }
  }
})

test('R11: a body of one byte at a time delays no other request', async () => {
  const body = `${CHAT}x"}]}`
  const port = Number(new URL(tollgate.url).port)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const text = await exchangeRaw(port, head + [...body].map((letter) => `1\r\n${letter}\r\n`).join('') + '0\r\n\r\n')
  assert.match(text, /^HTTP\/1\.1 200/)
})

test('after all of them nothing is held, and the books agree', async () => {
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.equal(body.reserved, 0)
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
})
