import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { audioForm } from '../harness/audio-files.ts'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { tollgate, key, accountId, VIDEO, serveSandboxVideos } from './sandbox-videos-world.ts'
import { refused } from '../harness/refused.ts'
import { auditClean } from '../harness/api-client.ts'

await serveSandboxVideos()

test('202, then the record of each state, the exact hold, and one charge and one log row at the end', async () => {
  const account = await tollgate.createAccount({ balance: 100 })
  const created = await tollgate.request('POST', '/v1/videos', {
    key: account.key,
    body: { ...VIDEO, prompt: 'A lake\nsandbox: delay_ms=1500', duration: 8, size: '1920x1080', user: 'ann' },
    headers: { 'x-request-id': 'my-video', 'x-title': 'Films' },
  })
  assert.equal(created.status, 202)
  const { id } = created.body
  assert.match(id, /^gen-vid-\d+-[A-Za-z0-9]{20}$/)
  assert.equal(created.headers['x-generation-id'], id)
  assert.deepEqual(created.body, {
    id,
    job_id: id,
    object: 'video',
    status: 'pending',
    polling_url: `/v1/videos?id=${id}`,
    model: 'sandbox/video',
    prompt: 'A lake\nsandbox: delay_ms=1500',
    size: '1920x1080',
    duration: 8,
    progress: 0,
    created_at: created.body.created_at,
    completed_at: null,
    expires_at: null,
    usage: { estimated_cost: 6, currency: 'RUB' },
  })
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 100, reserved: 6 })
  const running = await videoUntil(tollgate, account.key, id, 'in_progress')
  assert.equal('error' in running, false)
  assert.deepEqual((await tollgate.get('/v1/generation', account.key)).body.logs, [], 'no log row before the end')
  const done = await videoUntil(tollgate, account.key, id, 'completed')
  assert.deepEqual(done, {
    ...created.body,
    status: 'completed',
    progress: 100,
    completed_at: done.completed_at,
    expires_at: done.completed_at + 259_200,
    generation_id: id,
    unsigned_urls: [`${tollgate.url}/v1/videos/content?id=${id}`],
    usage: { cost: 6, currency: 'RUB', is_byok: false },
  })
  assert.deepEqual((await tollgate.get(`/v1/videos/${id}`, account.key)).body, done)
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 94, reserved: 0 })
  const { logs, total } = (await tollgate.get('/v1/generation?request_id=my-video', account.key)).body
  assert.equal(total, 1)
  assert.deepEqual(
    [
      logs[0].generation_id,
      logs[0].type,
      logs[0].status,
      logs[0].total_cost,
      logs[0].input_tokens,
      logs[0].output_tokens,
      logs[0].provider_name,
      logs[0].app_title,
      logs[0].end_user,
      logs[0].billing_basis,
    ],
    [id, 'video', 'completed', 6, 0, 0, 'Sandbox', 'Films', 'ann', 'provider_usage'],
  )
  const form = audioForm({ ...VIDEO, prompt: 'A lake', seconds: '4', user: 'bob' }, null)
  const sent = await tollgate.request('POST', '/v1/videos', { key: account.key, ...form })
  assert.equal(sent.status, 202, sent.text)
  await videoUntil(tollgate, account.key, sent.body.id, 'completed')
  assert.equal((await tollgate.get('/v1/generation?end_user=bob', account.key)).body.total, 1, 'a form names one too')
})

test('prices: by the second, by the resolution and by the request, each exact', async () => {
  const cases = [
    [{ model: 'test/plain', duration: 7 }, 2.5],
    [{ model: 'test/text-only', duration: 10 }, 1.234567],
    [{ model: 'test/text-only' }, 0.740741],
    [{ model: 'test/sized' }, 2],
    [{ model: 'test/sized', size: '1920x1080' }, 3],
    [{ model: 'test/sized', resolution: '1080p' }, 3],
    [{ model: 'sandbox/video', duration: 4, resolution: '1080p', aspect_ratio: '9:16' }, 3],
  ] as const
  for (const [body, cost] of cases) {
    const job = await createVideo(tollgate, key, { prompt: 'x', ...body })
    assert.deepEqual(job['usage'], { estimated_cost: cost, currency: 'RUB' }, JSON.stringify(body))
    assert.equal((await videoUntil(tollgate, key, job.id, 'completed')).usage.cost, cost)
  }
  await auditClean(tollgate)
})

test('what the request leaves open is the model’s first; seconds is a name of duration, auto no size, null nothing', async () => {
  for (const body of [
    {},
    { seconds: '4' },
    { seconds: 4, size: 'auto' },
    { duration: 4, seconds: '4', size: null, stream: false, callback_url: 'https://x.test', unknown: { a: 1 } },
  ]) {
    const { size, duration } = await createVideo(tollgate, key, { ...VIDEO, ...body })
    assert.deepEqual([size, duration], ['1280x720', 4], JSON.stringify(body))
  }
  const tall = await createVideo(tollgate, key, { ...VIDEO, aspect_ratio: '9:16' })
  assert.equal(tall['size'], '720x1280')
})

test('content: the whole file, ranges, HEAD, the wrong range and the wrong index', async () => {
  const { id } = await createVideo(tollgate, key, { ...VIDEO, duration: 4 })
  const early = await tollgate.get(`/v1/videos/content?id=${id}`, key)
  refused(early, 400, 'job_not_completed')
  assert.match(early.body.error.message, new RegExp(`^Job '${id}' is (pending|in_progress)$`))
  await videoUntil(tollgate, key, id, 'completed')
  const get = async (path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') => {
    const answer = await request(`${tollgate.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) }
  }
  const whole = await get(`/v1/videos/content?id=${id}`)
  assert.equal(whole.status, 200)
  assert.equal(whole.bytes.toString('latin1', 4, 12), 'ftypisom')
  assert.deepEqual(
    [
      whole.headers['content-type'],
      whole.headers['content-length'],
      whole.headers['content-disposition'],
      whole.headers['accept-ranges'],
    ],
    ['video/mp4', String(whole.bytes.length), `attachment; filename="${id}.mp4"`, 'bytes'],
  )
  for (const path of [
    `/v1/videos/${id}/content`,
    `/v1/videos/content?id=${id}&index=0`,
    `/v1/videos/${id}/content?index=0`,
  ])
    assert.ok((await get(path)).bytes.equals(whole.bytes), path)
  const total = whole.bytes.length
  for (const [range, start, end] of [
    ['bytes=0-9', 0, 9],
    ['bytes=100-', 100, total - 1],
    ['bytes=-5', total - 5, total - 1],
    [`bytes=10-${total + 99}`, 10, total - 1],
  ] as const) {
    const part = await get(`/v1/videos/content?id=${id}`, { range })
    assert.deepEqual(
      [part.status, part.headers['content-range'], part.headers['content-length']],
      [206, `bytes ${start}-${end}/${total}`, String(end - start + 1)],
      range,
    )
    assert.ok(part.bytes.equals(whole.bytes.subarray(start, end + 1)), range)
  }
  for (const range of [`bytes=${total}-`, 'bytes=9-3', 'bytes=a-b', 'bytes=0-1,4-5']) {
    const bad = await tollgate.request('GET', `/v1/videos/content?id=${id}`, { key, headers: { range } })
    assert.deepEqual(
      [bad.status, bad.body.error.metadata.error_type, bad.headers['content-range']],
      [416, 'invalid_range', `bytes */${total}`],
      range,
    )
  }
  const head = await get(`/v1/videos/${id}/content`, {}, 'HEAD')
  assert.deepEqual([head.status, head.headers['content-length'], head.bytes.length], [200, String(total), 0])
  for (const index of ['1', '-1', 'x']) {
    const bad = await tollgate.get(`/v1/videos/content?id=${id}&index=${index}`, key)
    assert.deepEqual([bad.status, bad.body.error.metadata.error_type], [400, 'invalid_input'], index)
  }
})

test('the sandbox’s video is the same for the same prompt, another for another, and as long as asked', async () => {
  const bytesOf = async (body: Record<string, unknown>): Promise<string> => {
    const { id } = await createVideo(tollgate, key, { ...VIDEO, ...body })
    await videoUntil(tollgate, key, id, 'completed')
    const answer = await request(`${tollgate.url}/v1/videos/${id}/content`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return Buffer.from(await answer.body.arrayBuffer()).toString('base64')
  }
  const [first, again, other, longer] = await Promise.all([
    bytesOf({}),
    bytesOf({}),
    bytesOf({ prompt: 'A forest' }),
    bytesOf({ duration: 12 }),
  ])
  assert.equal(first, again)
  assert.notEqual(first, other)
  assert.notEqual(first, longer)
})

test('another account’s job is as unknown as one that never was', async () => {
  const { id } = await createVideo(tollgate, key, VIDEO)
  const stranger = await tollgate.createAccount()
  for (const [method, path] of [
    ['GET', `?id=${id}`],
    ['GET', `/${id}`],
    ['GET', `/${id}/content`],
    ['GET', `/content?id=${id}`],
    ['DELETE', `/${id}`],
    ['DELETE', `?id=${id}`],
  ] as const) {
    const answer = await tollgate.request(method, `/v1/videos${path}`, { key: stranger.key })
    assert.deepEqual(
      [answer.status, answer.body.error.metadata.error_type],
      [404, 'job_not_found'],
      `${method} ${path}`,
    )
  }
  assert.deepEqual((await tollgate.get('/v1/videos/history', stranger.key)).body, {
    object: 'list',
    data: [],
    total: 0,
    has_more: false,
  })
  await videoUntil(tollgate, key, id, 'completed')
})

test('DELETE of a finished job removes its file and keeps its record; of a running one it is refused', async () => {
  const account = await tollgate.createAccount()
  const { id } = await createVideo(tollgate, account.key, VIDEO)
  await videoUntil(tollgate, account.key, id, 'completed')
  for (let times = 0; times < 2; times += 1) {
    const answer = await tollgate.request('DELETE', `/v1/videos/${id}`, { key: account.key })
    assert.deepEqual([answer.status, answer.body], [200, { id, object: 'video.deleted', deleted: true }])
  }
  const gone = await tollgate.get(`/v1/videos/${id}/content`, account.key)
  refused(gone, 404, 'job_not_found')
  const { body: record } = await tollgate.get(`/v1/videos/${id}`, account.key)
  assert.deepEqual([record.status, record.unsigned_urls, record.usage.cost], ['completed', undefined, 2])
  const running = await createVideo(tollgate, account.key, { ...VIDEO, prompt: 'sandbox: delay_ms=60000' })
  await videoUntil(tollgate, account.key, running.id, 'in_progress')
  const answer = await tollgate.request('DELETE', `/v1/videos?id=${running.id}`, { key: account.key })
  refused(answer, 400, 'invalid_input', /already running/)
})

test('failures: refused at the submission, failed on the way, empty; each is free, with one log row', async () => {
  const account = await tollgate.createAccount({ balance: 50 })
  const cases = [
    ['sandbox: status=400', 'invalid_input', /^The sandbox was asked to fail with 400$/],
    ['sandbox: status=500', 'provider_error', /^Provider returned an error$/],
    ['sandbox: status=503', 'provider_unavailable', /busy or unavailable/],
    ['sandbox: error=1', 'provider_error', /^Provider returned an error$/],
    ['sandbox: words=0', 'empty_response', /^Empty response from provider$/],
  ] as const
  for (const [prompt, errorType, message] of cases) {
    const { id } = await createVideo(tollgate, account.key, { ...VIDEO, prompt })
    const failed = await videoUntil(tollgate, account.key, id, 'failed')
    assert.equal(failed.error_type, errorType, prompt)
    assert.match(failed.error, message)
    assert.deepEqual(failed.usage, { cost: 0, currency: 'RUB', is_byok: false })
    assert.equal(failed.expires_at, null)
    const content = await tollgate.get(`/v1/videos/content?id=${id}`, account.key)
    refused(content, 400, 'job_not_completed')
  }
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 50, reserved: 0 })
  const { logs, total } = (await tollgate.get('/v1/generation?limit=50&type=video', account.key)).body
  assert.equal(total, cases.length)
  assert.ok(logs.every((row: Record<string, unknown>) => row['status'] === 'error' && row['total_cost'] === 0))
  await auditClean(tollgate)
})

test('history: only completed jobs, newest first, in pages', async () => {
  const account = await tollgate.createAccount({ balance: 50 })
  const ids: string[] = []
  for (let index = 0; index < 3; index += 1) {
    const { id } = await createVideo(tollgate, account.key, { ...VIDEO, prompt: `number ${index}` })
    await videoUntil(tollgate, account.key, id, 'completed')
    ids.unshift(id)
  }
  const failed = await createVideo(tollgate, account.key, { ...VIDEO, prompt: 'sandbox: error=1' })
  await videoUntil(tollgate, account.key, failed.id, 'failed')
  const page = async (query: string) => (await tollgate.get(`/v1/videos/history${query}`, account.key)).body
  const all = await page('')
  assert.deepEqual(
    [all.object, all.total, all.has_more, all.data.map(({ id }: { id: string }) => id)],
    ['list', 3, false, ids],
  )
  assert.deepEqual(
    [
      (await page('?limit=2')).has_more,
      (await page('?limit=2&offset=2')).data.length,
      (await page('?limit=999')).data.length,
    ],
    [true, 1, 3],
  )
  for (const query of ['?limit=0', '?limit=x', '?offset=-1']) {
    const bad = await tollgate.get(`/v1/videos/history${query}`, account.key)
    assert.deepEqual([bad.status, bad.body.error.metadata.error_type], [400, 'invalid_input'], query)
  }
})

test('the list of video models has their prices by resolution and what they can do', async () => {
  const { data } = (await tollgate.get('/v1/videos/models', key)).body
  const record = (id: string): Record<string, unknown> =>
    data.find((model: Record<string, unknown>) => model['id'] === id)
  assert.deepEqual(record('sandbox/video')['pricing_skus'], {
    'per-video-second': '0.5',
    'per-video-second-1080p': '0.75',
  })
  assert.deepEqual(record('test/sized')['pricing_skus'], { 'per-video-second': '0.4', 'per-video-second-1080p': '0.6' })
  assert.deepEqual(record('test/plain')['pricing_skus'], { 'per-request': '2.5' })
  assert.deepEqual((record('test/sized')['pricing'] as Record<string, unknown>)['video_second'], '0.4')
  assert.deepEqual(
    [
      record('test/sized')['supported_sizes'],
      record('test/sized')['supported_durations'],
      record('test/plain')['supported_sizes'],
    ],
    [['1280x720', '1920x1080'], [5], null],
  )
  assert.deepEqual(record('sandbox/video')['supported_endpoints'], ['videos'])
  const health = (await tollgate.request('GET', '/v1/health')).body
  for (const name of [
    'videos',
    'videos/history',
    'videos/content',
    'videos/{id}',
    'videos/{id}/content',
    'videos/models',
  ])
    assert.ok(health.endpoints.includes(name), name)
})

test('no prompt lies readable in the store', async () => {
  const canary = `canary-${Math.trunc(performance.now() * 1e6)}`
  const { id } = await createVideo(tollgate, key, { ...VIDEO, prompt: canary })
  await videoUntil(tollgate, key, id, 'completed')
  const { readdirSync, readFileSync } = await import('node:fs')
  const { join } = await import('node:path')
  for (const name of readdirSync(tollgate.dataDir)) {
    if (/\.(db|db-wal)$/.test(name))
      assert.equal(readFileSync(join(tollgate.dataDir, name)).includes(canary), false, name)
  }
  assert.equal(
    tollgate.logs().some((line) => line.includes(canary)),
    false,
  )
})

test('the account’s ledger has one charge a video', async () => {
  const { body } = await tollgate.admin('GET', `/admin/v1/accounts/${accountId}/ledger?limit=1000`)
  const charges = body.data.filter((entry: Record<string, unknown>) => entry['kind'] === 'charge')
  const { total } = (await tollgate.get('/v1/videos/history?limit=300', key)).body
  assert.equal(charges.length, total)
  assert.equal(new Set(charges.map((entry: Record<string, unknown>) => entry['reference'])).size, total)
})
