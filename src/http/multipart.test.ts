import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../base/errors.ts'
import { parseMultipart } from './multipart.ts'
import { cpuMs } from '../../test/harness/patience.ts'
import { refusal } from '../../test/harness/refused.ts'

const TYPE = 'multipart/form-data; boundary=X'

function body(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

function refused(what: RegExp, bytes: Buffer | string, type = TYPE): void {
  const { errorName, message } = refusal(() => parseMultipart(type, Buffer.from(bytes)))
  assert.equal(errorName, 'file_upload_error')
  assert.match(message, /^File upload failed: /)
  assert.match(message, what)
}

const field = (name: string, value: string): string =>
  `--X\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

test('fields keep their order and repetitions, the file its bytes', () => {
  const audio = Buffer.from([0, 1, 2, 13, 10, 45, 45, 88, 65, 13, 10, 45, 45, 255])
  const form = parseMultipart(
    TYPE,
    body(
      field('model', 'a/b'),
      field('g[]', 'word'),
      field('g[]', 'segment'),
      '--X\r\nContent-Disposition: form-data; name="file"; filename="Привет \\"x\\".mp3"\r\nContent-Type: Audio/MPEG; x=y\r\n\r\n',
      audio,
      '\r\n--X--\r\n',
    ),
  )
  assert.deepEqual(form.fields, [
    ['model', 'a/b'],
    ['g[]', 'word'],
    ['g[]', 'segment'],
  ])
  assert.deepEqual(form.files, [{ field: 'file', fileName: 'Привет "x".mp3', contentType: 'audio/mpeg', bytes: audio }])
})

test('spellings of honest clients are read: quoted boundary, preamble, padding, empty values, filename*, no type', () => {
  assert.deepEqual(
    parseMultipart(
      'multipart/form-data; charset=utf-8; BOUNDARY="X"',
      body('preamble\r\n', field('a', ''), '--X-- \r\nepilogue'),
    ).fields,
    [['a', '']],
  )
  assert.deepEqual(
    parseMultipart(TYPE, body('--X  \r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--X--')).fields,
    [['a', '1']],
  )
  const {
    files: [file],
  } = parseMultipart(
    TYPE,
    body(`--X\r\ncontent-disposition: form-data; name="file"; filename*=UTF-8''na%C3%AFve.mp3\r\n\r\n\r\n--X--`),
  )
  assert.deepEqual([file?.fileName, file?.contentType, file?.bytes.length], ['naïve.mp3', null, 0])
  assert.deepEqual(parseMultipart(TYPE, Buffer.from('--X--')), { fields: [], files: [] })
})

test('a broken or hostile form is refused with its reason', () => {
  refused(/names no boundary/, 'x', 'multipart/form-data')
  refused(/names no boundary/, 'x', '')
  refused(/boundary must be/, 'x', `multipart/form-data; boundary=${'b'.repeat(71)}`)
  refused(/boundary must be/, 'x', 'multipart/form-data; boundary="a\\b"')
  refused(/does not hold its boundary/, '')
  refused(/does not hold its boundary/, 'hello')
  refused(/final boundary is missing/, field('a', '1'))
  refused(/final boundary is missing/, `${field('a', '1')}--X`)
  refused(/final boundary is missing/, `${field('a', '1')}--XY--`)
  refused(/more than 20 parts/, `${field('a', '1').repeat(21)}--X--`)
  refused(/more than 20 parts/, `${field('a', '1').repeat(10_000)}--X--`)
  refused(
    /not complete within 8192 bytes/,
    `--X\r\nX-Long: ${'h'.repeat(1_048_576)}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--X--`,
  )
  refused(/not complete within 8192 bytes/, '--X\r\nContent-Disposition: form-data; name="a"\r\n--X--')
  refused(
    /more than one file/,
    `${'--X\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n1\r\n'.repeat(2)}--X--`,
  )
  refused(
    /parts inside a part/,
    '--X\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed; boundary=Y\r\n\r\n--Y--\r\n--X--',
  )
  refused(/no Content-Disposition/, '--X\r\nContent-Type: text/plain\r\n\r\n1\r\n--X--')
  refused(/no Content-Disposition/, '--X\r\n\r\n1\r\n--X--')
  refused(/no name/, '--X\r\nContent-Disposition: form-data\r\n\r\n1\r\n--X--')
  refused(/cannot be read/, '--X\r\nContent-Disposition: form-data; name="a"\r\nfolded\r\n\r\n1\r\n--X--')
  refused(
    /cannot be read/,
    '--X\r\nContent-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"\r\n\r\n1\r\n--X--',
  )
  refused(
    /Transfer-Encoding/,
    '--X\r\nContent-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64\r\n\r\nMQ==\r\n--X--',
  )
  refused(
    /not UTF-8/,
    body('--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n', Buffer.from([0xff]), '\r\n--X--'),
  )
  refused(/longer than 262144/, `${field('a', 'x'.repeat(262_145))}--X--`)
})

test('20 parts, a header of 8 KiB and a boundary of 70 characters are allowed', () => {
  assert.equal(parseMultipart(TYPE, Buffer.from(`${field('a', '1').repeat(20)}--X--`)).fields.length, 20)
  const start = 'Content-Disposition: form-data; name="a"; x="'
  const header = `${start}${'h'.repeat(8_192 - start.length - 3)}"`
  assert.equal(parseMultipart(TYPE, Buffer.from(`--X\r\n${header}\r\n\r\n1\r\n--X--`)).fields.length, 1)
  const long = 'b'.repeat(70)
  assert.deepEqual(
    parseMultipart(
      `multipart/form-data; boundary=${long}`,
      Buffer.from(`--${long}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${long}--`),
    ).fields,
    [['a', '1']],
  )
})

test('10 MB of whatever costs least to send and most to read takes a moment', () => {
  const open = '--X\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"'
  const corpus: readonly [Buffer, RegExp | null][] = [
    [body(open, '\r\n\r\n', '\r\n--X!'.repeat(1_700_000), '\r\n--X--'), /holds the boundary/],
    [body(open, '\r\n\r\n', '\r\n--'.repeat(2_500_000), '\r\n--X--'), null],
    [body(`${open}${';a="'.repeat(2_000)}\r\n\r\n1\r\n`.repeat(20), '--X--'), /more than one file/],
    [body('\r\n--X!'.repeat(1_700_000)), /holds the boundary/],
  ]
  for (const [bytes, what] of corpus) {
    const usedMs = cpuMs(() => {
      if (what === null) assert.equal(parseMultipart(TYPE, bytes).files.length, 1)
      else refused(what, bytes)
    }, 500)
    assert.ok(usedMs < 500, String(usedMs))
  }
})

test('any bytes come back as they went in, and any damage is an ApiError or a form', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(400),
      (content, noise, at) => {
        const whole = body(
          '--XyZ\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n',
          Buffer.from(content),
          '\r\n--XyZ--\r\n',
        )
        assert.deepEqual(
          [...(parseMultipart('multipart/form-data; boundary=XyZ', whole).files[0]?.bytes ?? [])],
          [...content],
        )
        const damaged = Buffer.concat([whole.subarray(0, at), Buffer.from(noise), whole.subarray(at)])
        try {
          parseMultipart('multipart/form-data; boundary=XyZ', damaged)
        } catch (error) {
          assert.ok(error instanceof ApiError)
        }
      },
    ),
  )
})
