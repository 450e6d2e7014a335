import { readEmail } from '../../base/mail-address.ts'
import { ApiError } from '../../base/errors.ts'
import { compare, decimalText, microFromRubles, microOf, parseDecimal } from '../../base/money.ts'
import { fieldError } from '../../base/refusals.ts'
import type { JsonSchema, Schema, Static } from '../../base/schema.ts'
import { isObject } from './body-fields.ts'

/**
 * A body of which the route checks some fields itself: the reader allows them to be absent, and does not check their
 * bounds.
 */
export type Judged<T, L extends keyof T> = Omit<T, L> & { readonly [K in L]?: T[K] | null }

/** Reads the body of a request by the schema of its route. */
export interface BodyReader<T> {
  (): T
  /** `late` are the fields that the route checks itself. */
  <L extends keyof T>(...late: readonly L[]): Judged<T, L>
}

/**
 * The body by its schema, field by field in the schema's order, or the refusal of the first wrong field. Then an
 * unknown field is refused by name (operator.md 4). `late` names the fields that the route checks itself.
 */
export function readBody<S extends JsonSchema, L extends keyof Static<S> = never>(
  schema: S,
  json: unknown,
  late: readonly L[] = [],
): Judged<Static<S>, L> {
  // Each field was checked against the schema.
  return objectOf(schema, json === undefined ? {} : json, '', new Set<unknown>(late)) as Judged<Static<S>, L>
}

/** Reads the body of a call by the row of its route. */
export function bodyReader<T>({ body }: { readonly body?: JsonSchema }, json: unknown): BodyReader<T> {
  function read(): T
  function read<L extends keyof T>(...late: readonly L[]): Judged<T, L>
  function read(...late: readonly (keyof T)[]): unknown {
    if (body === undefined) throw new Error('The row of this route has no body.')
    // `T` is the type of the row's body.
    return readBody(body as Schema<T>, json, late)
  }
  return read
}

const MAP_MAX = 100
const NAME_SHOWN = 80
const NONE: ReadonlySet<unknown> = new Set()

function objectOf(
  schema: JsonSchema,
  given: unknown,
  path: string,
  late: ReadonlySet<unknown> = NONE,
): Readonly<Record<string, unknown>> {
  if (!isObject(given)) throw fieldError(`${path}body`, 'object')
  const { properties = {}, required = [] } = schema
  const read: Record<string, unknown> = {}
  for (const [name, rules] of Object.entries(properties)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    const isLate = late.has(name)
    const field = fieldOf(rules, value, path + name, required.includes(name) && !isLate, isLate)
    if (field !== undefined) read[name] = field
  }
  refuseUnknown(Object.keys(given), Object.keys(properties), path)
  return read
}

/** Checks each value of a map, and the length of each name. */
function mapOf(
  values: JsonSchema,
  names: JsonSchema,
  given: unknown,
  field: string,
): Readonly<Record<string, unknown>> {
  if (!isObject(given)) throw fieldError(field, 'object')
  const entries = Object.entries(given)
  if (entries.length > MAP_MAX)
    throw fieldError(field, 'items_most', { most: MAP_MAX }, `must have at most ${MAP_MAX} entries`)
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const path = `${field}.${name.slice(0, NAME_SHOWN)}`
      textOf(names, name, path)
      return [name, fieldOf(values, value, path, true, false)]
    }),
  )
}

function refuseUnknown(given: readonly string[], names: readonly string[], path: string): void {
  const unknown = given.filter((name) => !names.includes(name))
  const [first] = unknown
  if (first === undefined) return
  const known = names.join(', ')
  const message = `Unknown field${unknown.length > 1 ? 's' : ''}: ${unknown.map((name) => path + name).join(', ')}. Known: ${known}`
  throw new ApiError('invalid_input', message, {
    metadata: { field: path + first, check: 'unknown_field', params: { known } },
  })
}

/** undefined = not given; null where the schema allows it. */
function fieldOf(schema: JsonSchema, given: unknown, field: string, isRequired: boolean, isLate: boolean): unknown {
  const [rules, isNullable] = withoutNull(schema)
  if (given === null && (isNullable || isLate)) return null
  if (given === undefined && !isRequired) return undefined
  if (rules.format === 'decimal' && given !== undefined && given !== null) return decimalOf(rules, given, field)
  if (rules.type === 'integer') return wholeOf(rules, given, field)
  if (rules.type === 'boolean') return flagOf(given, field)
  if (given === undefined || given === null) throw fieldError(field, 'required')
  if (rules.enum !== undefined) return choiceOf(rules.enum.map(String), given, field)
  if (rules.type === 'string') return rules.format === 'date-time' ? timeOf(given, field) : textOf(rules, given, field)
  if (rules.type === 'number') return amountOf(rules, given, field, isLate)
  if (rules.type === 'array') return textsOf(rules, given, field)
  if (rules.type === 'object')
    return typeof rules.additionalProperties === 'object'
      ? mapOf(rules.additionalProperties, rules.propertyNames ?? {}, given, field)
      : objectOf(rules, given, `${field}.`)
  throw new Error(`A body has a field that nothing reads: ${field}.`)
}

/** The schema for values other than null, and whether null is allowed. */
function withoutNull(schema: JsonSchema): readonly [rules: JsonSchema, isNullable: boolean] {
  const { type, anyOf } = schema
  if (typeof type === 'object') {
    const [only] = type.filter((name) => name !== 'null')
    return only === undefined ? [schema, true] : [{ ...schema, type: only }, type.includes('null')]
  }
  const [only] = anyOf?.filter((each) => each.type !== 'null') ?? []
  // A decimal is a number or a text, and the rules of the number say which.
  const rules = only?.anyOf?.[0] ?? only
  return rules === undefined ? [schema, false] : [rules, anyOf?.some((each) => each.type === 'null') ?? false]
}

function textOf({ maxLength = 500, format }: JsonSchema, given: unknown, field: string): string {
  if (typeof given !== 'string' || given.trim() === '' || given.length > maxLength)
    throw fieldError(field, 'text_length', { least: 1, most: maxLength })
  if (format === 'email') readEmail(given)
  return given
}

function choiceOf(choices: readonly string[], given: unknown, field: string): string {
  const found = choices.find((choice) => choice === given)
  if (found !== undefined) return found
  const allowed = choices.join(', ')
  throw fieldError(field, 'one_of', { allowed })
}

function flagOf(given: unknown, field: string): boolean {
  if (typeof given === 'boolean') return given
  throw fieldError(field, 'flag')
}

/** A missing number is refused with a sentence that says its bounds. */
function wholeOf(
  { minimum: least = 0, maximum: most = Number.MAX_SAFE_INTEGER }: JsonSchema,
  given: unknown,
  field: string,
): number {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= least && given <= most) return given
  throw fieldError(field, 'whole', { least, most })
}

/** An exact decimal above 0, given as a number or a text. */
function decimalOf({ maximum: most = 0 }: JsonSchema, given: unknown, field: string): number | string {
  const written = typeof given === 'number' ? `${given}` : given
  const decimal = typeof written === 'string' ? parseDecimal(written) : null
  if (decimal === null || decimal.digits < 0n || compare(decimal, { digits: BigInt(most), scale: 0 }) > 0)
    throw fieldError(field, 'decimal', { most: `${most}` })
  if (decimal.digits === 0n) throw fieldError(field, 'above_zero')
  return typeof given === 'number' ? given : decimalText(decimal)
}

/** A number with at most six decimals: RUB, or percent. */
function amountOf(rules: JsonSchema, given: unknown, field: string, isLate: boolean): number {
  if (typeof given !== 'number' || microFromRubles(given) === null) throw fieldError(field, 'amount')
  const wrong = isLate ? null : boundError(rules, given, field)
  if (wrong !== null) throw wrong
  return given
}

function boundError(
  { format, minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity }: JsonSchema,
  amount: number,
  field: string,
): ApiError | null {
  if (format === 'percent')
    return amount >= minimum && amount <= maximum && microOf(amount) % 10_000n === 0n
      ? null
      : fieldError(field, 'percentage')
  if (amount < minimum) return fieldError(field, 'not_negative')
  if (amount > maximum)
    return fieldError(field, 'decimal', { most: `${maximum}` }, `must be a number from 0 to ${maximum}`)
  return amount > exclusiveMinimum ? null : fieldError(field, 'above_zero')
}

function timeOf(given: unknown, field: string): string {
  if (typeof given === 'string' && !Number.isNaN(Date.parse(given))) return given
  throw fieldError(field, 'time')
}

function textsOf(
  { minItems = 0, maxItems = 1_000, items }: JsonSchema,
  given: unknown,
  field: string,
): readonly string[] {
  if (
    !Array.isArray(given) ||
    given.length < minItems ||
    given.length > maxItems ||
    !given.every((item): item is string => typeof item === 'string' && item !== '')
  )
    throw fieldError(field, 'list')
  const choices = items?.enum?.map(String)
  return choices === undefined ? [...given] : given.map((item) => choiceOf(choices, item, field))
}
