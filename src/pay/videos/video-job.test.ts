import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLive, NEW_DETAILS, type JobRow, type JobState, type JobStatus } from '../../ledger/job.ts'
import { UnusableVideoError, videoBytes } from './job-poll.ts'
import {
  accepted,
  completed,
  ended,
  insuredMicro,
  JOB_TTL_MS,
  missed,
  movedState,
  parked,
  pollDelayMs,
  polled,
  recordOf,
  refused,
  sending,
  VIDEO_KEPT_MS,
} from './video-job.ts'

const NOW = 1_700_000_000_000

function row(over: Partial<JobRow> = {}, details: Partial<JobRow['details']> = {}): JobRow {
  return {
    id: 'gen-vid-1',
    accountId: 'acc',
    keyId: 'key',
    requestId: 'req',
    model: 'v/video',
    request: Buffer.alloc(0),
    priceVersion: 3,
    holdMicro: 9n,
    createdAtMs: NOW,
    deadlineMs: NOW + JOB_TTL_MS,
    version: 1,
    leaseOwner: '',
    leaseUntilMs: 0,
    status: 'pending',
    phase: 'ready',
    progress: 0,
    dueAtMs: NOW,
    completedAtMs: null,
    expiresAtMs: null,
    details: {
      ...NEW_DETAILS,
      candidates: [
        {
          endpointId: 'a/m',
          providerSlug: 'a',
          providerName: 'A',
          upstreamModel: 'm',
          variant: '720p',
          costMicro: '7',
          buyMicro: '5',
        },
        {
          endpointId: 'b/m',
          providerSlug: 'b',
          providerName: 'B',
          upstreamModel: 'm',
          variant: null,
          costMicro: '9',
          buyMicro: '6',
        },
      ],
      ...details,
    },
    ...over,
  }
}

const after = (before: JobRow, state: JobState): JobRow => ({ ...before, ...state, version: before.version + 1 })

test('the waits between polls: 1 s, half as long again each time, at most 10 s', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 7, 99].map(pollDelayMs),
    [1_000, 1_500, 2_250, 3_375, 5_063, 7_594, 10_000, 10_000, 10_000],
  )
})

test('only the moves of D-4.2: a terminal state never changes', () => {
  const states: readonly JobStatus[] = ['pending', 'in_progress', 'completed', 'failed', 'expired', 'cancelled']
  const allowed = new Set([
    'pending pending',
    'pending in_progress',
    'pending failed',
    'pending expired',
    'pending cancelled',
    'in_progress in_progress',
    'in_progress completed',
    'in_progress failed',
    'in_progress expired',
  ])
  for (const from of states) {
    assert.equal(isLive({ status: from }), from === 'pending' || from === 'in_progress')
    for (const to of states) {
      const move = (): JobState => movedState(row({ status: from }), { status: to })
      if (allowed.has(`${from} ${to}`)) assert.equal(move().status, to)
      else assert.throws(move, /cannot go from/, `${from} ${to}`)
    }
  }
})

test('a submission is counted when it is written down, and a final refusal is kept', () => {
  const first = after(row(), sending(row(), 0, 'print'))
  assert.deepEqual([first.phase, first.details.attempts, first.details.keyPrint], ['sending', 1, 'print'])
  const again = after(first, refused(first, false))
  assert.deepEqual([again.phase, again.details.refused], ['ready', []])
  const second = after(again, sending(again, 0, null))
  assert.deepEqual(refused(second, true).details.refused, [0])
  const waiting = parked(second)
  assert.deepEqual([waiting.phase, waiting.dueAtMs, waiting.status], ['parked', NOW + JOB_TTL_MS, 'pending'])
})

test('progress only grows, and no look is planned after the deadline', () => {
  const running = after(row(), accepted(row(), { reference: 'r', upstreamId: 'u' }, NOW + 5))
  assert.deepEqual(
    [running.status, running.dueAtMs, running.details.acceptedAtMs],
    ['in_progress', NOW + 1_005, NOW + 5],
  )
  const half = after(running, polled(running, 50, NOW + 2_000))
  assert.equal(polled(half, 20, NOW + 4_000).progress, 50)
  assert.equal(polled(half, null, NOW + 4_000).progress, 50)
  assert.equal(polled(half, 60, NOW + JOB_TTL_MS - 10).dueAtMs, NOW + JOB_TTL_MS)
  assert.equal(missed(half, 30, NOW + 4_000).dueAtMs, NOW + 34_000)
  assert.deepEqual(
    [missed(half, null, NOW).details.misses, polled(after(half, missed(half, null, NOW)), 1, NOW).details.misses],
    [1, 0],
  )
})

test('a completed job is charged what its provider costs, and kept for 72 hours', () => {
  const running = row({ status: 'in_progress', phase: 'accepted' }, { current: 1, attempts: 2, acceptedAtMs: NOW + 10 })
  const end = completed(running, 1, NOW + 9_000)
  assert.deepEqual(
    [end.progress, end.expiresAtMs, end.details.costMicro, end.details.files],
    [100, NOW + 9_000 + VIDEO_KEPT_MS, '9', 1],
  )
  const record = recordOf(running, end, { video_seconds: 4, request: 1 }, NOW + 9_000)
  assert.deepEqual(
    [
      record.providerSlug,
      record.variant,
      record.usage,
      record.status,
      record.durationMs,
      record.latencyMs,
      record.attempts,
      record.priceVersion,
    ],
    ['b', undefined, { video_seconds: 4, request: 1 }, 'completed', 9_000, 10, 2, 3],
  )
  assert.equal(recordOf(row({}, { attempts: 1 }), end, {}, NOW).variant, undefined)
  assert.equal(
    recordOf(row(), completed(row({ status: 'in_progress' }, { attempts: 1 }), 1, NOW), {}, NOW).variant,
    '720p',
  )
})

test('a job that ends otherwise is free, and what its provider may bill for it is ours', () => {
  const why = { error: 'x', errorType: null }
  const end = ended(row(), 'cancelled', why, NOW)
  const record = recordOf(row(), end, {}, NOW)
  assert.deepEqual(
    [record.status, record.usage, record.billingBasis, record.providerSlug],
    ['cancelled', {}, 'free', null],
  )
  assert.equal(insuredMicro(row(), 'cancelled', false), 0n)
  assert.equal(insuredMicro(row({ phase: 'parked' }), 'cancelled', false), 5n)
  assert.equal(insuredMicro(row({ phase: 'accepted', status: 'in_progress' }), 'expired', false), 5n)
  assert.equal(insuredMicro(row({ phase: 'accepted', status: 'in_progress' }), 'failed', false), 0n)
  assert.equal(insuredMicro(row({ phase: 'accepted', status: 'in_progress' }), 'failed', true), 5n)
})

test('a video that is larger than any is final: the job does not fetch it again and again', async () => {
  const part = Buffer.alloc(64 * 1_048_576)
  const { bytes } = await videoBytes({
    mediaType: 'video/mp4',
    bytes: (async function* () {
      for (;;) yield part
    })(),
  })
  const reading = (async () => {
    for await (const _part of bytes);
  })()
  await assert.rejects(
    reading,
    (thrown) => thrown instanceof UnusableVideoError && thrown.errorType === 'provider_error',
  )
})
