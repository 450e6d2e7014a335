import { ApiError } from '../../base/errors.ts'
import { field, invalidInput, isObject, quoted, type RawObject } from './json-fields.ts'

const SESSION_ID_CHARS_MAX = 256

/** The body of a request, which `src/http` has parsed. */
export function bodyObject(json: unknown): RawObject {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  return json
}

/** `model` of a kind without a default model. */
export function requiredModel(body: RawObject): string {
  const model = field(body, 'model')
  if (model === undefined || model === '') throw new ApiError('missing_model', "Parameter 'model' is required")
  if (typeof model !== 'string') throw invalidInput('model', 'must be a string')
  return model
}

/** The texts or tokens of a request that is answered for each. */
export function requiredInput(body: RawObject): unknown {
  const given = field(body, 'input')
  if (given === undefined || (Array.isArray(given) && given.length === 0))
    throw new ApiError('missing_input', "Parameter 'input' is required")
  return given
}

/** A label for the log. It does not affect the answer, so a useless one is dropped, not refused. */
export function sessionIdOf(body: RawObject): string | null {
  const id = field(body, 'session_id')
  return typeof id === 'string' && id !== '' ? id.slice(0, SESSION_ID_CHARS_MAX) : null
}

/** `response_format` of a kind with fixed formats; `usual` is the default. */
export function responseFormat<T extends string>(body: RawObject, formats: readonly T[], usual: T): T {
  const given = field(body, 'response_format')
  if (given === undefined) return usual
  const format = formats.find((name) => name === given)
  if (format === undefined)
    throw new ApiError(
      'invalid_response_format',
      `Invalid response_format: must be one of ${formats.join(', ')}${typeof given === 'string' ? `, got '${quoted(given)}'` : ''}`,
    )
  return format
}
