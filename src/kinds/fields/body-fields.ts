import { ApiError } from '../../base/errors.ts'

/**
 * A JSON object of a request, not checked yet. Its fields are read one by one and never spread: the client chose its
 * keys.
 */
export type RawObject = Readonly<Record<string, unknown>>

const DEPTH_MAX = 128

/** The refusal of one parameter: `temperature: must be between 0 and 2`. */
export function invalidInput(parameter: string, what: string): ApiError {
  return new ApiError('invalid_input', `${parameter}: ${what}`)
}

/** The refusal of a message, or of a part of one. */
export function badMessage(path: string, what: string): ApiError {
  return new ApiError('invalid_message_format', `${path}: ${what}`)
}

export function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The own field `name`, with null read as absent (wire.md D-0.3). An inherited property is not a field of the request.
 */
export function field(object: RawObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

export function objectField(object: RawObject, name: string, path = name): RawObject | undefined {
  const value = field(object, name)
  if (value === undefined || isObject(value)) return value
  throw invalidInput(path, 'must be an object')
}

export function stringField(object: RawObject, name: string, path = name): string | undefined {
  const value = field(object, name)
  if (value === undefined || typeof value === 'string') return value
  throw invalidInput(path, 'must be a string')
}

export function booleanField(object: RawObject, name: string, path = name): boolean | undefined {
  const value = field(object, name)
  if (value === undefined || typeof value === 'boolean') return value
  throw invalidInput(path, 'must be a boolean')
}

/** A finite number that `allows` accepts; any other value, including a number in quotes, is refused with `what`. */
export function numberField(
  object: RawObject,
  name: string,
  allows: (value: number) => boolean,
  what: string,
  path = name,
): number | undefined {
  const value = field(object, name)
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && allows(value)) return value
  throw invalidInput(path, what)
}

/**
 * A deep copy of JSON made key by key. `__proto__` is left out: assigning it would replace the copy's prototype, and no
 * schema or metadata needs it.
 */
export function copyJson(value: unknown, path: string, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw invalidInput(path, `is nested deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(value)) return value.map((item) => copyJson(item, path, depth + 1))
  if (isObject(value)) return copyObject(value, path, depth)
  return value
}

export function copyObject(value: RawObject, path: string, depth = 0): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    if (key !== '__proto__') copy[key] = copyJson(value[key], path, depth + 1)
  }
  return copy
}

/** A member that should be a word; '' if it is no text. */
export function wordOf(given: unknown): string {
  return typeof given === 'string' ? given : ''
}

/**
 * Writes the client's value into a message, short enough for a log line. An object is only named: its `toString` may
 * be the client's.
 */
export function quoted(given: unknown): string {
  const text = Array.isArray(given) ? 'an array' : isObject(given) ? 'an object' : String(given)
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

const SESSION_ID_CHARS_MAX = 256

/** The body of a request, which `src/http` has parsed. */
export function bodyObject(json: unknown): RawObject {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  return json
}

/** A label for the log. It does not affect the answer, so an unusable one is dropped instead of refused. */
export function sessionIdOf(body: RawObject): string | null {
  const id = field(body, 'session_id')
  return typeof id === 'string' && id !== '' ? id.slice(0, SESSION_ID_CHARS_MAX) : null
}
