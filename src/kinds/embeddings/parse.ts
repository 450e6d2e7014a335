import { bodyObject, requiredInput, requiredModel, sessionIdOf } from '../fields/body-fields.ts'
import { field, invalidInput, numberField, stringField, type RawObject } from '../fields/json-fields.ts'
import { parseProviderPreferences } from '../fields/provider-preferences.ts'
import type { EmbeddingsInput, EmbeddingsRequest, VectorFormat } from '../embeddings.ts'

const INPUTS_MAX = 2_048
const SHAPES =
  'must be a string, an array of strings, an array of token numbers, or an array of arrays of token numbers'

/**
 * Reads the body of an embeddings request (wire.md D-2.1): required fields first, then types and ranges.
 */
export function parseEmbeddings(json: unknown): EmbeddingsRequest {
  const body = bodyObject(json)
  const model = requiredModel(body)
  const given = requiredInput(body)
  return {
    model,
    fallbackModels: [],
    n: 1,
    input: inputOf(given),
    encodingFormat: encodingFormatOf(body),
    dimensions:
      numberField(
        body,
        'dimensions',
        (value) => Number.isSafeInteger(value) && value >= 1,
        'must be an integer of at least 1',
      ) ?? null,
    inputType: stringField(body, 'input_type') ?? null,
    user: stringField(body, 'user') ?? null,
    provider: parseProviderPreferences(body),
    sessionId: sessionIdOf(body),
  }
}

/**
 * The lists are the parsed body's own. Once checked they contain only texts or whole numbers, so long ones need no
 * copy.
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

function encodingFormatOf(body: RawObject): VectorFormat {
  const format = field(body, 'encoding_format') ?? 'float'
  if (format === 'float' || format === 'base64') return format
  throw invalidInput('encoding_format', 'must be float or base64')
}
