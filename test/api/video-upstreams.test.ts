import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { isDownload, json } from '../harness/video-provider.ts'
import { createVideo, videoUntil } from '../harness/video-jobs.ts'
import { first, tollgate, key, lastSubmission, serveVideos } from './video-world.ts'
import { refused } from '../harness/refused.ts'
import { askedAgain } from '../harness/patience.ts'

await serveVideos()

const PNG = 'data:image/png;base64,iVBORw0KGgo='

async function contentOf(id: string, index = 0): Promise<Buffer> {
  const answer = await request(`${tollgate.url}/v1/videos/content?id=${id}&index=${index}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  assert.equal(answer.statusCode, 200)
  return Buffer.from(await answer.body.arrayBuffer())
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

test('an endpoint’s supported parameters limit the sent parameters', async () => {
  const { id } = await createVideo(tollgate, key, { model: 'test/narrow', prompt: 'A lake', user: 'me' })
  await videoUntil(tollgate, key, id, 'completed')
  assert.deepEqual(lastSubmission(first).body, { model: 'sora-2', prompt: 'A lake', size: '1280x720' })
})

test('nothing is priced that is not sent: another value than the first is refused, or goes where it can be told', async () => {
  for (const [body, message] of [
    [
      { model: 'test/nodur', duration: 8 },
      /^duration: 8 cannot be sent to any provider of model 'test\/nodur', and the price depends on it\. Allowed: 4$/,
    ],
    [{ model: 'test/nolist', duration: 30 }, /^duration: 30 .* Choose another model$/],
    [{ model: 'test/nosize', size: '1920x1080' }, /^size: 1920x1080 .* Allowed: 1280x720$/],
    [{ model: 'test/nosize', resolution: '1080p' }, /^resolution: .* Allowed: 1280x720$/],
  ] as const) {
    const answer = await tollgate.post('/v1/videos', key, { prompt: 'x', ...body })
    refused(answer, 400, 'invalid_input')
    assert.match(answer.body.error.message, message)
  }
  for (const [body, cost] of [
    [{ model: 'test/nodur', duration: 4 }, 4],
    [{ model: 'test/nosize', duration: 8 }, 8],
    [{ model: 'test/resolutions', resolution: '1080p' }, 16],
  ] as const)
    assert.equal(Object(await createVideo(tollgate, key, { prompt: 'x', ...body }))['usage'].estimated_cost, cost)
  // OpenAI's protocol has no resolutions, so its price of the first is the only one.
  assert.equal(
    Object(
      await createVideo(tollgate, key, {
        model: 'test/resolutions',
        prompt: 'x',
        provider: { only: ['openai-like'] },
      }),
    )['usage'].estimated_cost,
    4,
  )
  const { body } = await tollgate.admin('GET', '/admin/v1/catalog/warnings')
  const told = JSON.stringify(body)
  for (const model of ['test/nodur', 'test/nolist', 'test/nosize'])
    assert.match(told, new RegExp(`price_untold[^}]*${model}`))
  assert.doesNotMatch(told, /price_untold[^}]*test\/(?:openai|narrow|two)/)
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
  await videoUntil(tollgate, key, id, 'in_progress')
  const { body: record } = await askedAgain(
    () => tollgate.get(`/v1/videos/${id}`, key),
    ({ body }) => {
      progress.add(body.progress)
      return body.status === 'in_progress'
    },
    20,
  )
  assert.equal(record.status, 'completed')
  assert.ok(progress.has(42), [...progress].join())
  assert.equal(lastSubmission(first).path, '/v1/models/minimax/video-01/predictions')
  assert.deepEqual(lastSubmission(first).body, {
    input: { prompt: 'A lake', duration: 4, size: '1280x720', image: PNG, seed: 1 },
  })
})
