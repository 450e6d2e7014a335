import type { JsonSchema } from '../../base/schema.ts'
import { readFields, withoutNull, type Read } from '../../kinds/fields/paid-body.ts'
import { field, invalidInput, isObject, type RawObject } from '../../kinds/fields/body-fields.ts'

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

type MemberReader<T> = (object: RawObject, name: string, path: string) => T | undefined

function memberOf<T>(isRight: (value: unknown) => value is T, what: string): MemberReader<T> {
  return (object, name, path) => {
    const value = member(object, name)
    if (value === undefined || isRight(value)) return value
    throw invalidInput(path, what)
  }
}

export const objectMember = memberOf(isObject, 'must be an object')
export const textMember = memberOf((value) => typeof value === 'string', 'must be a string')
export const flagMember = memberOf((value) => typeof value === 'boolean', 'must be a boolean')
const arrayMember = memberOf((value): value is readonly unknown[] => Array.isArray(value), 'must be an array')

export function listMember(object: RawObject, name: string, path: string): readonly unknown[] {
  return arrayMember(object, name, path) ?? []
}

/** The members of a schema, each in either spelling; `path` is the prefix of each name. */
export function readMembers<S extends JsonSchema>(schema: S, given: RawObject, path: string): Read<S> {
  return readFields(schema, inCamelCase(schema, given), path)
}

function inCamelCase({ properties = {} }: JsonSchema, given: RawObject): RawObject {
  const made: Record<string, unknown> = {}
  for (const [name, rules] of Object.entries(properties)) {
    const value = member(given, name)
    const inner = withoutNull(rules)
    made[name] = isObject(value) && inner.properties !== undefined ? inCamelCase(inner, value) : value
  }
  return made
}

/** Names of fields, in camelCase, that are not `known`: they are dropped and named. */
export function unknownMembers(object: RawObject, known: ReadonlySet<string>): readonly string[] {
  return Object.keys(object)
    .filter((key) => field(object, key) !== undefined)
    .map((key) => key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()))
    .filter((name) => !known.has(name))
}
