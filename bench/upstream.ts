import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { CHUNKS } from './scenarios.ts'

const PACE_MS = 10
const ANSWER_TEXT = 'The answer of the fake provider is long enough to look like one. '.repeat(11)
const WORDS = Array.from({ length: CHUNKS }, (_value, index) => ` word${index}`)
/** Reasoning tokens before the answer of the model `reasoned`. */
const THOUGHTS = 64

/** Numbers of tokens of the texts that the provider received and sends. */
interface Usage {
  readonly prompt: number
  readonly completion: number
}

function usageBody({ prompt, completion }: Usage): Readonly<Record<string, unknown>> {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** Usage in which most of the prompt comes from the cache, and reasoning precedes the answer. */
function reasonedUsage({ prompt, completion }: Usage): Readonly<Record<string, unknown>> {
  return {
    ...usageBody({ prompt, completion: completion + THOUGHTS }),
    prompt_tokens_details: { cached_tokens: Math.floor(prompt * 0.75) },
    completion_tokens_details: { reasoning_tokens: THOUGHTS },
  }
}

const answerTokens = countTokens(ANSWER_TEXT)
const streamTokens = countTokens(WORDS.join(''))

const plain = (usage: Readonly<Record<string, unknown>>): Buffer =>
  Buffer.from(
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
      usage,
    }),
  )

const events = (usage: Readonly<Record<string, unknown>>): readonly Buffer[] => [
  event([{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]),
  ...WORDS.map((content) => event([{ index: 0, delta: { content }, logprobs: null, finish_reason: null }])),
  event([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]),
  event([], usage),
  Buffer.from('data: [DONE]\n\n'),
]

/** A chunk of audio: 400 kB in as many chunks as a stream has, which is half a minute of `mp3`. */
const SOUND = Buffer.alloc(4_096, 0x55)
/** Embeddings as an official client requests them: base64, in the size of OpenAI's smaller vectors. */
const INPUTS = 2_048
const DIMENSIONS = 1_536
const vectors = (prompt: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      object: 'list',
      data: Array.from({ length: INPUTS }, (_value, index) => ({
        object: 'embedding',
        index,
        embedding: vector(index),
      })),
      model: 'bench',
      usage: { prompt_tokens: prompt, total_tokens: prompt },
    }),
  )

function vector(seed: number): string {
  return Buffer.from(
    Float32Array.from({ length: DIMENSIONS }, (_value, index) => Math.sin(seed * DIMENSIONS + index) / 40).buffer,
  ).toString('base64')
}

/** The same answer in Anthropic's protocol, so that every chunk must be translated. */
const anthropicEvents = ({ prompt, completion }: Usage): readonly Buffer[] => [
  anthropicEvent('message_start', {
    message: {
      id: 'msg_bench',
      type: 'message',
      role: 'assistant',
      model: 'bench',
      content: [],
      stop_reason: null,
      usage: { input_tokens: prompt, output_tokens: 1 },
    },
  }),
  anthropicEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ...WORDS.map((text) => anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
  anthropicEvent('content_block_stop', { index: 0 }),
  anthropicEvent('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { input_tokens: prompt, output_tokens: completion },
  }),
  anthropicEvent('message_stop', {}),
]

function anthropicEvent(type: string, fields: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
}

/** The same in Gemini's protocol. */
const geminiEvents = ({ prompt, completion }: Usage): readonly Buffer[] => {
  const chunk = (text: string, last: object): Buffer =>
    Buffer.from(
      `data: ${JSON.stringify({
        candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...last }],
        usageMetadata: {
          promptTokenCount: prompt,
          candidatesTokenCount: completion,
          totalTokenCount: prompt + completion,
        },
        modelVersion: 'bench',
        responseId: 'bench',
      })}\r\n\r\n`,
    )
  return WORDS.map((text, index) => chunk(text, index === WORDS.length - 1 ? { finishReason: 'STOP' } : {}))
}

/** The same in Cohere's protocol. */
const cohereEvents = ({ prompt, completion }: Usage): readonly Buffer[] => {
  const tokens = { input_tokens: prompt, output_tokens: completion }
  return [
    anthropicEvent('message-start', {
      id: 'bench',
      delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] } },
    }),
    anthropicEvent('content-start', { index: 0, delta: { message: { content: { type: 'text', text: '' } } } }),
    ...WORDS.map((text) => anthropicEvent('content-delta', { index: 0, delta: { message: { content: { text } } } })),
    anthropicEvent('content-end', { index: 0 }),
    anthropicEvent('message-end', {
      delta: { finish_reason: 'COMPLETE', usage: { billed_units: tokens, tokens } },
    }),
    Buffer.from('data: [DONE]\n\n'),
  ]
}

/** The same as a Response. */
const responsesEvents = ({ prompt, completion }: Usage): readonly Buffer[] => {
  let number = 0
  const numbered = (type: string, fields: Readonly<Record<string, unknown>>): Buffer =>
    anthropicEvent(type, { ...fields, sequence_number: number++ })
  const text = WORDS.join('')
  const item = (status: string, content: readonly unknown[]): object => ({
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    status,
    content,
  })
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const at = { item_id: 'msg_bench', output_index: 0, content_index: 0 }
  const response = (status: string, output: readonly unknown[], usage: unknown): object => ({
    id: 'resp_bench',
    object: 'response',
    created_at: 1_763_651_164,
    status,
    model: 'bench',
    output,
    usage,
  })
  const usage = {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt + completion,
  }
  return [
    numbered('response.created', { response: response('in_progress', [], null) }),
    numbered('response.in_progress', { response: response('in_progress', [], null) }),
    numbered('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
    numbered('response.content_part.added', { ...at, part: { ...part, text: '' } }),
    ...WORDS.map((delta) => numbered('response.output_text.delta', { ...at, delta, logprobs: [] })),
    numbered('response.output_text.done', { ...at, text, logprobs: [] }),
    numbered('response.content_part.done', { ...at, part }),
    numbered('response.output_item.done', { output_index: 0, item: item('completed', [part]) }),
    numbered('response.completed', { response: response('completed', [item('completed', [part])], usage) }),
  ]
}

function event(choices: readonly unknown[], usage: Readonly<Record<string, unknown>> | null = null): Buffer {
  return Buffer.from(
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_763_651_164, model: 'bench', system_fingerprint: 'fp_bench', choices, usage })}\n\n`,
  )
}

interface Paced {
  readonly response: ServerResponse
  readonly events: readonly Buffer[]
  next: number
}

/** One timer for all paced streams, each of which sends its next event at every tick. */
const paced = new Set<Paced>()
setInterval(() => {
  for (const stream of paced) {
    stream.response.write(stream.events[stream.next])
    stream.next += 1
    if (stream.next < stream.events.length) continue
    paced.delete(stream)
    stream.response.end()
  }
}, PACE_MS)

/** Everything that is sent for a request, made once for equal requests, since the upstream is not to be measured. */
const answers = new Map<string, readonly Buffer[]>()

function answerTo(model: string, path: string, body: Buffer): readonly Buffer[] {
  // All requests of a load have the same body.
  const name = `${model} ${path} ${body.length}`
  const known = answers.get(name)
  if (known !== undefined) return known
  const made = makeAnswer(model, path, promptTokens(body))
  answers.set(name, made)
  return made
}

function makeAnswer(model: string, path: string, prompt: number): readonly Buffer[] {
  if (model === 'plain') return [plain(usageBody({ prompt, completion: answerTokens }))]
  if (model === 'reasoned') return [plain(reasonedUsage({ prompt, completion: answerTokens }))]
  if (model === 'vectors') return [vectors(prompt)]
  if (model === 'voice') return Array.from({ length: CHUNKS }, () => SOUND)
  const usage = { prompt, completion: streamTokens }
  if (path.endsWith('/messages')) return anthropicEvents(usage)
  if (path.includes(':streamGenerateContent')) return geminiEvents(usage)
  if (path.endsWith('/v2/chat')) return cohereEvents(usage)
  return path.endsWith('/responses') ? responsesEvents(usage) : events(usageBody(usage))
}

/** Tokens of the texts of the messages or inputs, in any of the protocols. */
function promptTokens(body: Buffer): number {
  // The body comes from bench/load.ts, or from the server, which made it from that.
  const {
    messages = [],
    system = '',
    input = '',
    contents = [],
    systemInstruction = '',
  } = JSON.parse(body.toString()) as {
    readonly messages?: readonly { readonly content: unknown }[]
    readonly system?: unknown
    readonly input?: unknown
    readonly contents?: readonly { readonly parts: unknown }[]
    readonly systemInstruction?: unknown
  }
  return [
    ...messages.map(({ content }) => content),
    ...contents.map(({ parts }) => parts),
    system,
    input,
    systemInstruction,
  ]
    .flatMap(textsOf)
    .reduce((sum, text) => sum + countTokens(text), 0)
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (Array.isArray(content)) return content.flatMap(textsOf)
  if (typeof content !== 'object' || content === null) return []
  if ('parts' in content) return textsOf(content.parts)
  if ('content' in content) return textsOf(content.content)
  return 'text' in content ? textsOf(content.text) : []
}

function answer(model: string, parts: readonly Buffer[], response: ServerResponse): void {
  const [whole] = parts
  if (parts.length === 1 && whole !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length }).end(whole)
    return
  }
  // This header tells nginx to pass a stream on without buffering.
  response.writeHead(200, {
    'content-type': model === 'voice' ? 'audio/mpeg' : 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  if (model === 'paced') {
    paced.add({ response, events: parts, next: 0 })
    return
  }
  for (const bytes of parts) response.write(bytes)
  response.end()
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const path = request.url ?? ''
    const body = Buffer.concat(chunks)
    // nginx checks whether it answers.
    if (body.length === 0) {
      response.writeHead(204).end()
      return
    }
    // Gemini's protocol names it in the path.
    const [, inPath] = /models\/(\w+):/.exec(path) ?? []
    const edges = body.toString('latin1', 0, 200) + body.toString('latin1', Math.max(200, body.length - 400))
    const [, inBody] = /"model":\s*"(\w+)"/.exec(edges) ?? []
    const model = inPath ?? inBody ?? 'plain'
    answer(model, answerTo(model, path, body), response)
  })
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo
  process.stdout.write(`ready ${port}\n`)
})
