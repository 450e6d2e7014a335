import assert from 'node:assert/strict'
import { beforeEach } from 'node:test'
import { gateway, type Gateway } from '../harness/gateway.ts'
import { startVideoProvider, type VideoProvider, type VideoProviderRequest } from '../harness/video-provider.ts'

export let first: VideoProvider
export let second: VideoProvider
export let tollgate: Gateway
export let key: string

function model(name: string, provider: string, upstream: string): string {
  return `  - { id: test/${name}, type: video, input_modalities: [text, image], supported_durations: [4, 8], supported_sizes: [1280x720, 720x1280], endpoints: [{ provider: ${provider}, model: ${upstream}, price: { currency: RUB, video_second: 1 }, supported_parameters: [size, duration, resolution, aspect_ratio, frame_images, input_references, generate_audio, seed, user] }] }`
}

export function lastSubmission(provider: VideoProvider): VideoProviderRequest {
  const found = provider.submissions.at(-1)
  assert.ok(found)
  return found
}

/** A server for the tests of the file that calls it, with two providers of videos. */
export async function serveVideos(): Promise<void> {
  first = await startVideoProvider()
  second = await startVideoProvider()
  tollgate = await gateway({
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
  - { id: test/nodur, type: video, supported_durations: [4, 8], endpoints: [{ provider: openai-like, model: sora, supported_parameters: [size], price: { currency: RUB, video_second: 1 } }] }
  - { id: test/nolist, type: video, endpoints: [{ provider: replicate, model: a/b, supported_parameters: [aspect_ratio], price: { currency: RUB, video_second: 1 } }] }
  - { id: test/nosize, type: video, supported_sizes: [1280x720, 1920x1080], supported_durations: [4, 8], endpoints: [{ provider: openai-like, model: sora, supported_parameters: [duration], price: { currency: RUB, video_second: { 1280x720: 1, 1920x1080: 2 } } }] }
  - { id: test/resolutions, type: video, supported_resolutions: [720p, 1080p], supported_durations: [4], endpoints: [{ provider: openai-like, model: sora, price: { currency: RUB, video_second: { 720p: 1, 1080p: 2 } } }, { provider: router, model: sora, price: { currency: RUB, video_second: { 720p: 3, 1080p: 4 } } }] }
`,
  })
  key = (await tollgate.createAccount({ balance: 10_000 })).key

  beforeEach(() => {
    first.script(null)
    second.script(null)
  })
}
