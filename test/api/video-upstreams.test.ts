import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { until } from '../harness/patience.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import {
  isDownload,
  json,
  startVideoProvider,
  type VideoProvider,
  type VideoProviderRequest,
} from '../harness/video-provider.ts'
import { assertAuditClean, balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgo='

let first: VideoProvider
let second: VideoProvider
let tollgate: Tollgate
let key: string

before(async () => {
  first = await startVideoProvider()
  second = await startVideoProvider()
  tollgate = await startTollgate({
    catalog: `
rate_limit: { requests: 100000, window: 60 }
rates: { USD: 100 }
providers:
  openai-like: { name: Openai Like, adapter: openai, base_url: '${first.url}/v1', api_key: key-one }
  dear: { name: Dear, adapter: openai, base_url: '${second.url}/v1', api_key: key-two }
  pooled: { adapter: openai, base_url: '${first.url}/v1', api_key: [bad-key, good-key] }
  router: { adapter: openai, base_url: '${first.url}/api/v1', api_key: k, dialect: { videos: openrouter } }
  x: { adapter: openai, base_url: '${first.url}/v1', api_key: k, dialect: { videos: xai } }
  google: { adapter: gemini, base_url: '${first.url}/v1beta', api_key: g-key }
  replicate: { adapter: replicate, base_url: '${first.url}/v1', api_key: r-key }
  dead: { adapter: openai, base_url: 'http://127.0.0.1:1/v1', api_key: k }
models:
${model('openai', 'openai-like', 'sora-2')}
${model('router', 'router', 'vendor/film')}
${model('x', 'x', 'grok-imagine-video')}
${model('veo', 'google', 'veo-3.1')}
${model('replicate', 'replicate', 'minimax/video-01')}
${model('pooled', 'pooled', 'sora-2')}
  - id: test/two
    type: video
    input_modalities: [text, image]
    supported_durations: [4]
    endpoints:
      - { provider: openai-like, model: sora-2, price: { currency: RUB, video_second: 1 } }
      - { provider: dear, model: sora-2-dear, price: { currency: USD, video_second: 0.02 } }
  - id: test/dead-first
    type: video
    supported_durations: [4]
    endpoints:
      - { provider: dead, model: m, price: { currency: RUB, video_second: 1 } }
      - { provider: openai-like, model: sora-2, price: { currency: RUB, video_second: 1 } }
  - id: test/narrow
    type: video
    supported_durations: [4]
    supported_sizes: [1280x720]
    endpoints: [{ provider: openai-like, model: sora-2, supported_parameters: [size], price: { currency: RUB, request: 1 } }]
`,
  })
  key = (await tollgate.createAccount({ balance: 10_000 })).key
})

function model(name: string, provider: string, upstream: string): string {
  return `  - { id: test/${name}, type: video, input_modalities: [text, image], supported_durations: [4, 8], supported_sizes: [1280x720, 720x1280], endpoints: [{ provider: ${provider}, model: ${upstream}, price: { currency: RUB, video_second: 1 }, supported_parameters: [size, duration, resolution, aspect_ratio, frame_images, input_references, generate_audio, seed, user] }] }`
}

beforeEach(() => {
  first.script(null)
  second.script(null)
})

after(async () => {
  await assertAuditClean(tollgate)
  await tollgate.stop()
  await Promise.all([first.close(), second.close()])
})

async function contentOf(id: string, index = 0): Promise<Buffer> {
  const answer = await request(`${tollgate.url}/v1/videos/content?id=${id}&index=${index}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  assert.equal(answer.statusCode, 200)
  return Buffer.from(await answer.body.arrayBuffer())
}

function lastSubmission(provider: VideoProvider): VideoProviderRequest {
  const found = provider.submissions.at(-1)
  assert.ok(found)
  return found
}

test('OpenAI: the words of the request, the key on each call, the content from its place', async () => {
  const { id } = await createVideo(tollgate, key, {
    model: 'test/openai',
    prompt: 'A lake',
    duration: 8,
    size: '720x1280',
    seed: 7,
    input_references: [{ type: 'image_url', image_url: { url: PNG } }],
  })
  const done = await videoUntil(tollgate, key, id, 'completed')
  assert.equal(done.usage.cost, 8)
  const sent = lastSubmission(first)
  assert.equal(sent.path, '/v1/videos')
  assert.deepEqual(sent.body, {
    model: 'sora-2',
    prompt: 'A lake',
    seconds: '8',
    size: '720x1280',
    input_reference: { image_url: PNG },
  })
  assert.ok(first.requests.every(({ headers }) => headers.authorization === 'Bearer key-one'))
  assert.match(first.downloads.at(-1)?.path ?? '', /^\/v1\/videos\/video_\d+\/content$/)
  assert.ok((await contentOf(id)).equals(first.video))
})

test('an endpoint’s supported parameters narrow what is sent', async () => {
  const { id } = await createVideo(tollgate, key, { model: 'test/narrow', prompt: 'A lake', user: 'me' })
  await videoUntil(tollgate, key, id, 'completed')
  assert.deepEqual(lastSubmission(first).body, { model: 'sora-2', prompt: 'A lake', size: '1280x720' })
})

test('OpenRouter: its words, its addresses, several videos by their index', async () => {
  first.script((seen, response) => {
    if (seen.method === 'POST')
      return json(response, 202, { id: 'or-1', polling_url: '/api/v1/videos/or-1', status: 'pending' })
    if (isDownload(seen)) return false
    return json(response, 200, {
      id: 'or-1',
      status: 'completed',
      polling_url: 'x',
      unsigned_urls: [
        `${first.url}/api/v1/videos/or-1/content?index=0`,
        `${first.url}/api/v1/videos/or-1/content?index=1`,
      ],
      usage: { cost: 0.5 },
    })
  })
  const frame = { type: 'image_url', image_url: { url: 'https://pictures.test/a.png' }, frame_type: 'last_frame' }
  const { id } = await createVideo(tollgate, key, {
    model: 'test/router',
    prompt: 'A lake',
    duration: 4,
    size: '1280x720',
    generate_audio: true,
    seed: 5,
    frame_images: [frame],
  })
  const done = await videoUntil(tollgate, key, id, 'completed')
  assert.deepEqual(lastSubmission(first).body, {
    model: 'vendor/film',
    prompt: 'A lake',
    duration: 4,
    size: '1280x720',
    frame_images: [frame],
    generate_audio: true,
    seed: 5,
  })
  assert.equal(lastSubmission(first).path, '/api/v1/videos')
  assert.deepEqual(done.unsigned_urls, [
    `${tollgate.url}/v1/videos/content?id=${id}`,
    `${tollgate.url}/v1/videos/content?id=${id}&index=1`,
  ])
  for (const index of [0, 1]) assert.ok((await contentOf(id, index)).equals(first.video))
})

test('xAI: a size is a resolution and a ratio; a video that its moderation hides is content_filtered', async () => {
  let state: Record<string, unknown> = {
    status: 'done',
    progress: 100,
    video: { url: `${first.url}/files/a.mp4`, duration: 4, respect_moderation: true },
  }
  first.script((seen, response) => {
    if (seen.method === 'POST') return json(response, 200, { request_id: 'x-1' })
    return isDownload(seen) ? false : json(response, 200, state)
  })
  const { id } = await createVideo(tollgate, key, {
    model: 'test/x',
    prompt: 'A lake',
    frame_images: [{ image_url: PNG }],
  })
  await videoUntil(tollgate, key, id, 'completed')
  assert.equal(lastSubmission(first).path, '/v1/videos/generations')
  assert.deepEqual(lastSubmission(first).body, {
    model: 'grok-imagine-video',
    prompt: 'A lake',
    duration: 4,
    resolution: '720p',
    aspect_ratio: '16:9',
    image: { url: PNG },
  })
  state = { status: 'done', video: { url: '', respect_moderation: false } }
  const hidden = await createVideo(tollgate, key, { model: 'test/x', prompt: 'A lake' })
  const failed = await videoUntil(tollgate, key, hidden.id, 'failed')
  assert.equal(failed.error_type, 'content_filtered')
})

test('Veo: a long-running operation, its key in Google’s header, the address of its video', async () => {
  let polls = 0
  first.script((seen, response) => {
    if (seen.method === 'POST') return json(response, 200, { name: 'models/veo-3.1/operations/op1' })
    if (isDownload(seen)) return false
    polls += 1
    return json(
      response,
      200,
      polls === 1
        ? { name: 'models/veo-3.1/operations/op1' }
        : {
            name: 'models/veo-3.1/operations/op1',
            done: true,
            response: {
              generateVideoResponse: { generatedSamples: [{ video: { uri: `${first.url}/v1beta/files/a.mp4` } }] },
            },
          },
    )
  })
  const { id } = await createVideo(tollgate, key, {
    model: 'test/veo',
    prompt: 'A lake',
    size: '720x1280',
    duration: 8,
    frame_images: [{ image_url: { url: PNG }, frame_type: 'first_frame' }],
  })
  await videoUntil(tollgate, key, id, 'completed')
  const sent = lastSubmission(first)
  assert.equal(sent.path, '/v1beta/models/veo-3.1:predictLongRunning')
  assert.equal(sent.headers['x-goog-api-key'], 'g-key')
  assert.deepEqual(sent.body, {
    instances: [{ prompt: 'A lake', image: { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' } }],
    parameters: { durationSeconds: 8, resolution: '720p', aspectRatio: '9:16' },
  })
  assert.equal(first.polls.at(-1)?.path, '/v1beta/models/veo-3.1/operations/op1')
  assert.equal(first.downloads.at(-1)?.headers['x-goog-api-key'], 'g-key')
  assert.ok((await contentOf(id)).equals(first.video))
})

test('Veo: what its filter withholds is content_filtered, an error of the operation a provider error, an address instead of bytes is refused before it is sent', async () => {
  let end: Record<string, unknown> = {
    response: {
      generateVideoResponse: {
        raiMediaFilteredCount: 1,
        raiMediaFilteredReasons: ['The prompt could not be submitted: it may violate our policies.'],
      },
    },
  }
  first.script((seen, response) =>
    json(
      response,
      200,
      seen.method === 'POST'
        ? { name: 'models/veo-3.1/operations/op2' }
        : { name: 'models/veo-3.1/operations/op2', done: true, ...end },
    ),
  )
  const filtered = await videoUntil(
    tollgate,
    key,
    (await createVideo(tollgate, key, { model: 'test/veo', prompt: 'x' })).id,
    'failed',
  )
  assert.deepEqual(
    [filtered.error_type, filtered.error],
    ['content_filtered', 'The prompt could not be submitted: it may violate our policies.'],
  )
  end = { error: { code: 13, message: 'internal trouble at https://secret.internal' } }
  const broken = await videoUntil(
    tollgate,
    key,
    (await createVideo(tollgate, key, { model: 'test/veo', prompt: 'x' })).id,
    'failed',
  )
  assert.deepEqual([broken.error_type, broken.error], ['provider_error', 'Provider returned an error'])
  const before = first.requests.length
  const refused = await videoUntil(
    tollgate,
    key,
    (
      await createVideo(tollgate, key, {
        model: 'test/veo',
        prompt: 'x',
        frame_images: [{ image_url: 'https://pictures.test/a.png' }],
      })
    ).id,
    'failed',
  )
  assert.equal(refused.error_type, 'invalid_input')
  assert.match(refused.error, /^frame_images\[0\]: this provider takes images as data URLs/)
  assert.equal(first.requests.length, before)
})

test('Veo on Vertex: the operation is asked for by the model’s own method and brings the bytes', async () => {
  const name = 'projects/p/locations/l/publishers/google/models/veo-3.1/operations/op3'
  first.script((seen, response) => {
    if (seen.path.endsWith(':predictLongRunning')) return json(response, 200, { name })
    return json(response, 200, {
      name,
      done: true,
      response: { videos: [{ bytesBase64Encoded: first.video.toString('base64'), mimeType: 'video/mp4' }] },
    })
  })
  const { id } = await createVideo(tollgate, key, { model: 'test/veo', prompt: 'x' })
  await videoUntil(tollgate, key, id, 'completed')
  const asked = first.requests.at(-1)
  assert.deepEqual(
    [asked?.path, asked?.body],
    ['/v1beta/models/veo-3.1:fetchPredictOperation', { operationName: name }],
  )
  assert.ok((await contentOf(id)).equals(first.video))
})

test('Replicate: a prediction with its progress, and its file', async () => {
  let polls = 0
  first.script((seen, response) => {
    if (seen.method === 'POST') return json(response, 201, { id: 'p1', status: 'starting', urls: {} })
    if (isDownload(seen)) return false
    polls += 1
    return json(
      response,
      200,
      polls === 1
        ? { id: 'p1', status: 'processing', logs: ' 30%|███ |\n 42%|████ |' }
        : { id: 'p1', status: 'succeeded', output: [`${first.url}/pbxt/out.mp4`] },
    )
  })
  const { id } = await createVideo(tollgate, key, {
    model: 'test/replicate',
    prompt: 'A lake',
    duration: 4,
    size: '1280x720',
    seed: 1,
    frame_images: [{ image_url: PNG }],
  })
  const progress = new Set<number>()
  let record = await videoUntil(tollgate, key, id, 'in_progress')
  while (record.status === 'in_progress') {
    progress.add(record.progress)
    record = (await tollgate.request('GET', `/v1/videos/${id}`, { key })).body
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.equal(record.status, 'completed')
  assert.ok(progress.has(42), [...progress].join())
  assert.equal(lastSubmission(first).path, '/v1/models/minimax/video-01/predictions')
  assert.deepEqual(lastSubmission(first).body, {
    input: { prompt: 'A lake', duration: 4, size: '1280x720', image: PNG, seed: 1 },
  })
})

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
  const { logs } = (await tollgate.request('GET', `/v1/generation?generation_id=${created.id}`, { key: account.key }))
    .body
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
    assert.equal((await tollgate.request('GET', `/v1/videos/${id}`, { key: account.key })).body.status, 'pending')
  }
  assert.equal(second.submissions.length, before)
  assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 100, reserved: 24 })
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
      assert.equal((await tollgate.request('GET', `/v1/videos/${id}`, { key })).body.status, 'in_progress')
    }
    assert.equal(second.requests.length, inner)
  },
)
