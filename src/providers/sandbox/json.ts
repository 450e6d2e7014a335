import { textOf } from '../../protocols/wire/raw-json.ts'
import type { JsonObject } from '../../lib/json-object.ts'

/** The most values for one schema: a branching reference would otherwise double them at each level. */
const VALUES_MAX = 2_000
/** Below this depth optional parts are left out. */
const DEPTH_MAX = 6
const DEPTH_END = 64
const ITEMS_MAX = 100
const CHARS_MAX = 1_000

const FORMATS: ReadonlyMap<string, string> = new Map([
  ['date-time', '2026-01-02T03:04:05Z'],
  ['date', '2026-01-02'],
  ['time', '03:04:05Z'],
  ['duration', 'P1D'],
  ['email', 'sandbox@example.com'],
  ['hostname', 'example.com'],
  ['ipv4', '192.0.2.1'],
  ['ipv6', '2001:db8::1'],
  ['uri', 'https://example.com/'],
  ['url', 'https://example.com/'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
])

/**
 * A value that satisfies a JSON Schema, as far as its keywords need no search (`pattern`, `not` and `if` are ignored).
 * `text` stands where any text may.
 */
export function instanceOf(schema: unknown, text: string): unknown {
  return new Instance(schema, text).value(schema, 0)
}

class Instance {
  readonly #root: unknown
  readonly #text: string
  #left = VALUES_MAX

  constructor(root: unknown, text: string) {
    this.#root = root
    this.#text = text
  }

  value(given: unknown, depth: number): unknown {
    this.#left -= 1
    const schema = this.#resolved(given)
    if (schema === null || depth > DEPTH_END || this.#left < 0) return this.#text
    if ('const' in schema) return schema['const']
    const [first] = listOf(schema['enum'])
    if (first !== undefined) return first
    const choice = this.#choice(schema, depth)
    if (choice !== null) return this.value(choice, depth)
    return this.#typed(schema, depth)
  }

  #typed(schema: JsonObject, depth: number): unknown {
    switch (typeOf(schema)) {
      case 'object':
        return this.#object(schema, depth)
      case 'array':
        return this.#array(schema, depth)
      case 'integer':
      case 'number':
        return numberOf(schema, typeOf(schema) === 'integer')
      case 'boolean':
        return true
      case 'null':
        return null
      default:
        return this.#string(schema)
    }
  }

  /** Follows references and merges the parts of `allOf`; null = anything is valid. */
  #resolved(given: unknown): JsonObject | null {
    let schema = schemaOf(given)
    for (let steps = 0; schema !== null && typeof schema['$ref'] === 'string' && steps < DEPTH_MAX; steps += 1) {
      const { $ref: reference, ...beside } = schema
      const target = schemaOf(this.#named(String(reference)))
      schema = target === null ? beside : { ...target, ...beside }
    }
    const parts = listOf(schema?.['allOf'])
    if (schema === null || parts.length === 0) return schema
    const { allOf: _parts, ...own } = schema
    return parts.reduce<JsonObject>((whole, part) => joined(whole, this.#resolved(part) ?? {}), own)
  }

  #named(reference: string): unknown {
    if (!reference.startsWith('#')) return null
    const names = reference.split('/').slice(1, DEPTH_END)
    return names.reduce<unknown>(
      (node, name) => schemaOf(node)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
      this.#root,
    )
  }

  /** Takes the first alternative that is not null; below a certain depth null, where it is allowed. */
  #choice(schema: JsonObject, depth: number): unknown {
    const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
    if (alternatives.length === 0) return null
    const isNull = (part: unknown): boolean => schemaOf(part)?.['type'] === 'null'
    const chosen = alternatives.find((part) => isNull(part) === depth > DEPTH_MAX) ?? alternatives[0]
    const { anyOf: _any, oneOf: _one, ...own } = schema
    return joined(own, this.#resolved(chosen) ?? {})
  }

  #object(schema: JsonObject, depth: number): unknown {
    const required = new Set(listOf(schema['required']).map(String))
    const entries: [string, unknown][] = []
    for (const [name, property] of Object.entries(schemaOf(schema['properties']) ?? {})) {
      if (!required.has(name) && (depth > DEPTH_MAX || this.#left <= 0)) continue
      entries.push([name, this.value(property, depth + 1)])
      required.delete(name)
    }
    for (const name of required) entries.push([name, this.value(schema['additionalProperties'], depth + 1)])
    // From pairs, so that a property named __proto__ is like any other.
    return Object.fromEntries(entries)
  }

  #array(schema: JsonObject, depth: number): unknown {
    const least = Math.min(ITEMS_MAX, countOf(schema['minItems']) ?? 0)
    const most = countOf(schema['maxItems']) ?? ITEMS_MAX
    const places = listOf(schema['prefixItems'])
    const wished = Math.max(least, depth > DEPTH_MAX || this.#left <= 0 ? 0 : Math.max(1, places.length))
    const options = listOf(this.#resolved(schema['items'])?.['enum'])
    // Goes through a list of choices in turn, since items may have to differ.
    return Array.from({ length: Math.min(wished, most) }, (_value, index) =>
      index < places.length
        ? this.value(places[index], depth + 1)
        : (options[index] ?? this.value(schema['items'], depth + 1)),
    )
  }

  #string(schema: JsonObject): string {
    const known = FORMATS.get(textOf(schema['format']) ?? '')
    if (known !== undefined) return known
    const most = countOf(schema['maxLength']) ?? CHARS_MAX
    const least = Math.min(CHARS_MAX, countOf(schema['minLength']) ?? 0)
    return this.#text.padEnd(least, '.').slice(0, most)
  }
}

function typeOf(schema: JsonObject): unknown {
  const { type } = schema
  if (Array.isArray(type)) return type.find((name) => name !== 'null') ?? 'null'
  if (type !== undefined) return type
  if (schema['properties'] !== undefined || schema['required'] !== undefined) return 'object'
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array'
  return schema['minimum'] !== undefined || schema['maximum'] !== undefined ? 'number' : 'string'
}

/** The conjunction of two schemas: their requirements for the same part add up. */
function joined(one: JsonObject, other: JsonObject): JsonObject {
  const properties = { ...schemaOf(one['properties']), ...schemaOf(other['properties']) }
  const required = [...listOf(one['required']), ...listOf(other['required'])]
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  }
}

function numberOf(schema: JsonObject, whole: boolean): number {
  const above = amountOf(schema['exclusiveMinimum'])
  const below = amountOf(schema['exclusiveMaximum'])
  const most =
    amountOf(schema['maximum']) ?? (below === null ? null : below - (whole ? 1 : Math.abs(below) * 1e-6 + 1e-6))
  const least =
    amountOf(schema['minimum']) ?? (above === null ? null : above + (whole ? 1 : Math.abs(above) * 1e-6 + 1e-6))
  const step = amountOf(schema['multipleOf'])
  let value = least ?? (most !== null && most < 1 ? most : 1)
  if (whole) value = least === null ? Math.floor(value) : Math.ceil(value)
  if (step !== null && step > 0) value = Math.ceil(value / step) * step
  return most !== null && value > most ? most : value
}

function schemaOf(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function amountOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : null
}
