import { text } from 'node:stream/consumers'
import { Pool, type Dispatcher } from 'undici'
import type { ClientName } from './scenarios.ts'

/** The order for the load generator, as JSON on its input. */
export interface LoadOrder {
  readonly origin: string
  readonly model: string
  readonly ask: 'chat' | 'stream' | 'embeddings' | 'speech'
  /** Whose protocol a stream is asked for in. */
  readonly client: ClientName
  /** Text of the prompt, of each of the 2,048 inputs of `embeddings`, or of the speech. */
  readonly prompt: string
  readonly clients: number
  readonly seconds: number
  /** Requests use them in turn. */
  readonly keys: readonly string[]
}

export interface LoadResult {
  readonly requests: number
  readonly wrong: number
  readonly firstWrong: string | null
  readonly bytes: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** A Response ends with all of its text. */
const TAIL_BYTES = 8_192
const INPUTS = 2_048
/** What the end of a whole stream holds, seen through any of the servers. */
const STREAM_ENDS: Readonly<Record<ClientName, RegExp>> = {
  chat: /data: \[DONE\]\n\n$/,
  responses: /"type":"response\.completed".*\}\n\n$/s,
  messages: /"type":"message_stop"\}\n\n$/,
  gemini: /"finishReason":"STOP".*\}\s+$/s,
  cohere: /data: \[DONE\]\n\n$/,
}
/** What bench/upstream.ts speaks. */
const SPEECH_BYTES = 409_600

/** One client: asks again as soon as an answer has ended, until the time is over. */
class Client implements Dispatcher.DispatchHandler {
  readonly #pool: Pool
  readonly #optionsOf: () => Dispatcher.DispatchOptions
  readonly #order: LoadOrder
  readonly #report: (latencyMs: number, bytes: number, wrong: string | null) => boolean
  readonly #finished: () => void
  #startedMs = 0
  #status = 0
  #bytes = 0
  #tail: Buffer = Buffer.alloc(0)

  constructor(
    pool: Pool,
    optionsOf: () => Dispatcher.DispatchOptions,
    order: LoadOrder,
    report: (latencyMs: number, bytes: number, wrong: string | null) => boolean,
    finished: () => void,
  ) {
    this.#pool = pool
    this.#optionsOf = optionsOf
    this.#order = order
    this.#report = report
    this.#finished = finished
  }

  ask(): void {
    this.#startedMs = performance.now()
    this.#pool.dispatch(this.#optionsOf(), this)
  }

  onRequestStart(): void {
    this.#bytes = 0
    this.#tail = Buffer.alloc(0)
  }

  onResponseStart(_controller: unknown, status: number): void {
    this.#status = status
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length
    // A chunk shorter than the end mark may contain a part of it.
    this.#tail = chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([this.#tail.subarray(-TAIL_BYTES), chunk])
  }

  onResponseEnd(): void {
    const end = this.#tail.toString('latin1', Math.max(0, this.#tail.length - TAIL_BYTES))
    const { ask, client } = this.#order
    const whole =
      ask === 'speech'
        ? this.#bytes === SPEECH_BYTES
        : ask === 'stream'
          ? STREAM_ENDS[client].test(end)
          : end.endsWith('}')
    this.#next(this.#status === 200 && whole ? null : `${this.#status} …${end.slice(-200)}`)
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#next(error.message)
  }

  #next(wrong: string | null): void {
    if (this.#report(performance.now() - this.#startedMs, this.#bytes, wrong)) this.ask()
    else this.#finished()
  }
}

function requestOf({ ask, client, model, prompt }: LoadOrder): { readonly path: string; readonly body: Buffer } {
  if (ask === 'speech')
    return { path: '/v1/audio/speech', body: Buffer.from(JSON.stringify({ model, input: prompt, voice: 'alloy' })) }
  if (ask === 'embeddings') {
    const input = Array.from({ length: INPUTS }, (_value, index) => `${index} ${prompt}`)
    return { path: '/v1/embeddings', body: Buffer.from(JSON.stringify({ model, input, encoding_format: 'base64' })) }
  }
  const { path, body } = REQUESTS[client](model, prompt)
  return { path, body: Buffer.from(JSON.stringify({ ...body, ...(ask === 'stream' ? {} : { stream: false }) })) }
}

const SYSTEM = 'Answer in one sentence.'
/** A question in each protocol, for a stream. */
const REQUESTS: Readonly<
  Record<ClientName, (model: string, prompt: string) => { readonly path: string; readonly body: object }>
> = {
  chat: (model, content) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      stream: true,
      max_tokens: 256,
      messages: [
        { role: 'system', content: SYSTEM },
        { role: 'user', content },
      ],
    },
  }),
  responses: (model, input) => ({
    path: '/v1/responses',
    body: { model, stream: true, max_output_tokens: 256, instructions: SYSTEM, store: false, input },
  }),
  messages: (model, content) => ({
    path: '/v1/messages',
    body: { model, stream: true, max_tokens: 256, system: SYSTEM, messages: [{ role: 'user', content }] },
  }),
  gemini: (model, text) => ({
    path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: {
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: { maxOutputTokens: 256 },
    },
  }),
  cohere: (model, content) => ({
    path: '/v2/chat',
    body: {
      model,
      stream: true,
      max_tokens: 256,
      messages: [
        { role: 'system', content: SYSTEM },
        { role: 'user', content },
      ],
    },
  }),
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const pool = new Pool(order.origin, { connections: order.clients, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const { path, body } = requestOf(order)
  const latencies: number[] = []
  let bytes = 0
  let wrong = 0
  let firstWrong: string | null = null
  const startedMs = performance.now()
  const untilMs = startedMs + order.seconds * 1_000
  const report = (latencyMs: number, size: number, what: string | null): boolean => {
    latencies.push(latencyMs)
    bytes += size
    if (what !== null) {
      wrong += 1
      firstWrong ??= what
    }
    return performance.now() < untilMs && wrong < 100
  }
  const headersOf = order.keys.map((key) => ({ 'content-type': 'application/json', authorization: `Bearer ${key}` }))
  let asked = 0
  const optionsOf = (): Dispatcher.DispatchOptions => {
    asked += 1
    return { path, method: 'POST', body, headers: headersOf[asked % headersOf.length] ?? {} }
  }
  await Promise.all(
    Array.from({ length: order.clients }, () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      new Client(pool, optionsOf, order, report, resolve).ask()
      return promise
    }),
  )
  const elapsedMs = performance.now() - startedMs
  await pool.close()
  latencies.sort((left, right) => left - right)
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return { requests: latencies.length, wrong, firstWrong, bytes, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) }
}

// Written by bench/run.ts.
process.stdout.write(`${JSON.stringify(await run(JSON.parse(await text(process.stdin)) as LoadOrder))}\n`)
