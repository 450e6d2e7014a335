import { ApiError } from '../errors.ts'
import { field, invalidInput, isObject, type RawObject } from './json-fields.ts'

const SESSION_ID_CHARS_MAX = 256

/** The body of a request, which the edge has parsed. */
export function bodyObject(json: unknown): RawObject {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  return json
}

/** `model` of a kind that has no default model. */
export function requiredModel(body: RawObject): string {
  const model = field(body, 'model')
  if (model === undefined || model === '') throw new ApiError('missing_model', "Parameter 'model' is required")
  if (typeof model !== 'string') throw invalidInput('model', 'must be a string')
  return model
}

/** A label for the log: of no effect on the answer, so a useless one is dropped and not refused. */
export function sessionIdOf(body: RawObject): string | null {
  const id = field(body, 'session_id')
  return typeof id === 'string' && id !== '' ? id.slice(0, SESSION_ID_CHARS_MAX) : null
}
