import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aspectRatioOf, keyFor, resolutionOf } from './resolution.ts'

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
