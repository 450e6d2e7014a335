import type { ServerResponse } from 'node:http'
import { sandboxMp4 } from '../../src/protocols/videos/sandbox.ts'
import { listen, sendJson, type Received } from './scripted-upstream.ts'

export interface VideoProviderRequest {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers: Received['headers']
  /** Parsed JSON; null without a body. */
  readonly body: Record<string, unknown> | null
}

/** Answers the request and returns true; if it returns false, the usual answer is given. */
export type VideoScript = (request: VideoProviderRequest, response: ServerResponse) => boolean

export interface VideoProvider {
  /** The part of the URL before an operation's path. */
  readonly url: string
  readonly requests: readonly VideoProviderRequest[]
  /** Requests that create a job. */
  readonly submissions: readonly VideoProviderRequest[]
  readonly polls: readonly VideoProviderRequest[]
  readonly downloads: readonly VideoProviderRequest[]
  readonly video: Buffer
  /** Handles each request before the usual answers; null = none. */
  script(script: VideoScript | null): void
  /** Resolves when a request that `matches` has arrived. */
  arrival(matches: (request: VideoProviderRequest) => boolean): Promise<VideoProviderRequest>
  close(): Promise<void>
}

export function json(response: ServerResponse, status: number, body: unknown): true {
  sendJson(response, body, status)
  return true
}

/** A provider with OpenAI's protocol: a job is queued, then half done, then completed; its content is a small MP4. */
export async function startVideoProvider(): Promise<VideoProvider> {
  const requests: VideoProviderRequest[] = []
  const waiting = new Set<{
    readonly matches: (request: VideoProviderRequest) => boolean
    readonly resolve: (request: VideoProviderRequest) => void
  }>()
  const polled = new Map<string, number>()
  const video = sandboxMp4('1280x720', 4)
  let script: VideoScript | null = null
  let jobs = 0
  const { url, close } = await listen((response, { method, path, headers, json: sent }) => {
    // The server under test wrote it.
    const request = { method, path, headers, body: (sent ?? null) as Record<string, unknown> | null }
    requests.push(request)
    for (const waiter of waiting) {
      if (!waiter.matches(request)) continue
      waiting.delete(waiter)
      waiter.resolve(request)
    }
    if (script?.(request, response) !== true) usual(request, response)
  })
  const usual = (request: VideoProviderRequest, response: ServerResponse): void => {
    if (request.method === 'POST') {
      jobs += 1
      json(response, 200, { id: `video_${jobs}`, object: 'video', status: 'queued', progress: 0 })
      return
    }
    const id = /\/videos\/([^/?]+)/.exec(request.path)?.[1] ?? ''
    if (isDownload(request)) {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': video.length }).end(video)
      return
    }
    const count = (polled.get(id) ?? 0) + 1
    polled.set(id, count)
    json(
      response,
      200,
      count === 1 ? { id, status: 'in_progress', progress: 50 } : { id, status: 'completed', progress: 100 },
    )
  }
  return {
    url,
    close,
    requests,
    get submissions() {
      return requests.filter(({ method }) => method === 'POST')
    },
    get polls() {
      return requests.filter((request) => request.method === 'GET' && !isDownload(request))
    },
    get downloads() {
      return requests.filter(isDownload)
    },
    video,
    script: (next) => {
      script = next
    },
    arrival: (matches) => new Promise((resolve) => waiting.add({ matches, resolve })),
  }
}

export function isDownload({ method, path }: Pick<VideoProviderRequest, 'method' | 'path'>): boolean {
  return method === 'GET' && /\/content(\?|$)|\.mp4$/.test(path)
}
