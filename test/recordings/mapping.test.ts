import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { ArgumentsText } from '../../scripts/recordings/arguments-text.ts'
import { mappedBody } from '../../scripts/recordings/body-mapping.ts'
import { CaseMapping } from '../../scripts/recordings/case-mapping.ts'
import { Letters } from '../../scripts/recordings/letters.ts'
import { rowOf } from '../../scripts/recordings/recorded-case.ts'
import { imageTypeOf } from '../../src/kinds/images/bytes.ts'
import { soundSeconds } from '../harness/audio-files.ts'
import { converseEvent } from '../harness/aws.ts'
import { formatOf, madeMedia } from '../harness/made-media.ts'
import { caseOf } from '../harness/recording.ts'
import { documentsOf } from './documents.ts'
import { freshFolder } from '../harness/lasting.ts'

const SAID = 'The quick brown fox, Прыжок ёжика, 秋风瑟瑟 ñandú 12.50 € 🦊!'
const CLASSES = [
  /[a-z]/,
  /[A-Z]/,
  /\d/,
  /[а-я]|ё/,
  /[А-Я]/,
  /\p{Script=Han}/u,
  /[\u00df-\u00ff]/,
  /\p{Extended_Pictographic}/u,
  /[\s\p{P}\p{S}]/u,
]
const folder = freshFolder()

function classesOf(text: string): readonly number[] {
  return Array.from(text, (letter) => CLASSES.findIndex((one) => one.test(letter)))
}

function mapped(body: string, framing = 'json', protocol = 'openai-chat'): string {
  const mapping = new CaseMapping('a/chat/b', protocol)
  return mappedBody(Buffer.from(body), framing, mapping).toString('utf8')
}

test('letters stay of their class, script and width, punctuation stays, and nothing leads back', () => {
  const letters = new Letters('a/chat/b')
  const text = letters.text(SAID)
  assert.deepEqual(classesOf(text), classesOf(SAID))
  assert.equal(Buffer.byteLength(text), Buffer.byteLength(SAID))
  assert.equal(text, new Letters('a/chat/b').text(SAID), 'the same case says the same')
  assert.notEqual(text, new Letters('a/chat/c').text(SAID), 'another case says another')
  for (const word of SAID.match(/\p{L}{4,}/gu) ?? []) assert.ok(!text.includes(word), word)
  assert.ok(new Set(letters.text('defghijklmnopqrstuvwxyz')).size <= 6, 'several letters become the same')
})

test('a letter of a script without a row is refused, so that no text slips through', () => {
  assert.throws(() => new Letters('x').text('ქართული'), /no class of letters/)
})

test('pieces of a text add up to the whole, wherever it is cut', () => {
  const letters = new Letters('a/chat/b')
  const units = Array.from(SAID)
  for (let cut = 0; cut <= units.length; cut += 1)
    assert.equal(
      letters.text(units.slice(0, cut).join('')) + letters.text(units.slice(cut).join('')),
      letters.text(SAID),
    )
})

test('escapes, white space, names, numbers and enumerations stay; what no rule names is replaced', () => {
  const body =
    '{ "id" : "chatcmpl-8Kx0Tz9QmA12",\n "object":"chat.completion", "created": 1714313661.50, "whatever": {"unheard_of": "Somebody wrote this"},\n "choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"A \\"quoted\\" line\\nand \\u0416\\u00e9 \\/ \\ud83e\\udd8a"}}]}'
  const text = mapped(body)
  assert.equal(text.length, body.length)
  assert.deepEqual(
    text.match(/\\(?:u[\da-f]{4}|.)/g)?.map((escape) => escape.slice(0, 2)),
    body.match(/\\(?:u[\da-f]{4}|.)/g)?.map((escape) => escape.slice(0, 2)),
  )
  assert.equal(text.replaceAll(/"(?:\\.|[^"\\])*"/g, '""'), body.replaceAll(/"(?:\\.|[^"\\])*"/g, '""'))
  const answer = JSON.parse(text)
  assert.deepEqual(
    [answer.object, answer.created, answer.choices[0].finish_reason, answer.choices[0].message.role],
    ['chat.completion', 1_714_313_661.5, 'stop', 'assistant'],
  )
  assert.match(answer.id, /^chatcmpl-\d[A-Z][a-z]\d[A-Z][a-z]\d[A-Z][a-z][A-Z]\d\d$/)
  assert.doesNotMatch(text, /Kx0T|Somebody|wrote|quoted|line/)
  assert.match(
    answer.choices[0].message.content,
    /^[A-Z] "[a-z]{6}" [a-z]{4}\n[a-z]{3} [А-Я][à-ü] \/ \p{Extended_Pictographic}$/u,
  )
})

test("a row that marks a user's text as a fact is refused", () => {
  assert.throws(() => mapped('{"choices":[{"finish_reason":"because I wanted to"}]}'), /finish_reason is no fact/)
})

test('arguments in pieces keep their names and their form, at every cut; a call that is no JSON is text', () => {
  const text = '{"city": "San José", "days": [1, "two", null], "deep": {"a\\"b": "say \\"hi\\" \\u0041\\n"}}'
  const letters = new Letters('a/chat/b')
  const whole = new ArgumentsText(letters).push(text)
  const value = JSON.parse(whole)
  assert.deepEqual(
    [Object.keys(value), Object.keys(value.deep), value.days[0], value.days[2]],
    [['city', 'days', 'deep'], ['a"b'], 1, null],
  )
  assert.equal(whole.length, text.length)
  assert.doesNotMatch(whole, /San|two|say|hi/)
  const escape = text.indexOf('\\u0041')
  for (let cut = 0; cut <= text.length; cut += 1) {
    if (cut > escape && cut < escape + 6) continue
    const pieces = new ArgumentsText(letters)
    assert.equal(pieces.push(text.slice(0, cut)) + pieces.push(text.slice(cut)), whole, `cut at ${cut}`)
  }
  assert.equal(new ArgumentsText(letters).push('null'), 'null')
  assert.equal(new ArgumentsText(letters).push('SELECT name'), letters.text('SELECT name'))
})

test('events keep their fields, ends, comments and cuts; the pieces say what the whole says', () => {
  const piece = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}`
  const call = (text: string): string => piece({ tool_calls: [{ index: 0, function: { arguments: text } }] })
  const body = [
    ': PROCESSING',
    'event: message',
    piece({ content: 'Once upon ' }),
    '',
    piece({ content: 'a time' }),
    '',
    call('{"ci'),
    '',
    call('ty":"Pa'),
    '',
    call('ris"}'),
    '',
    'data: [DONE]',
    '',
    '',
  ].join('\r\n')
  const text = mapped(body, 'sse')
  assert.equal(Buffer.byteLength(text), Buffer.byteLength(body))
  assert.deepEqual(
    text.split('\r\n').map((line) => line.slice(0, 6)),
    body.split('\r\n').map((line) => line.slice(0, 6)),
  )
  const deltas = documentsOf({
    ...caseOf({
      name: 'x',
      protocol: 'x',
      streaming: true,
      exchanges: [{ status: 200, headers: {}, framing: 'sse', body: text, expected: {} }],
    }),
  }).map((event) => JSON.parse(JSON.stringify(event)).choices[0].delta)
  const letters = new Letters('a/chat/b')
  assert.equal(deltas.map(({ content = '' }) => content).join(''), letters.text('Once upon a time'))
  assert.equal(
    deltas.map(({ tool_calls: calls = [] }) => calls[0]?.function.arguments ?? '').join(''),
    `{"city":"${letters.text('Paris')}"}`,
  )
})

test('error prose keeps its numbers and the phrases that tell one refusal from another', () => {
  const { message } = JSON.parse(
    mapped(
      '{"error":{"message":"Sorry: prompt is too long, 210000 tokens of organisation Example","code":"invalid_request"}}',
    ),
  ).error
  assert.match(message, /^[A-Z][a-z]{4}: prompt is too long, 210000 [a-z]{6} [a-z]{2} [a-z]{12} [A-Z][a-z]{6}$/)
  assert.doesNotMatch(message, /Sorry|Example/)
})

test('a frame of AWS keeps its headers and has the checksums of its new words', () => {
  const body = converseEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Good morning' } })
  const next = mappedBody(body, 'eventstream', new CaseMapping('a/chat/b', 'bedrock-converse'))
  assert.equal(next.length, body.length)
  assert.deepEqual(
    documentsOf({ status: 200, headers: {}, framing: 'eventstream', body: next, expected: {}, request: null }),
    [{ contentBlockDelta: { contentBlockIndex: 0, delta: { text: new Letters('a/chat/b').text('Good morning') } } }],
  )
})

test('signatures become other base64 of the same length; addresses keep their scheme; codes of letters follow their letters', () => {
  const signature = Buffer.from('what only the provider reads').toString('base64')
  const answer = JSON.parse(
    mapped(
      JSON.stringify({
        signature,
        url: 'https://example.org/a%20b?q=fox',
        logprobs: [{ token: 'ab', bytes: [97, 98] }],
      }),
    ),
  )
  assert.notEqual(answer.signature, signature)
  assert.equal(Buffer.from(answer.signature, 'base64').toString('base64'), answer.signature)
  assert.equal(answer.signature.length, signature.length)
  assert.match(answer.url, /^https:\/\/[a-z]{7}\.[a-z]{3}\/[a-z]%20[a-z]\?[a-z]=[a-z]{3}$/)
  assert.notEqual(answer.url, 'https://example.org/a%20b?q=fox')
  assert.equal(String.fromCharCode(...answer.logprobs[0].bytes), answer.logprobs[0].token)
})

test('media are made of their format and of any length, and decode', async () => {
  for (const [format, bytes] of [
    ['png', 69],
    ['png', 5_000],
    ['png', 815_697],
    ['jpeg', 400],
    ['jpeg', 232_315],
    ['ogg', 5_899],
    ['mp3', 28_320],
    ['mp4', 553_804],
  ] as const) {
    const made = madeMedia({ format, bytes, seed: 1 })
    assert.deepEqual([made.length, formatOf(made)], [bytes, format])
    if (bytes > 69 && format !== 'mp3') assert.notDeepEqual(made, madeMedia({ format, bytes, seed: 2 }))
  }
  const png = madeMedia({ format: 'png', bytes: 5_000, seed: 1 })
  const data = png.indexOf('IDAT')
  assert.deepEqual(
    [...inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)))],
    [0, 0],
    'one pixel of one row',
  )
  assert.equal(imageTypeOf(madeMedia({ format: 'jpeg', bytes: 400, seed: 1 })), 'image/jpeg')
  assert.equal(await soundSeconds(madeMedia({ format: 'mp3', bytes: 28_320, seed: 1 })), 1.416)
  assert.equal(await soundSeconds(madeMedia({ format: 'ogg', bytes: 5_899, seed: 1 })), 0.02)
})

test('a folder becomes the same case twice, without its texts, and with the same identifiers everywhere', () => {
  const dir = join(folder, 'upstream/acme/jobs/a-job')
  mkdirSync(join(dir, 'steps/01'), { recursive: true })
  mkdirSync(join(dir, 'steps/02'), { recursive: true })
  const id = 'job_8fa2c0d1e9b34455'
  const steps = ['01', '02'].map((step, index) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body_file: `steps/${step}/response.json`,
    expected: { id, status: 'done' },
    request: {
      method: index === 0 ? 'POST' : 'GET',
      host: 'api.acme.test',
      path: index === 0 ? '/v1/jobs' : `/v1/jobs/${id}`,
    },
  }))
  writeFileSync(
    join(dir, 'meta.json'),
    JSON.stringify({
      case: 'acme/jobs/a-job',
      protocol: 'acme-jobs',
      streaming: false,
      origin: 'recorded',
      source: { repo: 'acme/sdk', path: 'tests/a.yaml', commit: 'abc', licence: 'MIT' },
      steps,
    }),
  )
  writeFileSync(join(dir, 'steps/01/request.json'), '{"model":"acme-1","prompt":"Paint my garden in spring"}')
  for (const step of ['01', '02'])
    writeFileSync(
      join(dir, `steps/${step}/response.json`),
      JSON.stringify({
        id,
        status: 'done',
        prompt: 'Paint my garden in spring',
        url: `https://api.acme.test/files/${id}.png`,
      }),
    )
  const row = rowOf(dir)
  assert.deepEqual(rowOf(dir), row)
  assert.doesNotMatch(JSON.stringify(row.kept), /Paint|garden|spring|8fa2c0d1/)
  const [first, second] = caseOf(row.kept).steps
  const answer = JSON.parse(String(first?.body))
  assert.deepEqual(
    [second?.request?.path, first?.expected.id, answer.url],
    [`/v1/jobs/${answer.id}`, answer.id, `https://api.acme.test/files/${answer.id}.png`],
  )
  assert.deepEqual(first?.request?.body, { model: 'acme-1', prompt: answer.prompt })
  assert.deepEqual(row.source, [
    'acme/jobs/a-job',
    'acme-jobs',
    'recorded',
    'raw',
    'acme/sdk',
    'tests/a.yaml',
    'abc',
    'MIT',
    '-',
  ])
})
