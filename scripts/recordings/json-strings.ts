export type JsonPath = readonly (string | number)[]

/** Rewrites a JSON text. Each result has as many UTF-16 units as the original. */
export interface JsonVisitor {
  string(value: string, path: JsonPath): string
  /** `path` is that of the object. */
  key?(name: string, path: JsonPath): string
  /** A number as it is written. */
  number?(spelled: string, path: JsonPath): string
}

interface Level {
  readonly isObject: boolean
  key: string
  index: number
  expectsKey: boolean
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|.)/y

/**
 * Rewrites the strings of a JSON text in place: white space, order and the spelling of every escape stay. A text that
 * is cut off or malformed is rewritten as far as it can be read.
 */
export function rewriteJson(text: string, visitor: JsonVisitor): string {
  const levels: Level[] = []
  const pathOf = (): JsonPath => levels.map(({ isObject, key, index }) => (isObject ? key : index))
  let out = ''
  let at = 0
  while (at < text.length) {
    const sign = text.charAt(at)
    const level = levels.at(-1)
    if (sign === '"') {
      const token = readString(text, at)
      const isKey = level?.isObject === true && level.expectsKey
      if (isKey) level.key = token.value
      out += spell(
        token,
        isKey
          ? (visitor.key?.(token.value, pathOf().slice(0, -1)) ?? token.value)
          : visitor.string(token.value, pathOf()),
      )
      at = token.end
      continue
    }
    NUMBER.lastIndex = at
    const spelled = NUMBER.exec(text)?.[0]
    if (spelled !== undefined) {
      out += visitor.number?.(spelled, pathOf()) ?? spelled
      at += spelled.length
      continue
    }
    if (sign === '{' || sign === '[')
      levels.push({ isObject: sign === '{', key: '', index: 0, expectsKey: sign === '{' })
    else if (sign === '}' || sign === ']') levels.pop()
    else if (sign === ':' && level !== undefined) level.expectsKey = false
    else if (sign === ',' && level !== undefined) {
      level.expectsKey = level.isObject
      level.index += 1
    }
    out += sign
    at += 1
  }
  return out
}

interface StringToken {
  readonly value: string
  /** How each UTF-16 unit of the value is spelled. */
  readonly spelled: readonly string[]
  readonly isClosed: boolean
  readonly end: number
}

function readString(text: string, start: number): StringToken {
  const spelled: string[] = []
  let value = ''
  let at = start + 1
  while (at < text.length && text.charAt(at) !== '"') {
    ESCAPE.lastIndex = at
    const unit = text.charAt(at) === '\\' ? (ESCAPE.exec(text)?.[0] ?? '\\') : text.charAt(at)
    spelled.push(unit)
    value += unit.length > 1 ? unescaped(unit) : unit
    at += unit.length
  }
  return { value, spelled, isClosed: at < text.length, end: Math.min(text.length, at + 1) }
}

function unescaped(unit: string): string {
  const value: unknown = JSON.parse(`"${unit}"`)
  if (typeof value !== 'string') throw new Error(`${unit} is no escape`)
  return value
}

function spell({ value, spelled, isClosed }: StringToken, next: string): string {
  if (next.length !== value.length)
    throw new Error(`${JSON.stringify(value)} became ${next.length} units of ${value.length}`)
  const units = spelled.map((unit, index) => respelled(unit, value.charAt(index), next.charAt(index)))
  return `"${units.join('')}${isClosed ? '"' : ''}`
}

function respelled(unit: string, before: string, after: string): string {
  if (before === after) return unit
  if (unit.startsWith('\\u')) {
    const hex = after.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${unit === unit.toUpperCase() ? hex.toUpperCase() : hex}`
  }
  if (unit.length > 1 || after === '"' || after === '\\' || after < ' ')
    throw new Error(`${unit} cannot become ${JSON.stringify(after)} in the same spelling`)
  return after
}
