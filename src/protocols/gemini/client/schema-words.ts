import { copyJson, invalidInput, isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'

const DEPTH_MAX = 64
/** Keywords whose value is a schema, a list of schemas, or a map of schemas. */
const ONE = new Set(['items', 'additionalProperties', 'not', 'contains'])
const MANY = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
/** Google's own keywords, which JSON Schema lacks. */
const DROPPED = new Set(['nullable', 'propertyOrdering', 'example'])
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])

/** A schema in Google's dialect (`type: OBJECT`, `nullable`) as JSON Schema. */
export function jsonSchemaOf(schema: RawObject, path: string, depth = 0): Record<string, unknown> {
  if (depth > DEPTH_MAX) throw invalidInput(path, `is nested deeper than ${DEPTH_MAX} levels`)
  const made: Record<string, unknown> = {}
  for (const key of Object.keys(schema)) {
    const name = key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())
    if (name === '__proto__' || DROPPED.has(name)) continue
    made[name] = valueOf(name, schema[key], path, depth + 1)
  }
  return schema['nullable'] === true ? orNull(made) : made
}

function valueOf(name: string, value: unknown, path: string, depth: number): unknown {
  const inner = (item: unknown): unknown => (isObject(item) ? jsonSchemaOf(item, path, depth) : copyJson(item, path))
  if (name === 'type') return typeof value === 'string' ? value.toLowerCase() : copyJson(value, path)
  // Counts are strings in Google's JSON.
  if (COUNTS.has(name) && typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value)
  if (ONE.has(name)) return inner(value)
  if (MANY.has(name) && Array.isArray(value)) return value.map(inner)
  if (NAMED.has(name) && isObject(value)) {
    const named = Object.keys(value).filter((key) => key !== '__proto__')
    return Object.fromEntries(named.map((key) => [key, inner(value[key])]))
  }
  return copyJson(value, path)
}

function orNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values } = schema
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) }
}
