import { gateway, type Gateway } from '../harness/gateway.ts'

const CATALOG = `
rate_limit: { requests: 100000, window: 60 }
providers:
  free-form: { adapter: sandbox }
models:
  - id: test/plain
    type: video
    endpoints: [{ provider: free-form, model: video, price: { currency: RUB, request: 2.5 } }]
  - id: test/text-only
    type: video
    max_prompt_length: 20
    supported_durations: [6, 10]
    supported_sizes: [1280x720]
    endpoints: [{ provider: free-form, model: video, price: { currency: RUB, video_second: 0.1234567 } }]
  - id: test/sized
    type: video
    supported_durations: [5]
    supported_sizes: [1280x720, 1920x1080]
    endpoints: [{ provider: free-form, model: video, price: { currency: RUB, video_second: { 1280x720: 0.4, 1920x1080: 0.6 } } }]
`

export let tollgate: Gateway
export let key: string
export let accountId: string

export const VIDEO = { model: 'sandbox/video', prompt: 'A lake at dawn' }

/** A server with the sandbox's videos, for the tests of the file that calls it. */
export async function serveSandboxVideos(): Promise<void> {
  tollgate = await gateway({ catalog: CATALOG })
  const account = await tollgate.createAccount({ balance: 10_000 })
  key = account.key
  accountId = account.id
}
