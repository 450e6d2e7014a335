import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { Clock } from '../../base/clock.ts'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest } from '../../kinds/embeddings.ts'
import { type GeneratedImage, type ImageRequest, type ImageResult, sizeOfRatio } from '../../kinds/images/request.ts'
import type { RerankAnswer, RerankRequest } from '../../kinds/rerank.ts'
import { imagesOverChat } from '../answers/images-over-chat.ts'
import { floatBytes } from '../answers/vectors.ts'
import { OPENAI_PARAMETERS } from '../openai/provider/openai.ts'
import { type Adapter, type AdapterPorts, NO_PARAMETERS, VIDEO_PARAMETERS } from '../ports/adapter.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../ports/call.ts'
import { type SandboxAnswer, sandboxAnswer, textTokens } from './answer.ts'
import {
  type SandboxScript,
  ScriptedCall,
  answerOnce,
  failureOf,
  lastUserText,
  plainText,
  readScript,
  resultOnce,
  scriptedText,
} from './script.ts'
import { sandboxSpeech, sandboxTranscription } from './sound.ts'

const DOCUMENTS_PER_UNIT = 100
/** Only the beginning of a document is ranked. */
const RANKED_CHARS_MAX = 2_000
const DIMENSIONS_DEFAULT = 64
const DIMENSIONS_MAX = 4_096
/** The numbers that are made before other requests get a turn: about 10 ms. */
const TURN_NUMBERS = 65_536

/** The provider that needs no network: its answers are deterministic, and slow ones and failures come on request. */
export function createSandbox({ clock, files }: Pick<AdapterPorts, 'clock' | 'files'>): Adapter {
  const chat: NonNullable<Adapter['chat']> = (call, sink) =>
    call.request.stream ? answerStreamed(call, sink, clock) : answerWhole(call, sink, clock)
  return {
    name: 'sandbox',
    chat,
    chatImages: imagesOverChat(chat, files),
    parameters: {
      ...NO_PARAMETERS,
      chat: OPENAI_PARAMETERS,
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: ['n', 'size', 'aspect_ratio', 'image_size', 'image', 'seed', 'user'],
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'prompt', 'response_format', 'timestamp_granularities'],
      video: VIDEO_PARAMETERS,
    },
    embeddings: ({ request }, sink) => {
      const script = readScript(request.input.type === 'texts' ? scriptedText(request.input.texts) : '')
      return resultOnce<EmbeddingsAnswer>(script, clock, sink, () => sandboxEmbeddings(request, script))
    },
    rerank: ({ request }, sink) => {
      const script = readScript(request.query)
      return resultOnce(script, clock, sink, () => sandboxRanking(request, script))
    },
    images: sandboxImages(clock),
    imageEdits: { masks: () => true, varies: () => true },
    speech: sandboxSpeech(clock),
    transcription: sandboxTranscription(clock),
  }
}

function answerWhole({ request, sendMaxTokens }: ChatCall, sink: AnswerSink, clock: Clock): RunningCall {
  const script = readScript(lastUserText(request))
  return answerOnce(script, clock, sink, () => {
    const answer = sandboxAnswer(request, script, sendMaxTokens)
    sink.push([...deltasOf(answer, request.n).flat(), ...endOf(answer, request.n)])
    sink.end()
  })
}

/** The content, one batch for each event that the script counts; the first batch opens the answer. */
function deltasOf(
  { reasoning, words, toolCall, finish }: SandboxAnswer,
  n: number,
): readonly (readonly AnswerEvent[])[] {
  const batches: AnswerEvent[][] = []
  for (let choice = 0; choice < n; choice += 1) {
    // A tool call needs no text, and neither does an answer that must be empty.
    batches.push(toolCall === null && finish !== null ? [{ type: 'text', choice, text: '' }] : [])
    if (reasoning !== '') batches.push([{ type: 'reasoning', choice, text: reasoning }])
    for (const text of words) batches.push([{ type: 'text', choice, text }])
    if (toolCall === null) continue
    batches.push([{ type: 'tool_call', choice, index: 0, id: toolCall.id, name: toolCall.name }])
    batches.push([{ type: 'tool_arguments', choice, index: 0, text: toolCall.arguments }])
  }
  return batches
}

function endOf(answer: SandboxAnswer, n: number): readonly AnswerEvent[] {
  const events: AnswerEvent[] = Array.from({ length: n }, (_value, choice) => ({
    type: 'finish' as const,
    choice,
    native: answer.native === '' ? null : answer.native,
    ...(answer.finish === null ? {} : { finish: answer.finish }),
  }))
  return [...events, { type: 'usage', usage: answer.usage }]
}

function answerStreamed(call: ChatCall, sink: AnswerSink, clock: Clock): RunningCall {
  const { request, sendMaxTokens } = call
  const script = readScript(lastUserText(request))
  let answer: SandboxAnswer | null = null
  let batches: readonly (readonly AnswerEvent[])[] = []
  return new ScriptedCall(
    {
      begin: () => {
        sink.headers()
        answer = sandboxAnswer(request, script, sendMaxTokens)
        batches = deltasOf(answer, request.n)
      },
      // The chunk with the role is not one of the script's events.
      eventsBefore: (piece) => (piece === 0 ? null : piece - 1),
      send: (piece) => {
        const batch = batches[piece]
        return batch === undefined ? null : batch.length === 0 || sink.push(batch)
      },
      end: () => {
        if (answer !== null) sink.push(endOf(answer, request.n))
        sink.end()
      },
      fail: (failure) => sink.fail(failure),
    },
    script,
    clock,
  )
}

/**
 * Ranks documents by the fraction of the query's words that each contains. The ranking depends only on the texts, so
 * that a test can know it beforehand.
 */
function sandboxRanking({ query, documents }: RerankRequest, script: SandboxScript): RerankAnswer {
  const wanted = wordsOf(plainText(query))
  const scoreOf = (document: string): number => {
    const words = wordsOf(document)
    return wanted.size === 0 ? 0 : [...wanted].filter((word) => words.has(word)).length / wanted.size
  }
  return {
    results: script.words === 0 ? [] : documents.map((document, index) => ({ index, score: scoreOf(document) })),
    usage: usageOf(query, documents),
    upstreamId: null,
  }
}

function wordsOf(text: string): Set<string> {
  return new Set(
    text
      .slice(0, RANKED_CHARS_MAX)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  )
}

function usageOf(query: string, documents: readonly string[]): UsageReport | null {
  const searches = Math.ceil(documents.length / DOCUMENTS_PER_UNIT)
  return inputUsage({
    tokens: documents.reduce((sum, document) => sum + textTokens(document), textTokens(query)),
    searches,
  })
}

/** A vector for each input, which depends only on the input: the same text always gives the same vector. */
async function sandboxEmbeddings(
  request: EmbeddingsRequest,
  script: SandboxScript,
): Promise<EmbeddingsAnswer | AttemptFailure> {
  const { input, encodingFormat } = request
  const length = request.dimensions ?? DIMENSIONS_DEFAULT
  if (length > DIMENSIONS_MAX)
    return {
      ...failureOf('status', 400, 'too many dimensions'),
      publicMessage: `dimensions: must be at most ${DIMENSIONS_MAX}`,
    }
  const texts = input.type === 'texts' ? input.texts : input.lists.map((list) => list.join(' '))
  const tokens =
    input.type === 'texts'
      ? texts.reduce((sum, text) => sum + textTokens(text), 0)
      : input.lists.reduce((sum, list) => sum + list.length, 0)
  const vectors: Buffer[] = []
  let made = 0
  for (const text of script.words === 0 ? [] : texts) {
    const numbers = unitVector(text, length)
    vectors.push(
      Buffer.from(encodingFormat === 'float' ? JSON.stringify(numbers) : `"${floatBytes(numbers).toString('base64')}"`),
    )
    made += length
    if (made < TURN_NUMBERS) continue
    made = 0
    await nextTurn()
  }
  return { vectors, usage: inputUsage({ tokens }), upstreamId: null }
}

/** The vector has length 1, as real vectors have. Each number is a float32, so both forms are equal. */
function unitVector(text: string, length: number): readonly number[] {
  // The state must not be 0: a xorshift generator would stay there.
  let state = createHash('sha256').update(text).digest().readInt32LE(0) || 1
  const raw = Array.from({ length }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state
  })
  const norm = Math.hypot(...raw)
  return raw.map((number) => Math.fround(number / norm))
}

const deflated = promisify(deflate)
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** One bit for each pixel, with colours from a palette. */
const FORMAT = [1, 3, 0, 0, 0]
const PIXELS_PER_BYTE = 8
const COLOUR_BYTES = 3

/**
 * Pictures without a provider, which depend only on the request. `words=N` in the script is the number of pictures
 * delivered.
 */
function sandboxImages(clock: Clock): NonNullable<Adapter['images']> {
  return ({ request }, sink) => {
    const script = readScript(request.prompt)
    return resultOnce<ImageResult>(script, clock, sink, async () => {
      const count = Math.min(request.count, script.words ?? request.count)
      const images: GeneratedImage[] = []
      for (let index = 0; index < count; index += 1)
        images.push({ picture: { bytes: await picture(request, index), mediaType: 'image/png' }, revisedPrompt: null })
      return { images, usage: null, upstreamId: null, calls: 1 }
    })
  }
}

function picture(request: ImageRequest, index: number): Promise<Buffer> {
  const { task, prompt, size, aspectRatio, imageSize, sources, mask, parameters } = request
  const shown = [...sources, ...(mask === null ? [] : [mask])].map(({ url }) => url)
  const [width = 0, height = 0] = (
    aspectRatio === null && imageSize === null ? (size ?? '1024x1024') : sizeOfRatio(aspectRatio ?? '1:1', imageSize)
  )
    .split('x')
    .map(Number)
  return sandboxPng(
    JSON.stringify([prompt, parameters['seed'] ?? null, index, ...(task === 'variation' ? [task] : []), ...shown]),
    width,
    height,
  )
}

/** A PNG of exactly this size in one colour, which depends only on `seed`. */
async function sandboxPng(seed: string, width: number, height: number): Promise<Buffer> {
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  // Each line is a filter byte and its pixels, all of colour 0.
  const lines = Buffer.alloc((1 + Math.ceil(width / PIXELS_PER_BYTE)) * height)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([size, Buffer.from(FORMAT)])),
    chunk('PLTE', createHash('sha256').update(seed).digest().subarray(0, COLOUR_BYTES)),
    chunk('IDAT', await deflated(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(named.length + 8)
  whole.writeUInt32BE(data.length, 0)
  named.copy(whole, 4)
  whole.writeUInt32BE(crc32(named), named.length + 4)
  return whole
}
