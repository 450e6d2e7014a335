import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patient } from '../harness/patience.ts'
import { wavFile } from '../harness/audio-files.ts'
import { checkShape } from '../harness/door-errors.ts'
import { type Answer, serveSandbox } from '../harness/gateway.ts'

/**
 * Malformed forms, or forms with more than is allowed (guarantees.md F53, S4), through the server;
 * `src/http/multipart.test.ts` tests only the reader.
 */
const { key, tollgate } = await serveSandbox('{ rate_limit: { requests: 100000, window: 60 } }')

const SOUND = wavFile(1)
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav'
const MODEL = '--X\r\nContent-Disposition: form-data; name="model"\r\n\r\nsandbox/transcription\r\n'
const TYPE = 'multipart/form-data; boundary=X'

function bytes(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
}

function form(head = FILE, model = MODEL, sound: Buffer = SOUND): Buffer {
  return bytes(model, `--X\r\n${head}\r\n\r\n`, sound, '\r\n--X--\r\n')
}

function send(body: Buffer, type: string = TYPE): Promise<Answer> {
  return tollgate.request('POST', '/v1/audio/transcriptions', {
    key,
    body,
    headers: { 'content-type': type },
  })
}

const HONEST: Readonly<Record<string, readonly [Buffer, string?]>> = {
  'as every client sends it': [form()],
  'with a preamble and an epilogue': [bytes('ignore me\r\n', form(), 'and me')],
  'with a quoted boundary': [form(), 'multipart/form-data; boundary="X"'],
  'with a charset beside the boundary': [form(), 'multipart/form-data; charset=utf-8; boundary=X'],
  'in capitals': [form(), 'Multipart/Form-Data; Boundary=X'],
  'with spaces behind the boundary': [bytes('--X  \r\n', form().subarray(5))],
  'with a file name in another alphabet': [
    form('Content-Disposition: form-data; name="file"; filename*=UTF-8\'\'%D0%B7.wav'),
  ],
  'with quotes in the file name': [form('Content-Disposition: form-data; name="file"; filename="a\\"b.wav"')],
  'with a path as its name': [form('Content-Disposition: form-data; name="file"; filename="../../etc/passwd.wav"')],
  'with a file that holds the boundary in a line': [form(FILE, MODEL, Buffer.concat([SOUND, Buffer.from('x--X--x')]))],
}

for (const [what, [body, type]] of Object.entries(HONEST)) {
  test(`a form ${what} is read`, async () => {
    const answer = await send(body, type)
    assert.equal(answer.status, 200, answer.text)
  })
}

const part = (headers: string, content = '1'): string => `--X\r\n${headers}\r\n\r\n${content}\r\n`
const named = (name: string): string => part(`Content-Disposition: form-data; name="${name}"`)

const HOSTILE: Readonly<Record<string, readonly [Buffer, string?]>> = {
  'no boundary': [form(), 'multipart/form-data'],
  'an empty boundary': [form(), 'multipart/form-data; boundary='],
  'an empty quoted boundary': [form(), 'multipart/form-data; boundary=""'],
  'a boundary of 71': [form(), `multipart/form-data; boundary=${'b'.repeat(71)}`],
  'a boundary of 10,000': [form(), `multipart/form-data; boundary=${'b'.repeat(10_000)}`],
  'a boundary of quotes': [form(), `multipart/form-data; boundary="${'\\"'.repeat(40)}"`],
  'a boundary that is a pattern': [form(), 'multipart/form-data; boundary="(a+)+$"'],
  'a boundary with a line break spelled': [form(), 'multipart/form-data; boundary="X\\r\\nY"'],
  'another boundary': [form(), 'multipart/form-data; boundary=Y'],
  'two boundaries': [form(), 'multipart/form-data; boundary=Y; boundary=X'],
  'a boundary that is not closed': [form(), 'multipart/form-data; boundary="X'],
  nothing: [bytes('')],
  text: [bytes('hello')],
  'a JSON text': [bytes('{"model":"sandbox/transcription"}')],
  'dashes alone': [bytes('-'.repeat(100_000))],
  'boundaries alone': [bytes('--X\r\n'.repeat(100_000))],
  'no final boundary': [bytes(MODEL, part(FILE))],
  'a final boundary cut': [bytes(MODEL, part(FILE), '--X-')],
  'no end of a header': [bytes(MODEL, `--X\r\n${FILE}`)],
  'bare line feeds': [bytes(form().toString('latin1').replaceAll('\r\n', '\n'))],
  '21 parts': [bytes(named('a').repeat(21), '--X--')],
  '10,000 parts': [bytes(named('a').repeat(10_000), '--X--')],
  'a megabyte of header': [bytes(part(`X-Long: ${'h'.repeat(1_048_576)}\r\n${FILE}`), '--X--')],
  '8,193 bytes of header': [bytes(part(`X: ${'h'.repeat(8_193)}`), '--X--')],
  'a thousand headers': [
    bytes(part(Array.from({ length: 1_000 }, (_value, index) => `h${index}: v`).join('\r\n')), '--X--'),
  ],
  'a folded header': [form('Content-Disposition: form-data;\r\n name="file"; filename="a.wav"')],
  'a header without a colon': [form(`${FILE}\r\nnonsense`)],
  'a header with a space in its name': [form(`${FILE}\r\nX Y: z`)],
  'a header twice': [form(`${FILE}\r\nContent-Type: audio/mpeg`)],
  'a NUL in a header name': [form(`${FILE}\r\nX\0: z`)],
  'no Content-Disposition': [form('Content-Type: audio/wav')],
  'Content-Disposition: attachment': [form('Content-Disposition: attachment; name="file"; filename="a.wav"')],
  'no name': [form('Content-Disposition: form-data; filename="a.wav"')],
  'an empty name': [form('Content-Disposition: form-data; name=""; filename="a.wav"')],
  'a form within': [
    form('Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: multipart/mixed; boundary=Y'),
  ],
  base64: [form(`${FILE}\r\nContent-Transfer-Encoding: base64`)],
  'quoted-printable': [form(`${FILE}\r\nContent-Transfer-Encoding: quoted-printable`)],
  gzip: [form(`${FILE}\r\nContent-Transfer-Encoding: gzip`)],
  'two files': [bytes(MODEL, `--X\r\n${FILE}\r\n\r\n`, SOUND, `\r\n--X\r\n${FILE}\r\n\r\n`, SOUND, '\r\n--X--')],
  'no file': [bytes(MODEL, '--X--')],
  'no model': [form(FILE, '')],
  'a file as the model': [
    bytes('--X\r\nContent-Disposition: form-data; name="model"; filename="m"\r\n\r\nsandbox/transcription\r\n--X--'),
  ],
  'a field of a megabyte': [
    bytes(MODEL, part('Content-Disposition: form-data; name="prompt"', 'x'.repeat(1_048_576)), '--X--'),
  ],
  'a field that is no UTF-8': [form(FILE, '--X\r\nContent-Disposition: form-data; name="model"\r\n\r\n\xff\xfe\r\n')],
  'an empty file': [form(FILE, MODEL, Buffer.alloc(0))],
  'an unknown field': [form(FILE, MODEL + named('api_base'))],
  'a zip that is named .mp3': [
    form(
      'Content-Disposition: form-data; name="file"; filename="a.mp3"',
      MODEL,
      Buffer.concat([Buffer.from('504b030414000000080000000000', 'hex'), Buffer.alloc(2_000)]),
    ),
  ],
  'a gzip that is named .wav': [
    form(FILE, MODEL, Buffer.concat([Buffer.from('1f8b0800', 'hex'), Buffer.alloc(2_000)])),
  ],
  'a page that is named .wav': [form(FILE, MODEL, Buffer.from('<html><script>alert(1)</script></html>'))],
  '10 MB of what looks like the boundary': [
    bytes(MODEL, `--X\r\n${FILE}\r\n\r\n`, '\r\n--Xx'.repeat(1_700_000), '\r\n--X--'),
  ],
  '10 MB of dashes and line ends': [bytes(MODEL, `--X\r\n${FILE}\r\n\r\n`, '\r\n--'.repeat(2_600_000), '\r\n--X--')],
}

/** Passed on as they are. */
const OPAQUE: ReadonlySet<string> = new Set(['an unknown field'])

for (const [what, [body, type]] of Object.entries(HOSTILE)) {
  test(`F53: ${what}`, async () => {
    const startedMs = performance.now()
    const answer = await send(body, type)
    assert.ok(answer.status < 500, answer.text)
    if (!OPAQUE.has(what)) assert.ok([400, 413, 415].includes(answer.status), `${answer.status} ${answer.text}`)
    assert.ok(performance.now() - startedMs < patient(3_000))
  })
}

/** A form that another door would take for its own: its model, and the name of its file. */
const DOORS: Readonly<Record<string, readonly [model: string, file: string]>> = {
  '/v1/audio/translations': ['sandbox/transcription', 'file'],
  '/v1/images/edits': ['sandbox/image', 'image'],
  '/v1/images/variations': ['sandbox/image', 'image'],
  '/v1/videos': ['sandbox/video', 'input_reference'],
}
/** Larger forms are read by the same reader, above. */
const BYTES_MAX = 2_000_000

test('every door that takes a form is attacked', () => {
  const taking = tollgate.app.routes.filter(({ plane, body }) => plane === 'key' && body === 'json-or-multipart')
  assert.deepEqual(
    taking.map(({ path }) => path).toSorted(),
    ['/v1/audio/transcriptions', ...Object.keys(DOORS)].toSorted(),
  )
})

for (const [path, [model, file]] of Object.entries(DOORS))
  test(`F53 at ${path}: each of them is refused in one sentence`, async () => {
    for (const [what, [body, type = TYPE]] of Object.entries(HOSTILE)) {
      if (body.length > BYTES_MAX || OPAQUE.has(what)) continue
      const own = body
        .toString('latin1')
        .replaceAll('sandbox/transcription', model)
        .replaceAll('name="file"', `name="${file}"`)
      const answer = await tollgate.request('POST', path, {
        key,
        body: Buffer.from(own, 'latin1'),
        headers: { 'content-type': type },
      })
      assert.ok([400, 413, 415].includes(answer.status), `${what}: ${answer.status} ${answer.text}`)
      checkShape(answer, 'openai', what)
    }
  })

test('after all of them nothing is held, and the books agree', async () => {
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.equal(body.reserved, 0)
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
})
