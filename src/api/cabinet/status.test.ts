import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelStatus, serviceState } from './status.ts'

const of = (unhealthy: boolean, uptime5m: number | null, uptime1d: number | null) => ({ unhealthy, uptime5m, uptime1d })

test('a model is as well as its best provider, and unknown while nobody asks it', () => {
  assert.deepEqual(modelStatus([of(false, null, null)]), { state: 'unknown', uptime_1d: null })
  assert.deepEqual(modelStatus([of(false, 100, 99.5), of(true, 0, 10)]), { state: 'operational', uptime_1d: 99.5 })
  assert.deepEqual(modelStatus([of(false, null, 98)]), { state: 'operational', uptime_1d: 98 })
  assert.deepEqual(modelStatus([of(false, 80, 98), of(true, 0, 98)]), { state: 'degraded', uptime_1d: 98 })
  assert.deepEqual(modelStatus([of(true, 80, 98)]).state, 'degraded')
  // One failure among many requests is no outage.
  assert.deepEqual(modelStatus([of(true, 99, 99)]).state, 'operational')
  assert.deepEqual(modelStatus([of(true, 0, 40), of(true, 10, 60)]), { state: 'down', uptime_1d: 60 })
})

test('the service is down only where all that is asked is', () => {
  assert.equal(serviceState(['unknown', 'unknown']), 'unknown')
  assert.equal(serviceState(['unknown', 'operational']), 'operational')
  assert.equal(serviceState(['down', 'operational', 'unknown']), 'degraded')
  assert.equal(serviceState(['down', 'down', 'unknown']), 'down')
})
