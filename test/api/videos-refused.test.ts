import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { tollgate, key, VIDEO, serveSandboxVideos } from './sandbox-videos-world.ts'
import { refused } from '../harness/refused.ts'

await serveSandboxVideos()

describe('refusals', () => {
  const REFUSALS: readonly (readonly [string, Record<string, unknown>, string, RegExp])[] = [
    ['no model', { prompt: 'x' }, 'missing_model', /^Parameter 'model' is required$/],
    ['an empty model', { model: '', prompt: 'x' }, 'missing_model', /./],
    ['no prompt', { model: 'sandbox/video' }, 'missing_prompt', /^Parameter 'prompt' is required$/],
    ['an empty prompt', { ...VIDEO, prompt: '' }, 'missing_prompt', /./],
    ['a null prompt', { ...VIDEO, prompt: null }, 'missing_prompt', /./],
    ['a prompt that is no text', { ...VIDEO, prompt: 5 }, 'invalid_input', /^prompt: must be a string$/],
    ['a stream', { ...VIDEO, stream: true }, 'streaming_not_supported', /^Streaming is not supported by videos$/],
    ['a stream that is no boolean', { ...VIDEO, stream: 'yes' }, 'invalid_input', /^stream: /],
    ['a size that is none', { ...VIDEO, size: 'big' }, 'invalid_input', /^size: must be width x height/],
    [
      'a size that the model has not',
      { ...VIDEO, size: '640x480' },
      'invalid_input',
      /^size: must be one of 1280x720, 720x1280, 1920x1080, 1080x1920, got '640x480'$/,
    ],
    [
      'a duration that the model has not',
      { ...VIDEO, duration: 5 },
      'invalid_input',
      /^duration: must be one of 4, 8, 12, got 5$/,
    ],
    [
      'half a second',
      { ...VIDEO, duration: 4.5 },
      'invalid_input',
      /^duration: must be a whole number of seconds from 1 to 60$/,
    ],
    ['a duration in quotes', { ...VIDEO, duration: '8' }, 'invalid_input', /^duration: /],
    ['more than a minute', { ...VIDEO, duration: 61 }, 'invalid_input', /^duration: /],
    ['no seconds', { ...VIDEO, seconds: 0 }, 'invalid_input', /^seconds: /],
    ['seconds that are none', { ...VIDEO, seconds: 'eight' }, 'invalid_input', /^seconds: /],
    [
      'two durations',
      { ...VIDEO, seconds: '8', duration: 4 },
      'invalid_input',
      /^seconds: says 8, and duration says 4/,
    ],
    [
      'a resolution that the model has not',
      { ...VIDEO, resolution: '480p' },
      'invalid_input',
      /^resolution: must be one of 720p, 1080p, got '480p'$/,
    ],
    [
      'a ratio that the model has not',
      { ...VIDEO, aspect_ratio: '1:1' },
      'invalid_input',
      /^aspect_ratio: must be one of 16:9, 9:16/,
    ],
    ['a ratio that is none', { ...VIDEO, aspect_ratio: 'wide' }, 'invalid_input', /^aspect_ratio: /],
    [
      'a ratio that no size has',
      { model: 'test/sized', prompt: 'x', aspect_ratio: '9:16' },
      'invalid_input',
      /Allowed sizes: 1280x720, 1920x1080$/,
    ],
    [
      'no duration where the model names none',
      { model: 'test/plain', prompt: 'x' },
      'invalid_input',
      /^duration: is required for model 'test\/plain'/,
    ],
    ['a seed that is no whole number', { ...VIDEO, seed: 1.5 }, 'invalid_input', /^seed: /],
    ['audio that is no boolean', { ...VIDEO, generate_audio: 1 }, 'invalid_input', /^generate_audio: /],
    [
      'a frame that is no picture',
      { ...VIDEO, frame_images: [{ image_url: { url: 'ftp://x/y.png' } }] },
      'invalid_input',
      /^frame_images\[0\]\.image_url: /,
    ],
    [
      'a frame of another kind',
      { ...VIDEO, frame_images: [{ image_url: 'https://x.test/y.png', frame_type: 'middle' }] },
      'invalid_input',
      /^frame_images\[0\]\.frame_type: /,
    ],
    [
      'references that are no list',
      { ...VIDEO, input_references: 'https://x.test/y.png' },
      'invalid_input',
      /^input_references: must be an array/,
    ],
    [
      'pictures for a model that sees none',
      { model: 'test/text-only', prompt: 'x', input_references: ['https://x.test/y.png'] },
      'model_not_supported',
      /does not support image input\. Supported: text$/,
    ],
    [
      'a prompt over the maximum',
      { model: 'test/text-only', prompt: 'я'.repeat(21) },
      'prompt_too_long',
      /^prompt is 21 characters long, the maximum is 20$/,
    ],
    [
      'a model that there is not',
      { ...VIDEO, model: 'no/such' },
      'model_not_found',
      /^Model 'no\/such' not found or inactive$/,
    ],
    [
      'a model of another kind',
      { ...VIDEO, model: 'sandbox/chat' },
      'model_not_supported',
      /^Model 'sandbox\/chat' does not support videos\. Supported: chat\/completions/,
    ],
    ['a wrong preference', { ...VIDEO, provider: { order: 'x' } }, 'invalid_input', /^provider\.order: /],
  ]
  for (const [what, body, errorType, message] of REFUSALS) {
    test(`${what} is a 400 ${errorType}, and holds nothing`, async () => {
      const answer = await tollgate.post('/v1/videos', key, body)
      assert.equal(answer.status, 400, answer.text)
      assert.equal(answer.body.error.metadata.error_type, errorType, answer.text)
      assert.match(answer.body.error.message, message)
    })
  }

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
