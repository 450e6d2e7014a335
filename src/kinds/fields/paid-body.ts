import { ApiError } from '../../base/errors.ts'
import { maybe, oneOf, READING, readBy, type JsonSchema, type OptionalField, type Static } from '../../base/schema.ts'
import { bodyObject, field, invalidInput, isObject, quoted, type RawObject } from './body-fields.ts'

/** The fields after they are read: a field that is null is left out. */
export type Read<S> = { readonly [K in keyof Static<S>]: Exclude<Static<S>[K], null> }

/**
 * A paid body by its schema: required fields first, then types and ranges in the schema's order (wire.md 7.3). null
 * counts as absent (D-0.3), and unknown fields are not read.
 */
export function readPaidBody<S extends JsonSchema>(schema: S, json: unknown): Read<S> {
  const body = bodyObject(json)
  for (const planned of fieldsOf(schema)) refuseMissing(planned, field(body, planned.name))
  return readFields(schema, body, '')
}

interface PlannedField {
  readonly name: string
  /** The rules of a value that is not null. */
  readonly rules: JsonSchema
  readonly isRequired: boolean
}

/** The fields of schemas that were read before: a schema never changes, and every chat reads one. */
const PLANNED = new WeakMap<JsonSchema, readonly PlannedField[]>()

function fieldsOf(schema: JsonSchema): readonly PlannedField[] {
  const known = PLANNED.get(schema)
  if (known !== undefined) return known
  const { properties = {}, required = [] } = schema
  const planned = Object.entries(properties).map(([name, rules]) => ({
    name,
    rules: withoutNull(rules),
    isRequired: required.includes(name),
  }))
  PLANNED.set(schema, planned)
  return planned
}

/** An empty value counts as missing even if the field may be absent. */
function refuseMissing({ name, rules, isRequired }: PlannedField, given: unknown): void {
  const missing = rules[READING]?.missing
  if (missing === undefined) return
  const isMissing =
    given === undefined
      ? isRequired
      : (given === '' && missing.also.includes('empty text')) ||
        (typeof given === 'string' && given.trim() === '' && missing.also.includes('blank text')) ||
        (Array.isArray(given) && given.length === 0 && missing.also.includes('empty list'))
  if (isMissing) throw new ApiError(missing.error, `Parameter '${name}' is required`)
}

/** The fields of an object in a paid body; `path` is the prefix of each name. */
export function readFields<S extends JsonSchema>(schema: S, given: RawObject, path: string): Read<S> {
  const read: Record<string, unknown> = {}
  for (const { name, rules, isRequired } of fieldsOf(schema)) {
    const value = field(given, name)
    if (value !== undefined || isRequired) read[name] = valueOf(rules, value, path + name)
  }
  // Each field was checked against the schema.
  return read as Read<S>
}

/** One value of a paid body; `path` is its path in the body. */
export function readValue<S extends JsonSchema>(schema: S, given: unknown, path: string): Static<S> {
  // The value was checked against the schema.
  return valueOf(schema, given, path) as Static<S>
}

/** The schema of a field's values that are not null. */
export function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf } = schema
  const isNullable = anyOf?.some(({ type }) => type === 'null') === true
  return isNullable ? (anyOf.find(({ type }) => type !== 'null') ?? schema) : schema
}

/** `told` is the sentence of the list that contains the value. */
function valueOf(rules: JsonSchema, given: unknown, path: string, told?: string): unknown {
  const { read, turn, says = told } = rules[READING] ?? {}
  if (read !== undefined) return read(given, path)
  const value = checked(rules, given, path, says)
  // `turn` takes values of this schema.
  return turn === undefined ? value : turn(value as never)
}

function checked(rules: JsonSchema, given: unknown, path: string, says: string | undefined): unknown {
  const type = typeof rules.type === 'object' ? rules.type.find((name) => name !== 'null') : rules.type
  if (type === 'array') return listOf(rules, given, path, says)
  if (type === 'object') {
    if (!isObject(given)) throw invalidInput(path, says ?? 'must be an object')
    return rules.properties === undefined ? given : readFields(rules, given, `${path}.`)
  }
  const wrong = faultOf(rules, type, given)
  if (wrong !== null) throw invalidInput(path, says ?? wrong)
  return given
}

function listOf(rules: JsonSchema, given: unknown, path: string, says: string | undefined): readonly unknown[] {
  const { items = {}, minItems = 0, maxItems = Infinity } = rules
  if (!Array.isArray(given)) throw invalidInput(path, says ?? 'must be an array')
  if (given.length < minItems || given.length > maxItems)
    throw invalidInput(path, says ?? `must hold at most ${maxItems} items, got ${given.length}`)
  const isOne = says !== undefined && items[READING]?.read === undefined
  return given.map((item: unknown, index) => valueOf(items, item, isOne ? path : `${path}[${index}]`, says))
}

/** What is wrong with a value that is neither an object nor a list; null = nothing. */
function faultOf(rules: JsonSchema, type: string | undefined, given: unknown): string | null {
  const { enum: choices } = rules
  if ('const' in rules) return given === rules.const ? null : `must be ${rules.const}`
  if (choices !== undefined) return choices.includes(given) ? null : `must be one of ${choices.join(', ')}`
  if (type === 'string') return textFault(rules, given)
  if (type === 'boolean') return typeof given === 'boolean' ? null : 'must be a boolean'
  if (type === 'integer') return Number.isSafeInteger(given) && isWithin(rules, given) ? null : wholeRule(rules)
  if (type === 'number') return Number.isFinite(given) && isWithin(rules, given) ? null : numberRule(rules)
  throw new Error('A paid body has a field that nothing reads.')
}

function textFault({ minLength = 0, maxLength = Infinity }: JsonSchema, given: unknown): string | null {
  if (typeof given !== 'string') return 'must be a string'
  if (given.length >= minLength && given.length <= maxLength) return null
  return maxLength === Infinity
    ? 'must be a non-empty string'
    : `must be a string of ${minLength} to ${maxLength} characters`
}

function isWithin(
  { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity }: JsonSchema,
  given: unknown,
): boolean {
  return typeof given === 'number' && given >= minimum && given <= maximum && given > exclusiveMinimum
}

const MOST = Number.MAX_SAFE_INTEGER

function wholeRule({ minimum = -MOST, maximum = MOST }: JsonSchema): string {
  if (maximum !== MOST) return `must be an integer between ${minimum} and ${maximum}`
  return minimum === -MOST ? 'must be an integer' : `must be an integer of at least ${minimum}`
}

function numberRule({ minimum, maximum, exclusiveMinimum }: JsonSchema): string {
  if (exclusiveMinimum !== undefined) return `must be greater than ${exclusiveMinimum} and at most ${maximum}`
  if (maximum !== undefined) return `must be between ${minimum} and ${maximum}`
  return minimum === undefined ? 'must be a number' : `must be at least ${minimum}`
}

/** `response_format` of a kind with fixed formats. */
export function formatField<T extends string>(formats: readonly T[], about: string): OptionalField<T | null> {
  const read = (given: unknown): T => {
    const format = formats.find((name) => name === given)
    if (format !== undefined) return format
    const got = typeof given === 'string' ? `, got '${quoted(given)}'` : ''
    throw new ApiError('invalid_response_format', `Invalid response_format: must be one of ${formats.join(', ')}${got}`)
  }
  return maybe(readBy(oneOf(formats, about), read))
}
