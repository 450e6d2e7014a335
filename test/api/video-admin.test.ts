import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { until } from '../harness/patience.ts'
import { gateway, type Gateway } from '../harness/gateway.ts'
import { startVideoProvider } from '../harness/video-provider.ts'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { auditClean } from '../harness/api-client.ts'
import { freshFolder } from '../harness/lasting.ts'

let tollgate: Gateway
const dataDir = freshFolder()
const [oldKek, newKek] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]

function start(kek: string): Promise<Gateway> {
  return gateway({
    dataDir,
    env: { TOLLGATE_KEK: kek },
    catalog: `
providers: { film: { adapter: openai, base_url: '${provider.url}/v1' } }
models: [{ id: test/film, type: video, supported_durations: [4], endpoints: [{ provider: film, model: sora, price: { currency: RUB, video_second: 1 } }] }]
`,
  })
}

const provider = await startVideoProvider()
tollgate = await start(oldKek)
const key = (await tollgate.createAccount({ balance: 100 })).key

after(() => tollgate.stop())

async function parkedJob(prompt: string): Promise<string> {
  provider.script((seen, response) => {
    if (seen.method !== 'POST') return false
    response.socket?.resetAndDestroy()
    return true
  })
  const { id } = await createVideo(tollgate, key, { model: 'test/film', prompt })
  await until(20_000, 'the submission is parked', async () => {
    const { body } = await tollgate.admin('GET', '/admin/v1/videos/parked')
    return body.data.some((job: { id: string }) => job.id === id)
  })
  provider.script(null)
  return id
}

test('a parked job is listed for the operator, who ends it by its real outcome', async () => {
  const arrived = await parkedJob('it arrived')
  const lost = await parkedJob('it never did')
  const { body } = await tollgate.admin('GET', '/admin/v1/videos/parked')
  assert.equal(body.total, 2)
  assert.deepEqual([body.data[0].id, body.data[0].provider, body.data[0].held], [arrived, 'film', 4])
  const attached = await tollgate.admin('POST', `/admin/v1/videos/${arrived}/resolve`, { upstream_id: 'video_77' })
  assert.deepEqual([attached.status, attached.body], [200, { id: arrived, status: 'in_progress' }])
  const done = await videoUntil(tollgate, key, arrived, 'completed')
  assert.equal(done.usage.cost, 4)
  assert.ok(provider.polls.every(({ path }) => path === '/v1/videos/video_77'))
  const failed = await tollgate.admin('POST', `/admin/v1/videos/${lost}/resolve`, { upstream_id: null })
  assert.deepEqual(failed.body, { id: lost, status: 'failed' })
  assert.deepEqual(
    [(await videoUntil(tollgate, key, lost, 'failed')).error_type, await balanceOf(tollgate, key)],
    ['provider_timeout', { balance: 96, reserved: 0 }],
  )
  for (const [id, body, status] of [
    [lost, { upstream_id: 'x' }, 409],
    ['gen-vid-1', { upstream_id: 'x' }, 404],
    [lost, {}, 400],
    [lost, { upstream_id: 'x', other: 1 }, 400],
  ] as const) {
    assert.equal(
      (await tollgate.admin('POST', `/admin/v1/videos/${id}/resolve`, body)).status,
      status,
      JSON.stringify(body),
    )
  }
  assert.equal((await tollgate.get('/admin/v1/videos/parked', key)).status, 403)
  const { body: events } = await tollgate.admin('GET', '/admin/v1/events')
  assert.equal(events.data.filter(({ action }: { action: string }) => action === 'video.resolve').length, 2)
  await auditClean(tollgate)
})

test('a submission that may have arrived is parked: pending, not sent again; its owner may cancel it and has the money back', async () => {
  const { balance } = await balanceOf(tollgate, key)
  const id = await parkedJob('nobody knows')
  assert.equal((await tollgate.get(`/v1/videos/${id}`, key)).body.status, 'pending')
  assert.deepEqual(await balanceOf(tollgate, key), { balance, reserved: 4 })
  assert.equal((await tollgate.request('DELETE', `/v1/videos/${id}`, { key: key })).status, 200)
  const cancelled = (await tollgate.get(`/v1/videos/${id}`, key)).body
  assert.deepEqual([cancelled.status, cancelled.error, cancelled.usage.cost], ['cancelled', 'The job was cancelled', 0])
  assert.deepEqual(await balanceOf(tollgate, key), { balance, reserved: 0 })
  const { logs } = (await tollgate.get(`/v1/generation?generation_id=${id}`, key)).body
  assert.deepEqual([logs[0].status, logs[0].total_cost], ['cancelled', 0])
})

test('a rotated KEK encrypts the prompts again: they are read without the old one', async () => {
  const { id } = await createVideo(tollgate, key, { model: 'test/film', prompt: 'written before' })
  await videoUntil(tollgate, key, id, 'completed')
  await tollgate.stop()
  tollgate = await start(`${newKek},${oldKek}`)
  assert.equal((await tollgate.admin('POST', '/admin/v1/kek/rotate')).status, 200)
  await tollgate.stop()
  tollgate = await start(newKek)
  assert.equal((await tollgate.get(`/v1/videos/${id}`, key)).body.prompt, 'written before')
})

test('SIGTERM with a job at its provider: the same job goes on after the restart', async () => {
  let held = true
  provider.script((seen, response) => {
    if (seen.method !== 'GET' || !held) return false
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: 'x', status: 'in_progress' }))
    return true
  })
  const submitted = provider.submissions.length
  const { id } = await createVideo(tollgate, key, { model: 'test/film', prompt: 'over a restart' })
  await videoUntil(tollgate, key, id, 'in_progress')
  await tollgate.stop()
  held = false
  tollgate = await start(newKek)
  await videoUntil(tollgate, key, id, 'completed')
  assert.equal(provider.submissions.length, submitted + 1)
  await auditClean(tollgate)
})
