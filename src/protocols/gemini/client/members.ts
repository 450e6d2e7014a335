import { ApiError } from '../../../base/errors.ts'
import { field, invalidInput, isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'

const SNAKE = new Map<string, string>()

function snake(name: string): string {
  let other = SNAKE.get(name)
  if (other === undefined) {
    other = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    SNAKE.set(name, other)
  }
  return other
}

/** Both spellings of a name. */
export function spellings(name: string): readonly string[] {
  return [name, snake(name)]
}

/**
 * A field by its name in camelCase, or in the Python client's snake_case: `systemInstruction`, `system_instruction`.
 */
export function member(object: RawObject, name: string): unknown {
  const own = field(object, name)
  const other = snake(name)
  if (own !== undefined && other !== name && field(object, other) !== undefined)
    throw invalidInput(name, `is given twice: send '${name}' or '${other}'`)
  return own ?? field(object, other)
}

export function objectMember(object: RawObject, name: string, path: string): RawObject | undefined {
  const value = member(object, name)
  if (value === undefined || isObject(value)) return value
  throw invalidInput(path, 'must be an object')
}

export function listMember(object: RawObject, name: string, path: string): readonly unknown[] {
  const value = member(object, name)
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw invalidInput(path, 'must be an array')
}

export function textMember(object: RawObject, name: string, path: string): string | undefined {
  const value = member(object, name)
  if (value === undefined || typeof value === 'string') return value
  throw invalidInput(path, 'must be a string')
}

export function textsMember(object: RawObject, name: string, path: string): readonly string[] {
  return listMember(object, name, path).map((item) => {
    if (typeof item === 'string') return item
    throw invalidInput(path, 'must be an array of strings')
  })
}

export function flagMember(object: RawObject, name: string, path: string): boolean | undefined {
  const value = member(object, name)
  if (value === undefined || typeof value === 'boolean') return value
  throw invalidInput(path, 'must be a boolean')
}

export function numberMember(
  object: RawObject,
  name: string,
  path: string,
  [low, high]: readonly [number, number],
): number | undefined {
  const value = member(object, name)
  if (value === undefined) return undefined
  if (typeof value === 'number' && value >= low && value <= high) return value
  throw invalidInput(path, `must be a number between ${low} and ${high}`)
}

export function wholeMember(
  object: RawObject,
  name: string,
  path: string,
  [low, high]: readonly [number, number],
): number | undefined {
  const value = member(object, name)
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= low && value <= high) return value
  throw invalidInput(path, `must be an integer between ${low} and ${high}`)
}

/** Names of fields, in camelCase, that are not `known`: they are dropped and named. */
export function unknownMembers(object: RawObject, known: ReadonlySet<string>): readonly string[] {
  return Object.keys(object)
    .filter((key) => field(object, key) !== undefined)
    .map((key) => key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()))
    .filter((name) => !known.has(name))
}

export function badContent(path: string, what: string): ApiError {
  return new ApiError('invalid_message_format', `${path}: ${what}`)
}
