import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ONE } from '../base/money.ts'
import type { Endpoint } from './catalog.ts'
import { aspectRatioOf, isPictureKey, keyFor, pictureVariant, resolutionOf } from './picture-price.ts'
import { priceSheet } from './price-sheet.ts'

function priced(map: Readonly<Record<string, string>>): Pick<Endpoint, 'variants'> {
  const sheet = (key: string): ReturnType<typeof priceSheet> => priceSheet({ image_output: map }, ONE, key)
  return { variants: new Map(Object.keys(map).map((key) => [key, { sell: sheet(key), buy: sheet(key) }])) }
}

const keyOf = (map: Readonly<Record<string, string>>, size: string | null, quality: string | null): string | null =>
  pictureVariant(priced(map), { size, quality })

test('the price key that names most of the request comes first, then the dearest that does not contradict it, else none', () => {
  const both = { '1024x1024': '4', '1024x1024/high': '17', '1536x1024': '6', '1536x1024/high': '25' }
  assert.deepEqual(
    [
      ['1024x1024', null],
      ['1024x1024', 'low'],
      ['1024x1024', 'HIGH'],
      ['1536x1024', 'high'],
      [null, null],
      [null, 'high'],
      ['2K', 'high'],
      ['2K', null],
    ].map(([size = null, quality = null]) => keyOf(both, size, quality)),
    ['1024x1024', '1024x1024', '1024x1024/high', '1536x1024/high', '1536x1024/high', '1536x1024/high', null, null],
  )
  assert.deepEqual(
    [
      keyOf({ low: '1', high: '9' }, '1024x1024', 'low'),
      keyOf({ low: '1', high: '9' }, null, null),
      keyOf({ '1K': '1', '4K': '9' }, '4k', null),
    ],
    ['low', 'high', '4K'],
  )
  assert.equal(pictureVariant({}, { size: '1024x1024', quality: 'high' }), null, 'one price has no keys')
})

test('keys are a size, a quality, or both', () => {
  assert.deepEqual(
    ['1024x1024', '2K', 'high', '1024x1024/high', 'hd/1024x1024', 'a/b', '1K/2K', '', 'x y', '1/2/3'].map(isPictureKey),
    [true, true, true, true, true, false, false, false, false, false],
  )
})

test('a size and its other spellings are one resolution', () => {
  for (const [name, resolution] of [
    ['1280x720', '720p'],
    ['720x1280', '720p'],
    ['720P', '720p'],
    ['HD', '720p'],
    ['1920x1080', '1080p'],
    ['1K', '1080p'],
    ['4K', '2160p'],
    ['3840x2160', '2160p'],
    ['odd', 'odd'],
    ['constructor', 'constructor'],
    ['__proto__', '__proto__'],
  ] as const) {
    assert.equal(resolutionOf(name), resolution, name)
  }
})

test('the ratio of a size in its shortest form', () => {
  for (const [size, ratio] of [
    ['1280x720', '16:9'],
    ['720x1280', '9:16'],
    ['1024x1024', '1:1'],
    ['1024x1792', '4:7'],
    ['720p', null],
  ] as const)
    assert.equal(aspectRatioOf(size), ratio, size)
})

test('a key is found literally first, then by its resolution, else not at all', () => {
  assert.equal(keyFor('1280x720', ['720p', '1280x720']), '1280x720')
  assert.equal(keyFor('720x1280', ['1920x1080', '1280x720']), '1280x720')
  assert.equal(keyFor('1080p', ['1280x720', '1920x1080']), '1920x1080')
  assert.equal(keyFor('480p', ['1280x720', '1920x1080']), null)
})
