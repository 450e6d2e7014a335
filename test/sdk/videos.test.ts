import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import OpenAI from 'openai'
import { startInProcess, type InProcessServer } from '../harness/in-process.ts'
import { assertAuditClean } from '../harness/video-jobs.ts'
import { askedAgain } from '../harness/patience.ts'

let tollgate: InProcessServer
let router: OpenRouter
let openai: OpenAI

before(async () => {
  tollgate = await startInProcess()
  const { key } = await tollgate.createAccount()
  router = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1`, retryConfig: { strategy: 'none' } })
  openai = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })
})

after(async () => {
  await assertAuditClean(tollgate)
  await tollgate.stop()
})

const WISH = {
  model: 'sandbox/video',
  prompt: 'A lake at dawn',
  duration: 4,
  resolution: '720p',
  aspectRatio: '16:9',
} as const

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
