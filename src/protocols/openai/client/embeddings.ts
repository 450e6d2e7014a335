import { rubles } from '../../../base/money.ts'
import {
  either,
  list,
  maybe,
  number,
  object,
  oneOf,
  only,
  readBy,
  said,
  text,
  whole,
  needed,
} from '../../../base/schema.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import type { EmbeddingsInput, EmbeddingsRequest } from '../../../kinds/embeddings.ts'
import { invalidInput } from '../../../kinds/fields/body-fields.ts'
import { readPaidBody } from '../../../kinds/fields/paid-body.ts'
import { COST, MODEL, ROUTED, routingOf, USER } from '../../../kinds/fields/routed-request.ts'

const INPUTS_MAX = 2_048
const SHAPES =
  'must be a string, an array of strings, an array of token numbers, or an array of arrays of token numbers'
const FILLED = text('', { minLength: 1 })
const TOKENS = list(whole('A token.', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), '', { minItems: 1 })
const INPUT = either(
  FILLED,
  list(FILLED, '', { minItems: 1, maxItems: INPUTS_MAX }),
  TOKENS,
  list(TOKENS, '', { minItems: 1, maxItems: INPUTS_MAX }),
)

/** `POST /v1/embeddings` (wire.md D-2.1). */
export const EmbeddingsBody = object({
  model: MODEL,
  input: needed(readBy(INPUT, inputOf), 'missing_input', 'empty list'),
  encoding_format: maybe(said(oneOf(['float', 'base64']), 'must be float or base64')),
  dimensions: maybe(whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  input_type: maybe(text('Passed on.')),
  user: USER,
  ...ROUTED,
})

export const EmbeddingsAnswer = object({
  id: text(),
  object: only('list'),
  model: text(),
  data: list(
    object({
      object: only('embedding'),
      index: whole(),
      embedding: either(list(number()), text('float32 in base64.')),
    }),
  ),
  usage: object({ prompt_tokens: whole(), total_tokens: whole(), ...COST }),
})

export function parseEmbeddings(json: unknown): EmbeddingsRequest {
  const body = readPaidBody(EmbeddingsBody, json)
  return {
    ...routingOf(json, body),
    input: body.input,
    encodingFormat: body.encoding_format ?? 'float',
    dimensions: body.dimensions ?? null,
    inputType: body.input_type ?? null,
    user: body.user ?? null,
  }
}

/**
 * The input. Its lists are those of the parsed body: once checked, they contain only texts or whole numbers, so that
 * long ones need no copy.
 */
function inputOf(given: unknown): EmbeddingsInput {
  if (typeof given === 'string') return { type: 'texts', texts: [textOf(given, 'input')] }
  if (!Array.isArray(given)) throw invalidInput('input', SHAPES)
  const items: readonly unknown[] = given
  if (typeof items[0] === 'number') return { type: 'tokens', lists: [tokensOf(items, 'input')] }
  if (items.length > INPUTS_MAX)
    throw invalidInput('input', `must hold at most ${INPUTS_MAX} items, got ${items.length}`)
  if (typeof items[0] === 'string')
    return { type: 'texts', texts: items.map((item, index) => textOf(item, `input[${index}]`)) }
  return { type: 'tokens', lists: items.map((item, index) => tokensOf(item, `input[${index}]`)) }
}

function textOf(item: unknown, path: string): string {
  if (typeof item !== 'string') throw invalidInput(path, SHAPES.replace('must be', 'input must be'))
  if (item === '') throw invalidInput(path, 'must not be empty')
  return item
}

function tokensOf(item: unknown, path: string): readonly number[] {
  if (!Array.isArray(item)) throw invalidInput(path, SHAPES.replace('must be', 'input must be'))
  if (item.length === 0) throw invalidInput(path, 'must not be empty')
  if (!item.every(isToken)) throw invalidInput(path, 'tokens must be integers of at least 0')
  return item
}

function isToken(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Vectors in a list between two texts, in parts: they are most of an answer, and must not be copied. */
export function vectorList(
  before: string,
  vectors: readonly Buffer[],
  after: string,
  beforeEach: (index: number) => string = (index) => (index === 0 ? '' : ','),
): readonly Buffer[] {
  const parts: Buffer[] = []
  let text = before
  for (const [index, vector] of vectors.entries()) {
    parts.push(Buffer.from(text + beforeEach(index)), vector)
    text = ''
  }
  return [...parts, Buffer.from(text + after)]
}

/** The JSON body of wire.md D-2.1 in parts. */
export function embeddingsBody(
  { id, model }: ChunkIdentity,
  vectors: readonly Buffer[],
  { report, chargedMicro }: ChargedUsage,
): readonly Buffer[] {
  const usage = {
    prompt_tokens: report.inputTokens,
    total_tokens: report.inputTokens,
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
  const head = `{"id":${JSON.stringify(id)},"object":"list","model":${JSON.stringify(model)},"data":[`
  const item = (index: number): string =>
    `${index === 0 ? '' : '},'}{"object":"embedding","index":${index},"embedding":`
  return vectorList(head, vectors, `}],"usage":${JSON.stringify(usage)}}`, item)
}
