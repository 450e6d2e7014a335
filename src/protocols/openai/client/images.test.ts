import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase64, imageTypeOf, pictureOf, readDataUrl } from '../../../kinds/images/bytes.ts'
import { parseImages } from './images.ts'
import { ASPECT_RATIOS, IMAGE_SIZES, sizeOfRatio, wantedRatio } from '../../../kinds/images/request.ts'
import { verdict } from '../../../../test/harness/refused.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1')
const DATA = `data:image/png;base64,${PNG.toString('base64')}`

function parsed(fields: Record<string, unknown>): ReturnType<typeof parseImages> {
  return parseImages({ model: 'm/x', prompt: 'a cat', ...fields })
}

function refusal(body: unknown): string {
  return verdict(() => parseImages(body))
}

test('required fields come before types and ranges', () => {
  assert.equal(refusal({ prompt: 'x', n: 0 }), "missing_model | Parameter 'model' is required")
  assert.equal(refusal({ model: '', prompt: 'x' }), "missing_model | Parameter 'model' is required")
  assert.equal(refusal({ model: null, prompt: 'x' }), "missing_model | Parameter 'model' is required")
  for (const prompt of [undefined, null, '', ' \n'])
    assert.equal(
      refusal({ model: 'm', prompt, stream: true }),
      "missing_prompt | Parameter 'prompt' is required",
      JSON.stringify(prompt),
    )
  assert.equal(refusal({ model: 'm', prompt: 7 }), 'invalid_input | prompt: must be a string')
  assert.equal(refusal({ model: 7, prompt: 'x' }), 'invalid_input | model: must be a string')
  assert.equal(refusal([]), 'invalid_json | Request body is not valid JSON: the top level must be an object')
})

test('each wrong value has its error, with the allowed values', () => {
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    ...[0, 11, -1, 1.5, '2', true].map((n) => [{ n }, 'invalid_input | n: must be an integer from 1 to 10'] as const),
    ...['512x512', '1024X1024', '', 1_024, 'large'].map(
      (size) => [{ size }, `invalid_input | size: must be one of ${IMAGE_SIZES.join(', ')}`] as const,
    ),
    ...['png', '', 1, { type: 'url' }].map(
      (value) =>
        [
          { response_format: value },
          'invalid_response_format | Invalid response_format: must be url or b64_json',
        ] as const,
    ),
    [{ stream: 'yes' }, 'invalid_input | stream: must be a boolean'],
    [{ partial_images: 4 }, 'invalid_input | partial_images: must be an integer from 0 to 3'],
    [{ image_config: 'wide' }, 'invalid_input | image_config: must be an object'],
    [
      { image_config: { aspect_ratio: '7:3' } },
      `invalid_input | image_config.aspect_ratio: must be one of ${ASPECT_RATIOS.join(', ')}`,
    ],
    [{ image_config: { image_size: '8K' } }, 'invalid_input | image_config.image_size: must be one of 1K, 2K, 4K'],
    [{ image_config: { image_size: '1k' } }, 'invalid_input | image_config.image_size: must be one of 1K, 2K, 4K'],
    [{ output_format: 'gif' }, 'invalid_input | output_format: must be one of png, jpeg, webp'],
    [{ output_compression: 101 }, 'invalid_input | output_compression: must be an integer from 0 to 100'],
    [{ quality: 5 }, 'invalid_input | quality: must be a string'],
    [{ quality: 'x'.repeat(65) }, 'invalid_input | quality: must be a string of 1 to 64 characters'],
    [{ seed: 1.5 }, 'invalid_input | seed: must be an integer'],
    [{ provider: { sort: 'best' } }, 'invalid_input | provider.sort: must be price, throughput or latency'],
    [{ image: 7 }, 'invalid_input | image: must be an http or https URL or a data URL of an image'],
    [{ image: 'ftp://host/a.png' }, 'invalid_input | image: must be an http or https URL or a data URL of an image'],
    [{ image: 'file:///etc/passwd' }, 'invalid_input | image: must be an http or https URL or a data URL of an image'],
    [{ image: 'cat.png' }, 'invalid_input | image: must be an http or https URL or a data URL of an image'],
    [{ image: 'data:image/png;base64,%%%' }, 'invalid_input | image: the data URL is not valid base64'],
    [{ image: 'data:image/png,plain' }, 'invalid_input | image: the data URL is not valid base64'],
    [{ image: 'data:text/plain;base64,aGVsbG8=' }, 'invalid_input | image: the data URL is not of an image'],
    [{ input_references: DATA }, 'invalid_input | input_references: must be an array of at most 16 images'],
    [
      { input_references: Array.from({ length: 17 }, () => DATA) },
      'invalid_input | input_references: must be an array of at most 16 images',
    ],
    [
      { input_references: [DATA, { type: 'image_url' }] },
      'invalid_input | input_references[1]: must be an http or https URL or a data URL of an image',
    ],
  ]
  for (const [fields, expected] of cases)
    assert.equal(refusal({ model: 'm', prompt: 'x', ...fields }), expected, JSON.stringify(fields).slice(0, 200))
})

test('a missing or null field has its default; unknown fields are ignored', () => {
  const plain = parsed({
    n: null,
    size: null,
    image_config: null,
    response_format: null,
    stream: false,
    junk: { a: 1 },
    __proto__: { n: 4 },
  })
  assert.deepEqual(
    [
      plain.count,
      plain.n,
      plain.size,
      plain.aspectRatio,
      plain.imageSize,
      plain.responseFormat,
      plain.sources,
      plain.parameters,
    ],
    [1, 1, null, null, null, 'url', [], {}],
  )
  assert.equal(parsed({ size: 'auto' }).size, null)
  assert.equal(parsed({ n: 10 }).count, 10)
  assert.deepEqual(
    parsed({
      quality: 'high',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 0,
      style: 'vivid',
      seed: -3,
      user: 'u',
    }).parameters,
    {
      quality: 'high',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 0,
      style: 'vivid',
      seed: -3,
      user: 'u',
    },
  )
})

test('source images: `image` first, then the references, each an address or bytes with the type they really have', () => {
  const jpeg = Buffer.from('\xff\xd8\xff\xe0', 'latin1').toString('base64')
  const { sources } = parsed({
    image: DATA,
    input_references: [
      'https://example.com/a.png',
      { type: 'image_url', image_url: { url: `data:image/png;base64,${jpeg}` } },
      { image_url: 'http://example.com/b' },
    ],
  })
  assert.deepEqual(
    sources.map((source) => [source.type, source.path, source.type === 'data' ? source.mediaType : source.url]),
    [
      ['data', 'image', 'image/png'],
      ['address', 'input_references[0]', 'https://example.com/a.png'],
      ['data', 'input_references[1]', 'image/jpeg'],
      ['address', 'input_references[2]', 'http://example.com/b'],
    ],
  )
})

test('shapes: a size names its ratio, and a ratio with a resolution a size', () => {
  assert.equal(wantedRatio(parsed({ size: '1280x720' })), '16:9')
  assert.equal(wantedRatio(parsed({ size: '1024x1536' })), '2:3')
  assert.equal(wantedRatio(parsed({ size: '1024x1024', image_config: { aspect_ratio: '4:5' } })), '4:5')
  assert.equal(wantedRatio(parsed({})), null)
  assert.deepEqual(
    [sizeOfRatio('1:1', null), sizeOfRatio('1:1', '4K'), sizeOfRatio('21:9', '1K'), sizeOfRatio('4:5', '2K')],
    ['1024x1024', '4096x4096', '1568x672', '1824x2288'],
  )
})

test('base64 and the formats of pictures, by their bytes', () => {
  assert.deepEqual(decodeBase64(PNG.toString('base64')), PNG)
  assert.deepEqual(decodeBase64('aGVs\nbG8='), Buffer.from('hello'))
  assert.deepEqual(decodeBase64('_-_-'), decodeBase64('/+/+'))
  for (const wrong of ['', '...', 'a', 'abcde', 'ab=c', 'data:image/png;base64,AAAA', 'ab c!'])
    assert.equal(decodeBase64(wrong), null, wrong)
  assert.deepEqual(readDataUrl('data:;base64,AAAA'), { mediaType: null, base64: 'AAAA' })
  assert.deepEqual(readDataUrl('DATA:image/PNG;charset=x;BASE64,AAAA'), { mediaType: 'image/png', base64: 'AAAA' })
  for (const [head, type] of [
    ['RIFF1234WEBPVP8 ', 'image/webp'],
    ['GIF89a', 'image/gif'],
    ['\0\0\0\x1cftypavif', 'image/avif'],
    ['<?xml version="1.0"?>\n<svg xmlns="x">', 'image/svg+xml'],
    ['<html>', null],
    ['hello', null],
  ] as const) {
    assert.equal(imageTypeOf(Buffer.from(head, 'latin1')), type, head)
  }
  assert.equal(pictureOf(PNG, 'image/jpeg').mediaType, 'image/png')
  assert.equal(pictureOf(Buffer.from('?'), 'image/jpg').mediaType, 'image/jpeg')
  // A browser would run a file served with one of these types.
  assert.equal(pictureOf(Buffer.from('<html>'), 'text/html').mediaType, 'image/png')
})

test('base64 with blanks in any place is what it is without them', () => {
  const text = fc.string({
    unit: fc.constantFrom('A', 'b', '9', '+', '/', '_', '-', ' ', '\n', '\u00a0', '=', 'я'),
    maxLength: 14,
  })
  fc.assert(
    fc.property(text, (given) => {
      const bare = given.replaceAll(/\s+/g, '')
      const isSound = /^[\w+/-]+={0,2}$/.test(bare) && bare.replaceAll('=', '').length % 4 !== 1
      assert.deepEqual(decodeBase64(given), isSound ? Buffer.from(bare, 'base64') : null)
    }),
    { numRuns: 2_000 },
  )
})
