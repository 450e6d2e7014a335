import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import { percentile } from '../test/harness/figures.ts'
import type { ClientName } from './scenarios.ts'

/** The load to generate, as JSON on standard input. */
export interface LoadOrder {
  /** With the path below which the API is, if there is one. */
  readonly origin: string
  /** What each request has besides. */
  readonly headers?: Readonly<Record<string, string>>
  readonly model: string
  readonly ask: 'chat' | 'stream' | 'embeddings' | 'speech'
  /** The client's protocol, for a stream. */
  readonly client: ClientName
  /** The prompt, each of the 2,048 inputs of `embeddings`, or the text of the speech. */
  readonly prompt: string
  /** Steps of an agent, among which the prompt is divided; absent or 0 = it is one message. */
  readonly steps?: number
  /** With `perSecond`, the most clients at the same time. */
  readonly clients: number
  readonly seconds: number
  /** Requests per second, whether answers have come or not; absent = each client waits for its answer. */
  readonly perSecond?: number
  /** Whether an answer of 503 counts as refused; otherwise it counts as wrong. */
  readonly mayRefuse?: boolean
  /** API keys that the requests use in turn. */
  readonly keys: readonly string[]
}

export interface LoadResult {
  readonly requests: number
  readonly wrong: number
  readonly firstWrong: string | null
  /** The number of 503 answers. */
  readonly refused: number
  /** Requests that were not sent, since all clients were waiting for answers. */
  readonly unsent: number
  readonly bytes: number
  readonly elapsedMs: number
  /** CPU time of this process. */
  readonly cpuMicros: number
  /** Latency of the answers that were served, from the first byte that was sent. */
  readonly p50Ms: number
  readonly p99Ms: number
}

/** The last event of a Response repeats its text, and the tools of its request. */
const TAIL_BYTES = 65_536
const INPUTS = 2_048
/** What the end of a complete stream contains, whichever server it passed through. */
const STREAM_ENDS: Readonly<Record<ClientName, RegExp>> = {
  chat: /data: \[DONE\]\n\n$/,
  responses: /"type":"response\.completed".*\}\n\n$/s,
  messages: /"type":"message_stop"\}\n\n$/,
  gemini: /"finishReason":"STOP".*\}\s+$/s,
  cohere: /data: \[DONE\]\n\n$/,
}
/** The size of the speech of bench/upstream.ts. */
const SPEECH_BYTES = 409_600
/** Time between two checks of which requests are due. */
const TICK_MS = 2

interface Answered {
  readonly latencyMs: number
  readonly bytes: number
  readonly isRefused: boolean
  readonly wrong: string | null
}

/** One client: sends the next request as soon as an answer has ended, until the time is over. */
class Client implements Dispatcher.DispatchHandler {
  readonly #pool: Pool
  readonly #optionsOf: () => Dispatcher.DispatchOptions
  readonly #order: LoadOrder
  /** Returns whether to send another request. */
  readonly #report: (answered: Answered) => boolean
  readonly #finished: () => void
  #startedMs = 0
  #status = 0
  #bytes = 0
  #tail: Buffer = Buffer.alloc(0)

  constructor(
    pool: Pool,
    optionsOf: () => Dispatcher.DispatchOptions,
    order: LoadOrder,
    report: (answered: Answered) => boolean,
    finished: () => void,
  ) {
    this.#pool = pool
    this.#optionsOf = optionsOf
    this.#order = order
    this.#report = report
    this.#finished = finished
  }

  ask(): void {
    this.#pool.dispatch(this.#optionsOf(), this)
  }

  onRequestStart(): void {
    this.#startedMs = performance.now()
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
    const isRefused = this.#order.mayRefuse === true && this.#status === 503
    const latencyMs = performance.now() - this.#startedMs
    if (this.#report({ latencyMs, bytes: this.#bytes, isRefused, wrong: isRefused ? null : wrong })) this.ask()
    else this.#finished()
  }
}

function requestOf({ ask, client, model, prompt, steps = 0 }: LoadOrder): {
  readonly path: string
  readonly body: Buffer
} {
  if (ask === 'speech')
    return { path: '/v1/audio/speech', body: Buffer.from(JSON.stringify({ model, input: prompt, voice: 'alloy' })) }
  if (ask === 'embeddings') {
    const input = Array.from({ length: INPUTS }, (_value, index) => `${index} ${prompt}`)
    return { path: '/v1/embeddings', body: Buffer.from(JSON.stringify({ model, input, encoding_format: 'base64' })) }
  }
  const { path, body } = REQUESTS[client](model, prompt)
  const agent = steps === 0 ? {} : agentOf(client, prompt, steps)
  return {
    path,
    body: Buffer.from(JSON.stringify({ ...body, ...agent, ...(ask === 'stream' ? {} : { stream: false }) })),
  }
}

const TOOLS = 20
/** The tool's first lines, about as long as those of coding agents. */
const DESCRIPTION = 'Reads a file and says what stands in it. '.repeat(20)

/** Tools and a conversation as a coding agent sends them. */
function agentOf(client: ClientName, prompt: string, steps: number): object {
  const names = Array.from({ length: TOOLS }, (_value, index) => `tool_${index}`)
  const chars = Math.ceil(prompt.length / steps)
  const texts = Array.from({ length: steps }, (_value, index) => prompt.slice(index * chars, (index + 1) * chars))
  const input = { path: 'src/main.ts', from: 1, to: 200 }
  const property = { type: 'string', description: 'Where it stands, from the root of the project.' }
  const schema = {
    type: 'object',
    properties: { path: property, from: { ...property, type: 'integer' }, to: { ...property, type: 'integer' } },
    required: ['path'],
  }
  if (client === 'messages')
    return {
      tools: names.map((name) => ({ name, description: DESCRIPTION, input_schema: schema })),
      messages: [
        { role: 'user', content: SYSTEM },
        ...texts.flatMap((content, index) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `call_${index}`, name: 'tool_1', input }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `call_${index}`, content }] },
        ]),
      ],
    }
  const call = { name: 'tool_1', arguments: JSON.stringify(input) }
  if (client === 'responses')
    return {
      tools: names.map((name) => ({ type: 'function', name, description: DESCRIPTION, parameters: schema })),
      input: [
        { role: 'user', content: SYSTEM },
        ...texts.flatMap((output, index) => [
          { type: 'function_call', call_id: `call_${index}`, ...call },
          { type: 'function_call_output', call_id: `call_${index}`, output },
        ]),
      ],
    }
  return {
    tools: names.map((name) => ({
      type: 'function',
      function: { name, description: DESCRIPTION, parameters: schema },
    })),
    messages: [
      { role: 'user', content: SYSTEM },
      ...texts.flatMap((content, index) => [
        { role: 'assistant', content: null, tool_calls: [{ id: `call_${index}`, type: 'function', function: call }] },
        { role: 'tool', tool_call_id: `call_${index}`, content },
      ]),
    ],
  }
}

const SYSTEM = 'Answer in one sentence.'
/** A request for a stream in each protocol. */
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
  const { origin, pathname } = new URL(order.origin)
  const pool = new Pool(origin, { connections: order.clients, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const { path: end, body } = requestOf(order)
  const path = pathname === '/' ? end : pathname + end
  const latencies: number[] = []
  let bytes = 0
  let wrong = 0
  let refused = 0
  let firstWrong: string | null = null
  const startedMs = performance.now()
  const untilMs = startedMs + order.seconds * 1_000
  const report = (answered: Answered): boolean => {
    if (answered.isRefused) refused += 1
    else latencies.push(answered.latencyMs)
    bytes += answered.bytes
    if (answered.wrong !== null) {
      wrong += 1
      firstWrong ??= answered.wrong
    }
    return order.perSecond === undefined && performance.now() < untilMs && wrong < 100
  }
  const headersOf = order.keys.map((key) => ({
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    ...order.headers,
  }))
  let asked = 0
  const optionsOf = (): Dispatcher.DispatchOptions => {
    asked += 1
    return { path, method: 'POST', body, headers: headersOf[asked % headersOf.length] ?? {} }
  }
  const client = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    new Client(pool, optionsOf, order, report, resolve).ask()
    return promise
  }
  const unsent = order.perSecond === undefined ? 0 : await offer(order.perSecond, order.clients, untilMs, client)
  if (order.perSecond === undefined) await Promise.all(Array.from({ length: order.clients }, client))
  const elapsedMs = performance.now() - startedMs
  await pool.close()
  const { user, system } = process.cpuUsage()
  const cpuMicros = user + system
  const p50Ms = percentile(latencies, 0.5)
  const p99Ms = percentile(latencies, 0.99)
  return { requests: latencies.length, wrong, firstWrong, refused, unsent, bytes, elapsedMs, cpuMicros, p50Ms, p99Ms }
}

/** Sends requests at the given rate until the time is over and all have ended; returns how many were not sent. */
async function offer(perSecond: number, atOnce: number, untilMs: number, client: () => Promise<void>): Promise<number> {
  const running = new Set<Promise<void>>()
  const startedMs = performance.now()
  let due = 0
  let unsent = 0
  for (let nowMs = startedMs; nowMs < untilMs; nowMs = performance.now()) {
    for (; due < ((nowMs - startedMs) * perSecond) / 1_000; due += 1) {
      if (running.size >= atOnce) {
        unsent += 1
        continue
      }
      const one = client().finally(() => running.delete(one))
      running.add(one)
    }
    await delay(TICK_MS)
  }
  await Promise.all(running)
  return unsent
}

// bench/load-process.ts wrote it.
process.stdout.write(`${JSON.stringify(await run(JSON.parse(await text(process.stdin)) as LoadOrder))}\n`)
