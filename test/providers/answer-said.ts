import assert from 'node:assert/strict'
import { AnswerEnd } from '../../src/kinds/answer/end.ts'
import type { AnswerEvent } from '../../src/kinds/answer/event.ts'
import { foldAnswer } from '../../src/kinds/answer/fold.ts'
import type { AnswerWriter, ChargedUsage } from '../../src/kinds/answer/writer.ts'
import { ChatWriter } from '../../src/protocols/openai/client/chat/writer.ts'
import { CohereWriter } from '../../src/protocols/cohere/client/writer.ts'
import { parseGenerateContent } from '../../src/protocols/gemini/client/parse.ts'
import { GeminiWriter } from '../../src/protocols/gemini/client/writer.ts'
import { MessagesWriter } from '../../src/protocols/anthropic/client/writer.ts'
import { OllamaWriter } from '../../src/protocols/ollama/client/writer.ts'
import { parseResponses } from '../../src/protocols/responses/client/parse.ts'
import { ResponsesWriter } from '../../src/protocols/responses/client/writer.ts'
import { countedReport } from '../../src/pay/plan/usage-bounds.ts'
import { foldBody, type FoldedAnswer } from '../harness/chat-fold.ts'
import { chunksOf, eventsOf, foldedCohere, inputOf, put } from '../harness/protocol-folds.ts'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** What an answer says, in any protocol. */
export interface Said {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly name: string; readonly input: unknown }[]
  readonly finish: string
  /** All of the input, what of it came from a cache, all of the output. */
  readonly tokens: readonly [input: number, cached: number, output: number]
  readonly cost: number
}

/** A protocol of clients: its writer, and what its clients read in a stream and in a whole answer. */
export interface ClientProtocol {
  writer(): AnswerWriter
  stream(raw: string): Said
  whole(body: Json): Said
  /** What each reason of chat is called. */
  readonly finishes: Readonly<Record<string, string>>
}

const IDENTITY = { id: 'gen-1-abc', created: 1, model: 'a/b', provider: 'P' }
const COST_MICRO = 1_234_567n
export const PROTOCOLS: Readonly<Record<string, ClientProtocol>> = {
  chat: {
    writer: () => new ChatWriter(IDENTITY, true),
    stream: (raw) => chatSaid(foldBody(200, raw, { 'content-type': 'text/event-stream' })),
    whole: (body) => chatSaid(foldBody(200, JSON.stringify(body), {})),
    finishes: {},
  },
  messages: {
    writer: () => new MessagesWriter({ ...IDENTITY, requestId: 'r' }, false, 1),
    stream: (raw) => {
      const { message, unclosed } = put(eventsOf(raw))
      assert.equal(unclosed, 0)
      return messageSaid(message)
    },
    whole: messageSaid,
    finishes: {
      stop: 'end_turn',
      length: 'max_tokens',
      tool_calls: 'tool_use',
      content_filter: 'refusal',
      error: 'end_turn',
    },
  },
  responses: {
    writer: () =>
      new ResponsesWriter(IDENTITY, parseResponses({ model: 'a/b', input: 'x' }).echo, { now: () => 1_000 }),
    stream: (raw) => responseSaid(eventsOf(raw).at(-1).response),
    whole: responseSaid,
    finishes: {
      stop: 'completed',
      length: 'incomplete',
      tool_calls: 'completed',
      content_filter: 'incomplete',
      error: 'failed',
    },
  },
  gemini: {
    writer: () =>
      new GeminiWriter(
        IDENTITY,
        parseGenerateContent(
          {
            contents: [{ parts: [{ text: 'x' }] }],
            generationConfig: { thinkingConfig: { includeThoughts: true } },
          },
          { model: 'a/b', stream: true, framing: 'sse' },
        ),
      ),
    stream: (raw) => geminiSaid(chunksOf(raw, 'sse')),
    whole: (body) => geminiSaid([body]),
    finishes: { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP', content_filter: 'SAFETY', error: 'OTHER' },
  },
  cohere: {
    writer: () => new CohereWriter(IDENTITY),
    stream: (raw) => cohereSaid(foldedCohere(raw)),
    whole: cohereSaid,
    finishes: {
      stop: 'COMPLETE',
      length: 'MAX_TOKENS',
      tool_calls: 'TOOL_CALL',
      content_filter: 'ERROR',
      error: 'ERROR',
    },
  },
  ollama: {
    writer: () => new OllamaWriter(IDENTITY),
    stream: (raw) => ollamaSaid(linesOf(raw)),
    whole: (body) => ollamaSaid([body]),
    finishes: { tool_calls: 'stop' },
  },
}

function chatSaid({ choices, usage }: FoldedAnswer): Said {
  const { text = '', refusal = '', reasoning = '', toolCalls = [], finish = null } = choices.get(0) ?? {}
  // The assertions are the check.
  const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details, cost } = usage as Json
  return {
    text: text + refusal,
    reasoning,
    calls: toolCalls.map(({ name, arguments: given }) => ({ name, input: inputOf(given) })),
    finish: finish ?? '',
    tokens: [input, details?.cached_tokens ?? 0, output],
    cost,
  }
}

function messageSaid({ content, stop_reason: finish, usage }: Json): Said {
  const joined = (type: string, field: string): string =>
    content.map((block: Json) => (block.type === type ? block[field] : '')).join('')
  const { input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  return {
    text: joined('text', 'text'),
    reasoning: joined('thinking', 'thinking'),
    calls: content.flatMap((block: Json) =>
      block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [],
    ),
    finish,
    tokens: [fresh + read + written, read, usage.output_tokens],
    cost: usage.cost,
  }
}

function responseSaid({ output, status, usage }: Json): Said {
  const parts = (list: string, fields: readonly string[]): string =>
    output
      .flatMap((item: Json) => item[list] ?? [])
      .map((part: Json) => fields.map((field) => part[field] ?? '').join(''))
      .join('')
  return {
    text: parts('content', ['text', 'refusal']),
    reasoning: parts('summary', ['text']),
    calls: output.flatMap((item: Json) =>
      item.type === 'function_call' ? [{ name: item.name, input: inputOf(item.arguments) }] : [],
    ),
    finish: status,
    tokens: [usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens],
    cost: usage.cost,
  }
}

function geminiSaid(chunks: readonly Json[]): Said {
  const firsts = chunks.flatMap(({ candidates }) => candidates.filter(({ index = 0 }: Json) => index === 0))
  const parts = firsts.flatMap(({ content }) => content?.parts ?? [])
  const joined = (isThought: boolean): string =>
    parts.map(({ text = '', thought = false }) => (thought === isThought ? text : '')).join('')
  const {
    promptTokenCount,
    cachedContentTokenCount = 0,
    candidatesTokenCount,
    thoughtsTokenCount = 0,
    cost,
  } = chunks.at(-1).usageMetadata
  return {
    text: joined(false),
    reasoning: joined(true),
    calls: parts.flatMap(({ functionCall: call }) =>
      call === undefined ? [] : [{ name: call.name, input: call.args }],
    ),
    finish: firsts.at(-1).finishReason,
    tokens: [promptTokenCount, cachedContentTokenCount, candidatesTokenCount + thoughtsTokenCount],
    cost,
  }
}

function cohereSaid({ message, finish_reason: finish, usage }: Json): Said {
  const { content = [], tool_calls: calls = [] } = message
  const joined = (field: string): string => content.map((item: Json) => item[field] ?? '').join('')
  const { input_tokens: input, output_tokens: output } = usage.tokens
  return {
    text: joined('text'),
    reasoning: joined('thinking'),
    calls: calls.map(({ function: { name, arguments: given } }: Json) => ({ name, input: inputOf(given) })),
    finish,
    tokens: [input, usage.cached_tokens ?? 0, output],
    cost: usage.cost,
  }
}

function linesOf(raw: string): readonly Json[] {
  assert.ok(raw.endsWith('\n'), raw)
  return raw
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line))
}

function ollamaSaid(lines: readonly Json[]): Said {
  const joined = (field: string): string => lines.map(({ message }) => message[field] ?? '').join('')
  const {
    done_reason: finish,
    prompt_eval_count: input,
    cached_tokens: cached,
    eval_count: output,
    cost,
  } = lines.at(-1)
  return {
    text: joined('content'),
    reasoning: joined('thinking'),
    calls: lines.flatMap(({ message }) =>
      (message.tool_calls ?? []).map(({ function: called }: Json) => ({ name: called.name, input: called.arguments })),
    ),
    finish,
    tokens: [input, cached, output],
    cost,
  }
}

/** Arguments that were cut off are no object, and Gemini's protocol has no other form for them. */
export function isWhole({ input }: Said['calls'][number]): boolean {
  return typeof input !== 'object' || input === null || !('arguments' in input)
}

/** The answer in one protocol, as a stream in batches of three events and as a whole. */
export function written(
  { writer, stream, whole }: ClientProtocol,
  events: readonly AnswerEvent[],
): { readonly streamed: Said; readonly whole: Said } {
  const end = new AnswerEnd()
  for (const event of events) end.add(event)
  const result = end.result()
  const usage: ChargedUsage = { report: result.usage ?? countedReport(11, 7), chargedMicro: COST_MICRO }
  const streaming = writer()
  const bytes: Buffer[] = []
  for (let at = 0; at < events.length; at += 3) bytes.push(streaming.write(events.slice(at, at + 3)))
  bytes.push(streaming.end(result, usage))
  const body = writer().whole(foldAnswer(events), usage, events)
  return { streamed: stream(Buffer.concat(bytes).toString('utf8')), whole: whole(JSON.parse(JSON.stringify(body))) }
}
