import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wavFile } from './harness/audio-files.ts'
import { STALL_MS_MAX } from './harness/patience.ts'
import { startStallServer } from './harness/stall-server.ts'
import { lasting } from './harness/lasting.ts'

const MEGABYTE = 1_048_576

const SMALL: Readonly<Record<string, unknown>> = {
  '/v1/chat/completions': { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] },
  '/v1/completions': { model: 'sandbox/chat', prompt: 'x' },
  '/v1/responses': { model: 'sandbox/chat', input: 'x' },
  '/v1/messages': { model: 'sandbox/chat', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] },
  '/v1beta/models/sandbox/chat:generateContent': { contents: [{ parts: [{ text: 'x' }] }] },
  '/v2/chat': { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] },
  '/api/chat': { model: 'sandbox/chat', stream: false, messages: [{ role: 'user', content: 'x' }] },
  '/v1/embeddings': { model: 'sandbox/embeddings', input: 'x' },
  '/v1/rerank': { model: 'sandbox/rerank', query: 'x', documents: ['x'] },
  '/v1/images/generations': { model: 'sandbox/image', prompt: 'x' },
  '/v1/audio/speech': { model: 'sandbox/tts', input: 'x', voice: 'alloy' },
  '/v1/audio/transcriptions': {
    model: 'sandbox/transcription',
    input_audio: { data: wavFile(0.1).toString('base64'), format: 'wav' },
  },
  '/v1/videos': { model: 'sandbox/video', prompt: 'x', duration: 4 },
}
const stalls = await lasting(
  startStallServer(
    '{ rate_limit: { requests: 100000, window: 60 }, ip_block: { failures: 100000, window: 60, duration: 1 } }',
  ),
)
const key = (await stalls.server.createAccount({ balance: 1_000_000 })).key
// Compilation during the first request of a kind is not measured.
for (const [path, body] of Object.entries(SMALL))
  assert.ok((await stalls.server.post(path, key, body)).status < 300, path)

async function checked(
  what: string,
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<void> {
  await stalls.checked(what, body === '' ? 'GET' : 'POST', path, { key, headers, ...(body === '' ? {} : { body }) })
}

/** Texts of 10 MB, for a field of each route that takes text. */
const FILLINGS: Readonly<Record<string, string>> = {
  letters: 'x'.repeat(10 * MEGABYTE - 1_000),
  words: 'слово дом '.repeat(580_000),
  'surrogate pairs': '\\ud83d\\ude00'.repeat(870_000),
  'escaped quotes': '\\"'.repeat(5_200_000),
  blanks: ' '.repeat(10 * MEGABYTE - 1_000),
  'new lines': '\\n'.repeat(5_200_000),
  base64: 'QUJD'.repeat(2_600_000),
}

/** Each route's longest text field, as JSON with a place for it. */
const PLACES: readonly (readonly [path: string, before: string, after: string])[] = [
  ['/v1/chat/completions', '{"model":"sandbox/chat","messages":[{"role":"user","content":"', '"}]}'],
  ['/v1/completions', '{"model":"sandbox/chat","prompt":"', '"}'],
  ['/v1/responses', '{"model":"sandbox/chat","input":"', '"}'],
  ['/v1/messages', '{"model":"sandbox/chat","max_tokens":10,"messages":[{"role":"user","content":"', '"}]}'],
  ['/v1beta/models/sandbox/chat:generateContent', '{"contents":[{"parts":[{"text":"', '"}]}]}'],
  ['/v2/chat', '{"model":"sandbox/chat","messages":[{"role":"user","content":"', '"}]}'],
  ['/api/chat', '{"model":"sandbox/chat","stream":false,"messages":[{"role":"user","content":"', '"}]}'],
  ['/v1/embeddings', '{"model":"sandbox/embeddings","input":"', '"}'],
  ['/v1/rerank', '{"model":"sandbox/rerank","query":"x","documents":["', '"]}'],
  ['/v1/images/generations', '{"model":"sandbox/image","prompt":"', '"}'],
  ['/v1/images/generations', '{"model":"sandbox/image","prompt":"x","image":"data:image/png;base64,', '"}'],
  ['/v1/audio/speech', '{"model":"sandbox/tts","voice":"alloy","input":"', '"}'],
  ['/v1/audio/transcriptions', '{"model":"sandbox/transcription","input_audio":{"format":"wav","data":"', '"}}'],
  ['/v1/videos', '{"model":"sandbox/video","duration":4,"prompt":"', '"}'],
]

/** These are tested on every route; the others on one. */
const EVERYWHERE = ['words', 'escaped quotes', 'blanks']

for (const [index, [path, head, tail]] of PLACES.entries()) {
  test(`F48: no stall above ${STALL_MS_MAX} ms of CPU by 10 MB of text in one place: POST ${path}${head.includes('"image":') ? ' with a picture' : ''}`, async () => {
    for (const [what, filling] of Object.entries(FILLINGS))
      if (index === 0 || EVERYWHERE.includes(what)) await checked(what, path, Buffer.from(`${head}${filling}${tail}`))
  })
}

const list = (piece: string, count: number): string => `[${Array.from({ length: count }, () => piece).join(',')}]`
const numbered = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_value, index) => make(index)).join(',')
const CHAT = '{"model":"sandbox/chat","messages":[{"role":"user","content":"x"}]'
const SHAPES: readonly (readonly [what: string, path: string, body: string])[] = [
  [
    'wide schema',
    '/v1/chat/completions',
    `${CHAT},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{${numbered(14_000, (index) => `"k${index}":{"type":"string"}`)}}}}}}`,
  ],
  [
    'wide tools',
    '/v1/chat/completions',
    `${CHAT},"tools":[{"type":"function","function":{"name":"x","parameters":{"type":"object","properties":{${numbered(14_000, (index) => `"k${index}":{"type":"string"}`)}}}}}]}`,
  ],
  [
    'long keys',
    '/v1/chat/completions',
    `${CHAT},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{${numbered(29_000, (index) => `"${'k'.repeat(300)}${index}":1`)}}}}}`,
  ],
  [
    'many messages',
    '/v1/chat/completions',
    `{"model":"sandbox/chat","messages":${list('{"role":"user","content":"x"}', 14_000)}}`,
  ],
  [
    'many parts',
    '/v1/chat/completions',
    `{"model":"sandbox/chat","messages":[{"role":"user","content":${list('{"type":"text","text":"x"}', 14_000)}}]}`,
  ],
  ['many unknown fields', '/v1/chat/completions', `${CHAT},${numbered(29_000, (index) => `"k${index}":[]`)}}`],
  [
    'many short texts',
    '/v1/chat/completions',
    `${CHAT},"stop":[${numbered(59_000, (index) => `"${index.toString(36)}"`)}]}`,
  ],
  [
    '2,048 embeddings',
    '/v1/embeddings',
    `{"model":"sandbox/embeddings","input":${list(`"${'слово дом '.repeat(270)}"`, 2_048)}}`,
  ],
  ['embeddings of tokens', '/v1/embeddings', `{"model":"sandbox/embeddings","input":${list(list('1', 300), 2_048)}}`],
  [
    'documents',
    '/v1/rerank',
    `{"model":"sandbox/rerank","query":"x","documents":${list(`"${'слово дом '.repeat(500)}"`, 1_000)}}`,
  ],
  ['short documents', '/v1/rerank', `{"model":"sandbox/rerank","query":"x","documents":${list('"x"', 600_000)}}`],
  [
    'response items',
    '/v1/responses',
    `{"model":"sandbox/chat","input":${list('{"role":"user","content":"x"}', 14_000)}}`,
  ],
  [
    'content blocks',
    '/v1/messages',
    `{"model":"sandbox/chat","max_tokens":10,"messages":[{"role":"user","content":${list('{"type":"text","text":"x"}', 14_000)}}]}`,
  ],
  ['parts', '/v1beta/models/sandbox/chat:generateContent', `{"contents":[{"parts":${list('{"text":"x"}', 14_000)}}]}`],
  [
    'results of functions',
    '/v1beta/models/sandbox/chat:generateContent',
    `{"contents":[{"role":"model","parts":${list('{"functionCall":{"name":"f"}}', 7_000)}},{"parts":${list('{"functionResponse":{"name":"f"}}', 7_000)}}]}`,
  ],
  ['a number of 10 MB', '/v1/chat/completions', `${CHAT},"seed":${'9'.repeat(10 * MEGABYTE - 1_000)}}`],
  ['prompts', '/v1/completions', `{"model":"sandbox/chat","prompt":${list('"x"', 600_000)}}`],
]

for (const [what, path, text] of SHAPES) {
  test(`F48: no stall above ${STALL_MS_MAX} ms of CPU by a body with ${what}: POST ${path}`, async () => {
    await checked(what, path, Buffer.from(text))
  })
}

test(`no stall above ${STALL_MS_MAX} ms of CPU by a picture that begins with comments, which hung the node for good`, async () => {
  await checked(
    'comments',
    '/v1/images/generations',
    JSON.stringify({
      model: 'sandbox/image',
      prompt: 'x',
      image: `data:image/png;base64,${Buffer.from('<!---->'.repeat(36)).toString('base64')}`,
    }),
  )
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by headers, without credentials`, async () => {
  for (const name of [
    'accept-encoding',
    'accept',
    'content-type',
    'authorization',
    'cookie',
    'x-forwarded-for',
    'if-none-match',
    'user-agent',
  ]) {
    for (const value of [`a${' '.repeat(14_000)}b`, 'a;'.repeat(7_000), 'a, '.repeat(4_600), '='.repeat(14_000)]) {
      for (const path of ['/', '/v1/models']) await checked(name, path, '', { [name]: value })
    }
  }
})
