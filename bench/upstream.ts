import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Chunks of content in every stream. */
const CHUNKS = 100
const PACE_MS = 10
const USAGE = { prompt_tokens: 24, completion_tokens: CHUNKS, total_tokens: 24 + CHUNKS }
const ANSWER_TEXT = 'The answer of the fake provider is long enough to look like one. '.repeat(11)

/** Bodies are made once: the upstream is no part of what is measured, so it does as little as it can. */
const PLAIN = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_763_651_164,
    model: 'bench',
    system_fingerprint: 'fp_bench',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: ANSWER_TEXT, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
  }),
)
const EVENTS: readonly Buffer[] = [
  event([{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]),
  ...Array.from({ length: CHUNKS }, (_value, index) =>
    event([{ index: 0, delta: { content: ` word${index}` }, logprobs: null, finish_reason: null }]),
  ),
  event([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]),
  event([], USAGE),
  Buffer.from('data: [DONE]\n\n'),
]

/** A sound of 400 kB in as many pieces as a stream has: half a minute of `mp3`. */
const SOUND = Buffer.alloc(4_096, 0x55)
/** What an official client asks for: base64, of the size of OpenAI's smaller vectors. */
const INPUTS = 2_048
const DIMENSIONS = 1_536
const VECTORS = Buffer.from(
  JSON.stringify({
    object: 'list',
    data: Array.from({ length: INPUTS }, (_value, index) => ({ object: 'embedding', index, embedding: vector(index) })),
    model: 'bench',
    usage: { prompt_tokens: 16 * INPUTS, total_tokens: 16 * INPUTS },
  }),
)

function vector(seed: number): string {
  return Buffer.from(
    Float32Array.from({ length: DIMENSIONS }, (_value, index) => Math.sin(seed * DIMENSIONS + index) / 40).buffer,
  ).toString('base64')
}

/** The same answer in Anthropic's protocol, so that every chunk has to be translated. */
const ANTHROPIC_EVENTS: readonly Buffer[] = [
  anthropicEvent('message_start', {
    message: {
      id: 'msg_bench',
      type: 'message',
      role: 'assistant',
      model: 'bench',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 24, output_tokens: 1 },
    },
  }),
  anthropicEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ...Array.from({ length: CHUNKS }, (_value, index) =>
    anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ` word${index}` } }),
  ),
  anthropicEvent('content_block_stop', { index: 0 }),
  anthropicEvent('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { input_tokens: 24, output_tokens: CHUNKS },
  }),
  anthropicEvent('message_stop', {}),
]

function anthropicEvent(type: string, fields: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
}

function event(choices: readonly unknown[], usage: typeof USAGE | null = null): Buffer {
  return Buffer.from(
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_763_651_164, model: 'bench', system_fingerprint: 'fp_bench', choices, usage })}\n\n`,
  )
}

interface Paced {
  readonly response: ServerResponse
  next: number
}

/** One timer for every paced stream, which sends its next event each tick. */
const paced = new Set<Paced>()
setInterval(() => {
  for (const stream of paced) {
    stream.response.write(EVENTS[stream.next])
    stream.next += 1
    if (stream.next < EVENTS.length) continue
    paced.delete(stream)
    stream.response.end()
  }
}, PACE_MS)

function answer(model: string, path: string, response: ServerResponse): void {
  if (model === 'plain' || model === 'vectors') {
    const body = model === 'plain' ? PLAIN : VECTORS
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    return
  }
  if (model === 'voice') {
    response.writeHead(200, { 'content-type': 'audio/mpeg', 'x-accel-buffering': 'no' })
    for (let chunk = 0; chunk < CHUNKS; chunk += 1) response.write(SOUND)
    response.end()
    return
  }
  // nginx passes a stream on unbuffered when it is told so by this header.
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  if (model === 'paced') {
    paced.add({ response, next: 0 })
    return
  }
  for (const bytes of path.endsWith('/messages') ? ANTHROPIC_EVENTS : EVENTS) response.write(bytes)
  response.end()
}

const server = createServer((request, response) => {
  let head = ''
  request.on('data', (chunk: Buffer) => {
    if (head === '') head = chunk.toString('latin1', 0, 200)
  })
  request.on('end', () => answer(/"model":\s*"(\w+)"/.exec(head)?.[1] ?? 'plain', request.url ?? '', response))
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo
  process.stdout.write(`ready ${port}\n`)
})
