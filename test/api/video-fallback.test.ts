import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../harness/patience.ts'
import { isDownload, json, type VideoProvider } from '../harness/video-provider.ts'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { first, second, tollgate, key, lastSubmission, serveVideos } from './video-world.ts'

await serveVideos()

test('a provider that refuses is followed by the next, at its own price; the log names who served', async () => {
  const account = await tollgate.createAccount({ balance: 100 })
  first.script((seen, response) =>
    seen.method === 'POST' ? json(response, 500, { error: { message: 'trouble' } }) : false,
  )
  const created = await createVideo(tollgate, account.key, {
    model: 'test/two',
    prompt: 'x',
    provider: { sort: 'price' },
  })
  assert.deepEqual(created['usage'], { estimated_cost: 8, currency: 'RUB' }, 'held at the dearest')
  const done = await videoUntil(tollgate, account.key, created.id, 'completed')
  assert.equal(done.usage.cost, 8)
  assert.equal(lastSubmission(second).body?.['model'], 'sora-2-dear')
  const { logs } = (await tollgate.get(`/v1/generation?generation_id=${created.id}`, account.key)).body
  assert.deepEqual([logs[0].provider_name, logs[0].total_cost], ['Dear', 8])
  first.script(null)
  const cheap = await videoUntil(
    tollgate,
    account.key,
    (await createVideo(tollgate, account.key, { model: 'test/two', prompt: 'x', provider: { order: ['openai-like'] } }))
      .id,
    'completed',
  )
  assert.equal(cheap.usage.cost, 4, 'charged by the one that served')
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 88, reserved: 0 })
})

test('a provider that takes no connection is followed by the next: nothing can have arrived', async () => {
  const { id } = await createVideo(tollgate, key, {
    model: 'test/dead-first',
    prompt: 'x',
    provider: { order: ['dead', 'openai-like'] },
  })
  await videoUntil(tollgate, key, id, 'completed')
})

test('a request that the provider calls wrong is not brought to another', async () => {
  const before = second.submissions.length
  first.script((seen, response) =>
    seen.method === 'POST'
      ? json(response, 400, {
          error: { message: 'The prompt is not allowed by our content policy', code: 'content_policy_violation' },
        })
      : false,
  )
  const failed = await videoUntil(
    tollgate,
    key,
    (await createVideo(tollgate, key, { model: 'test/two', prompt: 'x', provider: { order: ['openai-like'] } })).id,
    'failed',
  )
  assert.deepEqual(
    [failed.error_type, failed.error],
    ['content_filtered', 'The prompt is not allowed by our content policy'],
  )
  assert.equal(second.submissions.length, before)
})

test('a key that is refused is followed by the next of its pool, and the job is asked for with the key that it went with', async () => {
  first.script((seen, response) =>
    seen.headers.authorization === 'Bearer bad-key'
      ? json(response, 401, { error: { message: 'Incorrect API key' } })
      : false,
  )
  for (let times = 0; times < 2; times += 1) {
    const { id } = await createVideo(tollgate, key, { model: 'test/pooled', prompt: 'x' })
    await videoUntil(tollgate, key, id, 'completed')
  }
  const looks = first.requests.filter(
    ({ method, headers }) => method === 'GET' && headers.authorization === 'Bearer bad-key',
  )
  assert.deepEqual(looks, [])
})

test('lost answers: a reset, a 504 and an answer without a job park the submission; no other provider is asked', async () => {
  const account = await tollgate.createAccount({ balance: 100 })
  const before = second.submissions.length
  const losses: readonly Parameters<VideoProvider['script']>[0][] = [
    (seen, response) => {
      if (seen.method !== 'POST') return false
      response.socket?.resetAndDestroy()
      return true
    },
    (seen, response) => seen.method === 'POST' && json(response, 504, { error: { message: 'gateway timeout' } }),
    (seen, response) => seen.method === 'POST' && json(response, 200, { object: 'nothing' }),
    (seen, response) => seen.method === 'POST' && json(response, 200, { id: 'v'.repeat(1_000_000), status: 'queued' }),
  ]
  for (const loss of losses) {
    first.script(loss)
    const arrived = first.arrival(({ method }) => method === 'POST')
    const { id } = await createVideo(tollgate, account.key, {
      model: 'test/two',
      prompt: 'x',
      provider: { order: ['openai-like'] },
    })
    await arrived
    await until(20_000, 'it is parked', () =>
      tollgate.logs().some((line) => line.includes(id) && line.includes('parked')),
    )
    assert.equal((await tollgate.get(`/v1/videos/${id}`, account.key)).body.status, 'pending')
  }
  assert.ok(
    tollgate
      .logs()
      .some((line) => line.includes('its id of the job is longer than 400 characters') && line.length < 2_000),
  )
  assert.equal(second.submissions.length, before)
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 100, reserved: 32 })
})

test('polls that fail and a file that breaks off are tried again, and nothing is charged before the whole file is stored', async () => {
  const account = await tollgate.createAccount({ balance: 100 })
  let polls = 0
  let downloads = 0
  first.script((seen, response) => {
    if (seen.method === 'POST') return false
    if (isDownload(seen)) {
      downloads += 1
      if (downloads > 1) return false
      response
        .writeHead(200, { 'content-type': 'video/mp4', 'content-length': first.video.length })
        .write(first.video.subarray(0, 100), () => response.destroy())
      return true
    }
    polls += 1
    if (polls === 1) return json(response, 503, { error: { message: 'busy' } })
    return json(response, 200, { id: 'x', status: 'completed' })
  })
  const { id } = await createVideo(tollgate, account.key, { model: 'test/openai', prompt: 'x' })
  await videoUntil(tollgate, account.key, id, 'in_progress')
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 100, reserved: 4 })
  await videoUntil(tollgate, account.key, id, 'completed')
  assert.equal(downloads, 2)
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 96, reserved: 0 })
})

test('a job that its provider does not know any more fails, and is free', { timeout: 60_000 }, async () => {
  first.script(
    (seen, response) => seen.method === 'GET' && json(response, 404, { error: { message: 'no such video' } }),
  )
  const failed = await videoUntil(
    tollgate,
    key,
    (await createVideo(tollgate, key, { model: 'test/openai', prompt: 'x' })).id,
    'failed',
    40_000,
  )
  assert.deepEqual([failed.error_type, failed.usage.cost], ['provider_error', 0])
})

test(
  'what is no video is never given for one, and an address inside our own network is not asked',
  { timeout: 60_000 },
  async () => {
    const inner = second.requests.length
    const contents: readonly Parameters<VideoProvider['script']>[0][] = [
      (seen, response) => {
        if (!isDownload(seen)) return false
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>sign in</html>')
        return true
      },
      (seen, response) =>
        seen.method === 'GET' &&
        json(response, 200, { id: 'x', status: 'completed', video: { url: `${second.url}/files/inner.mp4` } }),
    ]
    for (const content of contents) {
      first.script(content)
      const { id } = await createVideo(tollgate, key, { model: 'test/openai', prompt: 'x' })
      await videoUntil(tollgate, key, id, 'in_progress')
      await until(15_000, 'the fetch is given up', () =>
        tollgate.logs().some((line) => line.includes(id) && line.includes('could not be fetched')),
      )
      assert.equal((await tollgate.get(`/v1/videos/${id}`, key)).body.status, 'in_progress')
    }
    assert.equal(second.requests.length, inner)
  },
)
