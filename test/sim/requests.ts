import { Reread } from '../../src/base/reread.ts'
import { chat } from '../harness/plan-fixture.ts'
import { parseCompletions } from '../../src/protocols/openai/client/completions.ts'
import { parseEmbeddings } from '../../src/protocols/openai/client/embeddings.ts'
import { parseRerank } from '../../src/protocols/openai/client/rerank.ts'
import { chatOperation } from '../../src/pay/operations/chat.ts'
import { completionsOperation } from '../../src/pay/operations/completions.ts'
import { chatCall } from '../../src/protocols/openai/client/chat/call.ts'
import { embeddingsOperations } from '../../src/pay/operations/embeddings.ts'
import { rerankOperations } from '../../src/pay/operations/rerank.ts'
import type { TokenCounter } from '../../src/pay/plan/token-count.ts'
import type { AdapterTable } from '../../src/protocols/ports/adapter.ts'
import type { Operation } from '../../src/pay/relay/operation.ts'

export type SimType = 'chat' | 'completions' | 'embeddings' | 'rerank'

export const MODELS: Readonly<Record<SimType, string>> = {
  chat: 'sim/model',
  completions: 'sim/model',
  embeddings: 'sim/vectors',
  rerank: 'sim/ranks',
}
const TOKENIZER = 'o200k_base'
const FRAME_TOKENS_MAX = 8

/** A request with all that the oracle knows of it without asking the gateway. */
export interface SimRequest {
  readonly type: SimType
  readonly stream: boolean
  readonly maxTokens: number | null
  /** Prompts in one request. */
  readonly inputs: number
  /** Answers written to each. */
  readonly answers: number
  /** Choices of each that the client reads. */
  readonly choices: number
  /** A token for each byte, and frames: no provider reads more, except a template of a thousand tokens. */
  readonly inputMax: number
  readonly count: (tokens: TokenCounter) => number
  readonly operation: (adapters: AdapterTable) => Operation
  /** The same request for a service tier; absent = its kind has none. */
  readonly inTier?: (serviceTier: string) => SimRequest
}

/** Whether its price does not depend on the length of the answer, and nothing of it is shown before it is whole. */
export function isUnits({ type }: SimRequest): boolean {
  return type === 'embeddings' || type === 'rerank'
}

interface Source {
  again(): Source
}
const SOURCE: Source = { again: () => SOURCE }
const PROMPT = 'Say something about the weather'
const STREAM = { stream: true, stream_options: { include_usage: true } }
const LIMITS = [12, 40, null] as const
/** Requests of every shape that the money path distinguishes, parsed once. */
export const REQUESTS: readonly SimRequest[] = [
  ...LIMITS.flatMap((max) => [chatOf(1, false, max), chatOf(1, true, max)]),
  chatOf(3, false, 12),
  chatOf(3, true, 40),
  completionsOf([PROMPT], 1, false, 40),
  completionsOf([PROMPT, 'And of the sea'], 1, true, 12),
  completionsOf([PROMPT, 'And of the sea', 'Now sing'], 2, false, 12),
  completionsOf([PROMPT, 'And of the sea', 'Now sing'], 1, true, null),
  completionsOf([PROMPT, 'And of the sea'], 1, false, 12, 3),
  embeddingsOf(['A quiet river', 'Copper in the morning', 'Stone']),
  embeddingsOf(['One text alone']),
  rerankOf('Which is about water?', ['A quiet river', 'Copper in the morning', 'A garden in winter']),
]

function limit(maxTokens: number | null): { readonly max_tokens?: number } {
  return maxTokens === null ? {} : { max_tokens: maxTokens }
}

function chatOf(n: number, stream: boolean, maxTokens: number | null, serviceTier: string | null = null): SimRequest {
  const request = chat({
    model: MODELS.chat,
    messages: [{ role: 'user', content: PROMPT }],
    n,
    ...limit(maxTokens),
    ...(stream ? STREAM : {}),
    ...(serviceTier === null ? {} : { service_tier: serviceTier }),
  })
  return {
    type: 'chat',
    stream,
    maxTokens,
    inputs: 1,
    answers: n,
    choices: n,
    inputMax: Buffer.byteLength(PROMPT) + FRAME_TOKENS_MAX * 2,
    count: (tokens) => tokens.countChat(request, TOKENIZER),
    operation: (adapters) =>
      chatOperation(
        Reread.of(SOURCE, () => chatCall(request)),
        adapters,
      ),
    inTier: (wished) => chatOf(n, stream, maxTokens, wished),
  }
}

/** Each prompt counts as the longest of them. */
function completionsOf(
  prompts: readonly string[],
  n: number,
  stream: boolean,
  maxTokens: number | null,
  bestOf: number | null = null,
): SimRequest {
  const request = parseCompletions({
    model: MODELS.completions,
    prompt: prompts,
    n,
    ...limit(maxTokens),
    ...(stream ? STREAM : {}),
    ...(bestOf === null ? {} : { best_of: bestOf }),
  })
  const longest = Math.max(...prompts.map((prompt) => Buffer.byteLength(prompt)))
  return {
    type: 'completions',
    stream,
    maxTokens,
    inputs: prompts.length,
    answers: bestOf ?? n,
    choices: n,
    inputMax: (longest + FRAME_TOKENS_MAX * 2) * prompts.length,
    count: (tokens) => tokens.countChat(request.chat, TOKENIZER) * prompts.length,
    operation: (adapters) => completionsOperation(request, adapters),
  }
}

function embeddingsOf(texts: readonly string[]): SimRequest {
  const request = parseEmbeddings({ model: MODELS.embeddings, input: texts })
  return {
    type: 'embeddings',
    stream: false,
    maxTokens: null,
    inputs: 1,
    answers: 1,
    choices: 1,
    inputMax: bytesOf(texts) + FRAME_TOKENS_MAX * texts.length,
    count: (tokens) => countOf(tokens, texts),
    operation: (adapters) => embeddingsOperations(adapters)(request),
  }
}

/** The query is read with every document. */
function rerankOf(query: string, documents: readonly string[]): SimRequest {
  const request = parseRerank({ model: MODELS.rerank, query, documents })
  return {
    type: 'rerank',
    stream: false,
    maxTokens: null,
    inputs: 1,
    answers: 1,
    choices: 1,
    inputMax: bytesOf(documents) + (FRAME_TOKENS_MAX * 2 + Buffer.byteLength(query)) * documents.length,
    count: (tokens) => countOf(tokens, documents) + countOf(tokens, [query]) * documents.length,
    operation: (adapters) => rerankOperations(adapters)(request),
  }
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

function countOf(tokens: TokenCounter, texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + tokens.countText(text, TOKENIZER), 0)
}
