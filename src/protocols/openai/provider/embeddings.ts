import { type VectorForm, keyHeaders } from '../../../catalog/dialect.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import type { EmbeddingsInput } from '../../../kinds/embeddings.ts'
import { inputUsage } from '../../../kinds/answer/usage.ts'
import { type AttemptFailure, billed, failure } from '../../ports/attempt-failure.ts'
import {
  dimensionsOf,
  vectorOf,
  widened,
  type EmbeddingsCall,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
} from '../../upstream/embeddings.ts'
import type { LiftedJson, VectorBytes } from '../../wire/lifted-json.ts'
import { listOf, objectOf, textOf } from '../../wire/raw-json.ts'
import { TokenReader } from '../../answers/token-reader.ts'
import { errorIn, isErrorBody } from '../../wire/error-body.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { takes } from '../../ports/call.ts'

/**
 * From this many inputs on, base64 is requested whatever the client reads: numbers are three times as long and may
 * exceed every bound.
 */
const LONG_LIST = 512
/** The counts. An object without any of them reports nothing. Voyage counts only the total. */
const COUNTS = ['prompt_tokens', 'input_tokens', 'total_tokens']

/** `/embeddings` of OpenAI and every dialect of it. */
export const openaiEmbeddings: EmbeddingsProtocol = {
  batchMax: () => Infinity,
  request: (call, input) => ({
    path: `/embeddings${call.endpoint.provider.dialect.query}`,
    body: bodyOf(call, input),
    headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
  }),
  page: (answer, _headers, call) => readPage(answer, formOf(call)),
}

function bodyOf(call: EmbeddingsCall, input: EmbeddingsInput): Record<string, unknown> {
  const { endpoint, request } = call
  const { names } = endpoint.provider.dialect
  const items = input.type === 'texts' ? input.texts : input.lists
  const dimensions = dimensionsOf(call)
  const inBase64 =
    (request.encodingFormat === 'base64' || items.length > LONG_LIST) && takes(endpoint, 'encoding_format')
  return {
    model: endpoint.upstreamModel,
    input: items.length === 1 ? items[0] : items,
    // Every service sends numbers by default, and some do not know the parameter.
    ...(formOf(call) === 'int8' ? { encoding_format: 'base64_int8' } : inBase64 ? { encoding_format: 'base64' } : {}),
    ...(dimensions === null ? {} : { [names['dimensions'] ?? 'dimensions']: dimensions }),
    ...(request.inputType === null || !takes(endpoint, 'input_type') ? {} : { input_type: request.inputType }),
    ...(request.user === null || !takes(endpoint, 'user') ? {} : { user: request.user }),
  }
}

/** The form of vectors to request: Perplexity has only `int8`. */
function formOf({ endpoint: { provider } }: EmbeddingsCall): VectorForm {
  return (
    provider.dialect.vectors ??
    (URL.canParse(provider.baseUrl) && new URL(provider.baseUrl).hostname === 'api.perplexity.ai' ? 'int8' : 'float32')
  )
}

function readPage(answer: LiftedJson, form: VectorForm): EmbeddingsPage | AttemptFailure {
  const body = objectOf(answer.json)
  if (isErrorBody(body)) return billed(eventFailure(errorIn(body)), usageOf(body['usage']))
  if (body === null || !Array.isArray(body['data'])) return failure('garbage', null, 'the answer holds no embeddings')
  const vectors = ordered(answer, listOf(body['data']), form)
  if (vectors === null) return failure('garbage', null, 'the embeddings are no vectors, or not one for each index')
  return { vectors, usage: usageOf(body['usage']), upstreamId: textOf(body['id']) }
}

/** The vectors sorted by index; without indexes, in the order of the list. */
function ordered(answer: LiftedJson, data: readonly unknown[], form: VectorForm): readonly VectorBytes[] | null {
  const vectors: (VectorBytes | undefined)[] = Array.from(data, () => undefined)
  for (const [position, raw] of data.entries()) {
    const item = objectOf(raw)
    const index = item?.['index'] ?? position
    const found = vectorOf(answer, item?.['embedding'])
    const vector = found !== null && form === 'int8' ? widened(found) : found
    if (vector === null || typeof index !== 'number' || !(index in vectors) || vectors[index] !== undefined) return null
    vectors[index] = vector
  }
  return vectors.every((vector) => vector !== undefined) ? vectors : null
}

function usageOf(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || COUNTS.every((name) => (usage[name] ?? null) === null)) return null
  const reader = new TokenReader()
  const tokens = reader.maybe(usage, ...COUNTS)
  return inputUsage({ tokens, implausible: reader.implausible })
}
