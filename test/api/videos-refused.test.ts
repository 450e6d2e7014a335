import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { tollgate, key, VIDEO, serveSandboxVideos } from './sandbox-videos-world.ts'
import { badRequestTests, refused, type BadRequest } from '../harness/refused.ts'

await serveSandboxVideos()

describe('refusals', () => {
  const REFUSALS: readonly BadRequest[] = [
    ['no model', { model: undefined }, /^Parameter 'model' is required$/, 'missing_model'],
    ['an empty model', { model: '' }, /./, 'missing_model'],
    ['no prompt', { prompt: undefined }, /^Parameter 'prompt' is required$/, 'missing_prompt'],
    ['an empty prompt', { prompt: '' }, /./, 'missing_prompt'],
    ['a null prompt', { prompt: null }, /./, 'missing_prompt'],
    ['a prompt that is no text', { prompt: 5 }, /^prompt: must be a string$/],
    ['a stream', { stream: true }, /^Streaming is not supported by videos$/, 'streaming_not_supported'],
    ['a stream that is no boolean', { stream: 'yes' }, /^stream: /],
    ['a size that is none', { size: 'big' }, /^size: must be width x height/],
    [
      'a size that the model has not',
      { size: '640x480' },
      /^size: must be one of 1280x720, 720x1280, 1920x1080, 1080x1920, got '640x480'$/,
    ],
    ['a duration that the model has not', { duration: 5 }, /^duration: must be one of 4, 8, 12, got 5$/],
    ['half a second', { duration: 4.5 }, /^duration: must be a whole number of seconds from 1 to 60$/],
    ['a duration in quotes', { duration: '8' }, /^duration: /],
    ['more than a minute', { duration: 61 }, /^duration: /],
    ['no seconds', { seconds: 0 }, /^seconds: /],
    ['seconds that are none', { seconds: 'eight' }, /^seconds: /],
    ['two durations', { seconds: '8', duration: 4 }, /^seconds: says 8, and duration says 4/],
    [
      'a resolution that the model has not',
      { resolution: '480p' },
      /^resolution: must be one of 720p, 1080p, got '480p'$/,
    ],
    ['a ratio that the model has not', { aspect_ratio: '1:1' }, /^aspect_ratio: must be one of 16:9, 9:16/],
    ['a ratio that is none', { aspect_ratio: 'wide' }, /^aspect_ratio: /],
    ['a ratio that no size has', { model: 'test/sized', aspect_ratio: '9:16' }, /Allowed sizes: 1280x720, 1920x1080$/],
    [
      'no duration where the model names none',
      { model: 'test/plain' },
      /^duration: is required for model 'test\/plain'/,
    ],
    ['a seed that is no whole number', { seed: 1.5 }, /^seed: /],
    ['audio that is no boolean', { generate_audio: 1 }, /^generate_audio: /],
    [
      'a frame that is no picture',
      { frame_images: [{ image_url: { url: 'ftp://x/y.png' } }] },
      /^frame_images\[0\]\.image_url: /,
    ],
    [
      'a frame of another kind',
      { frame_images: [{ image_url: 'https://x.test/y.png', frame_type: 'middle' }] },
      /^frame_images\[0\]\.frame_type: /,
    ],
    [
      'references that are no list',
      { input_references: 'https://x.test/y.png' },
      /^input_references: must be an array/,
    ],
    [
      'pictures for a model that sees none',
      { model: 'test/text-only', input_references: ['https://x.test/y.png'] },
      /does not support image input\. Supported: text$/,
      'model_not_supported',
    ],
    [
      'a prompt over the maximum',
      { model: 'test/text-only', prompt: 'я'.repeat(21) },
      /^prompt is 21 characters long, the maximum is 20$/,
      'prompt_too_long',
    ],
    ['a model that there is not', { model: 'no/such' }, /^Model 'no\/such' not found or inactive$/, 'model_not_found'],
    [
      'a model of another kind',
      { model: 'sandbox/chat' },
      /^Model 'sandbox\/chat' does not support videos\. Supported: chat\/completions/,
      'model_not_supported',
    ],
    ['a wrong preference', { provider: { order: 'x' } }, /^provider\.order: /],
  ]
  badRequestTests(
    VIDEO,
    REFUSALS,
    (body) => tollgate.post('/v1/videos', key, body),
    () => 0,
  )

  test('a video model cannot chat', async () => {
    const answer = await tollgate.post('/v1/chat/completions', key, {
      model: 'sandbox/video',
      messages: [{ role: 'user', content: 'x' }],
    })
    refused(answer, 400, 'model_not_supported', /Supported: videos$/)
  })

  test('no provider left by the preferences is a 404', async () => {
    const answer = await tollgate.post('/v1/videos', key, { ...VIDEO, provider: { only: ['nobody'] } })
    assert.deepEqual(
      [answer.status, answer.body.error.metadata],
      [404, { error_type: 'no_available_provider', excluded_by: ['only'] }],
    )
  })

  test('no id is missing_job_id, an unknown one job_not_found, by every way to a job', async () => {
    for (const [method, path] of [
      ['GET', '/v1/videos'],
      ['GET', '/v1/videos?id='],
      ['GET', '/v1/videos/content'],
      ['DELETE', '/v1/videos'],
    ] as const) {
      const answer = await tollgate.request(method, path, { key })
      assert.deepEqual(
        [answer.status, answer.body.error.metadata.error_type, answer.body.error.message],
        [400, 'missing_job_id', "Query parameter 'id' is required"],
        path,
      )
    }
    for (const [method, path] of [
      ['GET', '?id=gen-vid-1'],
      ['GET', '/gen-vid-1'],
      ['GET', '/content?id=gen-vid-1'],
      ['GET', '/gen-vid-1/content'],
      ['DELETE', '?id=gen-vid-1'],
      ['DELETE', '/gen-vid-1'],
    ] as const) {
      const answer = await tollgate.request(method, `/v1/videos${path}`, { key })
      assert.deepEqual([answer.status, answer.body.error.metadata.error_type], [404, 'job_not_found'], path)
    }
  })

  test('a body of another type is a 415, and no key a 401', async () => {
    const text = await tollgate.request('POST', '/v1/videos', {
      key,
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    })
    assert.equal(text.status, 415)
    assert.equal((await tollgate.request('POST', '/v1/videos', { body: VIDEO })).status, 401)
    assert.equal((await tollgate.request('GET', '/v1/videos/content?id=x')).status, 401)
  })

  test('402: holds nothing when the balance does not cover the exact price', async () => {
    const poor = await tollgate.createAccount({ balance: 1.99 })
    const answer = await tollgate.post('/v1/videos', poor.key, { ...VIDEO, duration: 4 })
    assert.deepEqual(
      [answer.status, answer.body.error.metadata.required, answer.body.error.metadata.available],
      [402, 2, 1.99],
    )
    assert.doesNotMatch(answer.body.error.message, /max_tokens/)
    assert.deepEqual(await balanceOf(tollgate, poor.key), { balance: 1.99, reserved: 0 })
    const exact = await tollgate.createAccount({ balance: 2 })
    const { id } = await createVideo(tollgate, exact.key, { ...VIDEO, duration: 4 })
    await videoUntil(tollgate, exact.key, id, 'completed')
    assert.deepEqual(await balanceOf(tollgate, exact.key), { balance: 0, reserved: 0 })
  })

  test('429: a key over its spending limit holds nothing', async () => {
    const limited = await tollgate.createAccount({ key: { limit: 3 } })
    const first = await createVideo(tollgate, limited.key, { ...VIDEO, duration: 4 })
    const answer = await tollgate.post('/v1/videos', limited.key, { ...VIDEO, duration: 4 })
    refused(answer, 429, 'limit_exceeded')
    await videoUntil(tollgate, limited.key, first.id, 'completed')
  })
})
