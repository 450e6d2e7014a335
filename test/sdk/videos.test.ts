import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import OpenAI from 'openai'
import { gateway } from '../harness/gateway.ts'
import { askedAgain } from '../harness/patience.ts'

const tollgate = await gateway()
const { key } = await tollgate.createAccount()
const router = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1`, retryConfig: { strategy: 'none' } })
const openai = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })

const WISH = {
  model: 'sandbox/video',
  prompt: 'A lake at dawn',
  duration: 4,
  resolution: '720p',
  aspectRatio: '16:9',
} as const

/** As OpenAI's clients name them. */
const FORM = { model: 'sandbox/video' as 'sora-2', prompt: 'A lake at dawn' }
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function ended(id: string): Promise<Awaited<ReturnType<typeof router.videoGeneration.getGeneration>>> {
  return askedAgain(
    () => router.videoGeneration.getGeneration({ jobId: id }),
    ({ status }) => status === 'pending' || status === 'in_progress',
  )
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(stream))
}

test('@openrouter/sdk: create, get, content and the list of models pass its schemas', async () => {
  const created = await router.videoGeneration.generate({ videoGenerationRequest: WISH })
  assert.equal(created.status, 'pending')
  const done = await ended(created.id)
  assert.deepEqual(
    [done.status, done.generationId, done.usage?.cost, done.unsignedUrls?.length],
    ['completed', created.id, 2, 1],
  )
  const content = await router.videoGeneration.getVideoContent({ jobId: created.id })
  assert.equal((await bytesOf(content)).toString('latin1', 4, 12), 'ftypisom')
  const models = await router.videoGeneration.listVideosModels()
  const sandbox = models.data.find(({ id }) => id === 'sandbox/video')
  assert.deepEqual(
    [sandbox?.supportedDurations, sandbox?.pricingSkus?.['per-video-second-1080p']],
    [[4, 8, 12], '0.75'],
  )
})

test('@openrouter/sdk: a failed job has its error as a text', async () => {
  const created = await router.videoGeneration.generate({
    videoGenerationRequest: { ...WISH, prompt: 'sandbox: error=1' },
  })
  const failed = await ended(created.id)
  assert.deepEqual([failed.status, failed.error, failed.usage?.cost], ['failed', 'Provider returned an error', 0])
})

test('openai: videos.create sends a form, with a picture or without', async () => {
  const picture = await OpenAI.toFile(PNG, 'start.png', { type: 'image/png' })
  const created = await openai.videos.create({ ...FORM, seconds: '4', size: '1280x720', input_reference: picture })
  assert.deepEqual([created.status, created.prompt, created.size], ['pending', 'A lake at dawn', '1280x720'])
  await ended(created.id)
  const address = { image_url: `data:image/png;base64,${PNG.toString('base64')}` }
  for (const wish of [FORM, { ...FORM, input_reference: address }]) await ended((await openai.videos.create(wish)).id)
  for (const [file, message] of [
    [await OpenAI.toFile(Buffer.from('no picture'), 'start.png', { type: 'image/png' }), /is no image/],
    [{ image_url: 'ftp://x' }, /input_reference: must be an http or https address/],
  ] as const)
    await assert.rejects(
      openai.videos.create({ ...FORM, input_reference: file }),
      (thrown) => thrown instanceof OpenAI.BadRequestError && message.test(thrown.message),
    )
})

test('openai: videos.list shows the jobs of the account and of no other, page after page, in both orders', async () => {
  const { key } = await tollgate.createAccount()
  const own = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1) ids.push((await own.videos.create(FORM)).id)
  const listed = async (query: { order: 'asc' | 'desc' }): Promise<readonly string[]> =>
    (await Array.fromAsync(own.videos.list({ limit: 2, ...query }))).map(({ id }) => id)
  const [ascending, descending] = [await listed({ order: 'asc' }), await listed({ order: 'desc' })]
  assert.deepEqual(ascending.toSorted(), ids.toSorted())
  assert.deepEqual(descending, ascending.toReversed())
  assert.deepEqual((await own.videos.list()).data.length, 5)
  const foreign = (await openai.videos.list({ limit: 1 })).data[0]?.id ?? ''
  await assert.rejects(own.videos.list({ after: foreign }), OpenAI.NotFoundError)
})

test('openai: videos.retrieve, downloadContent and delete', async () => {
  const { id } = await router.videoGeneration.generate({ videoGenerationRequest: WISH })
  await ended(id)
  const video = await openai.videos.retrieve(id)
  assert.deepEqual(
    [video.id, video.object, video.status, video.progress, video.model, video.prompt, video.size],
    [id, 'video', 'completed', 100, 'sandbox/video', 'A lake at dawn', '1280x720'],
  )
  assert.equal(video.expires_at, (video.completed_at ?? 0) + 259_200)
  const content = await openai.videos.downloadContent(id)
  assert.equal(content.headers.get('content-type'), 'video/mp4')
  assert.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
  assert.deepEqual(await openai.videos.delete(id), { id, object: 'video.deleted', deleted: true })
  await assert.rejects(openai.videos.downloadContent(id), OpenAI.NotFoundError)
  await assert.rejects(openai.videos.retrieve('gen-vid-1'), OpenAI.NotFoundError)
})

test('openai: content that is not there yet is no conflict, which it would repeat by itself', async () => {
  const { id } = await router.videoGeneration.generate({
    videoGenerationRequest: { ...WISH, prompt: 'sandbox: delay_ms=60000' },
  })
  await assert.rejects(openai.videos.downloadContent(id), OpenAI.BadRequestError)
})
