import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { AccountVideos } from '../../src/pay/videos/account-videos.ts'
import { VIDEO_KEPT_MS } from '../../src/pay/videos/video-job.ts'
import { drive, job, newWorld, PLAIN_CIPHER, runnerOf, VIDEO } from './video-world.ts'
import { freshFolder } from '../harness/lasting.ts'

const directory = freshFolder()
test('a video is kept for 72 hours: then its file is gone, and its record stays in the history without an address', async () => {
  const world = await newWorld(directory)
  const { bench, customer, id } = world
  const runner = runnerOf(world, bench.clock)
  await runner.start()
  await drive(bench.clock, async () => (await job(world)).status === 'completed')
  await runner.stop()
  const { jobs, files } = bench.store
  const videos = new AccountVideos({
    jobs,
    files,
    ledger: bench.ledger,
    upstreams: new Map(),
    clock: bench.clock,
    cipher: PLAIN_CIPHER,
    relay: { admitJob: () => Promise.reject(new Error('no job is made here')) },
    created: () => undefined,
  })
  const { expiresAtMs } = await job(world)
  assert.ok(expiresAtMs !== null)
  const record = (await videos.history({ accountId: customer.accountId }, 10, 0, 'http://gate.test')).data[0]
  assert.deepEqual(record?.['unsigned_urls'], [`http://gate.test/v1/videos/content?id=${id}`])
  assert.equal((await videos.file({ accountId: customer.accountId }, id, 0)).bytes, VIDEO.length)

  bench.clock.advance(VIDEO_KEPT_MS)
  await assert.rejects(videos.file({ accountId: customer.accountId }, id, 0), (thrown: unknown) => {
    assert.ok(thrown instanceof ApiError)
    assert.deepEqual(
      [thrown.errorType, thrown.status, thrown.message],
      ['job_not_found', 404, `The video file of job '${id}' expired at ${new Date(expiresAtMs).toISOString()}`],
    )
    return true
  })
  assert.equal(await files.removeExpired(bench.clock.now()), 1)
  const later = await videos.history({ accountId: customer.accountId }, 10, 0, 'http://gate.test')
  assert.deepEqual(
    [later.total, later.data[0]?.['status'], later.data[0]?.['unsigned_urls'], later.data[0]?.['expires_at']],
    [1, 'completed', undefined, record?.['expires_at']],
  )
  await bench.ledger.stop()
  await bench.store.close()
})
