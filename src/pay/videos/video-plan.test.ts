import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseVideo } from '../../protocols/videos/client.ts'
import { model } from '../../../test/harness/plan-fixture.ts'
import { operationOf } from './video-plan.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { VideoOperation } from '../../protocols/videos/request.ts'

function operation(fields: Record<string, unknown>, over: Partial<Model>): VideoOperation {
  return operationOf(
    parseVideo({ model: 'v/m', prompt: 'x', ...fields }).wish,
    model('v/m', { type: 'video', ...over }),
  )
}

const SIZED: Partial<Model> = { supportedSizes: ['1280x720', '720x1280', '1920x1080'], supportedDurations: [4, 8] }
const WORDED: Partial<Model> = {
  supportedResolutions: ['720p', '1080p'],
  supportedAspectRatios: ['16:9', '1:1'],
  supportedDurations: [5],
}

test('a size stands for resolution and ratio: the first that fits the request', () => {
  const shape = (fields: Record<string, unknown>): unknown => {
    const { size, resolution, aspectRatio, duration } = operation(fields, SIZED)
    return [size, resolution, aspectRatio, duration]
  }
  assert.deepEqual(shape({}), ['1280x720', null, null, 4])
  assert.deepEqual(shape({ duration: 8, size: '1920x1080' }), ['1920x1080', null, null, 8])
  assert.deepEqual(shape({ aspect_ratio: '9:16' }), ['720x1280', null, '9:16', 4])
  assert.deepEqual(shape({ resolution: '1080p' }), ['1920x1080', '1080p', null, 4])
})

test('a model of resolutions and ratios has no size; its first of each is the default', () => {
  const shape = (fields: Record<string, unknown>): unknown => {
    const { size, resolution, aspectRatio, duration } = operation(fields, WORDED)
    return [size, resolution, aspectRatio, duration]
  }
  assert.deepEqual(shape({}), [null, '720p', '16:9', 5])
  assert.deepEqual(shape({ resolution: '1080p', aspect_ratio: '1:1' }), [null, '1080p', '1:1', 5])
})

test('a model without lists passes on what it was given', () => {
  const { size, duration, resolution } = operation({ size: '333x222', duration: 17 }, {})
  assert.deepEqual([size, duration, resolution], ['333x222', 17, null])
})
