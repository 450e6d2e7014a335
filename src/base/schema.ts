import type { ErrorName } from './errors.ts'

/** How the reader of a paid body treats a field. The field's JSON Schema does not show it. */
export const READING = Symbol('reading')

type Emptiness = 'empty text' | 'blank text' | 'empty list'

export interface Reading {
  /** The error for a required field that is absent, or that is empty in one of these ways. */
  readonly missing?: { readonly error: Exclude<ErrorName, 'service_unavailable'>; readonly also: readonly Emptiness[] }
  /** The sentence of the refusal after the field's name; absent = the schema's own. */
  readonly says?: string
  /** Reads a value of any form, or throws. The schema's rules are not checked: `read` checks its value itself. */
  readonly read?: (given: unknown, path: string) => unknown
  /** Converts the value after its schema has checked it. */
  readonly turn?: (value: never) => unknown
}

/**
 * One schema for each record of the wire: a JSON Schema (draft 2020-12, which OpenAPI 3.1 uses) that carries the type
 * of its values. The type exists only for the compiler, so that contracts need no library at the start.
 */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly propertyNames?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly not?: JsonSchema
  readonly contentEncoding?: string
  readonly contentMediaType?: string
  readonly [READING]?: Reading
}

/** Names the type of a schema's values; no schema has this key. */
declare const VALUE: unique symbol

export interface Schema<T> extends JsonSchema {
  readonly [VALUE]?: T
}

/** A field that may be left out. */
export interface OptionalField<T> {
  readonly optional: Schema<T>
}

/** The type of a schema's values. */
export type Static<S> = S extends Schema<infer T> ? T : never

type Field = Schema<unknown> | OptionalField<unknown>
export type Fields = Readonly<Record<string, Field>>
type ValueOf<F> = F extends OptionalField<infer T> ? T : F extends Schema<infer T> ? T : never
type OptionalNames<F extends Fields> = {
  [K in keyof F]: F[K] extends OptionalField<unknown> ? K : never
}[keyof F]
type Flat<T> = { readonly [K in keyof T]: T[K] }
/** The object type of these fields. */
export type ObjectOf<F extends Fields> = Flat<
  { readonly [K in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[K]> } & {
    readonly [K in OptionalNames<F>]?: ValueOf<F[K]>
  }
>

/** An object's schema also has its fields, so that another object can reuse them. */
export interface ObjectSchema<F extends Fields> extends Schema<ObjectOf<F>> {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly fields: F
}

type TextRules = Pick<JsonSchema, 'minLength' | 'maxLength' | 'pattern' | 'format' | 'contentEncoding'>
type NumberRules = Pick<JsonSchema, 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf'>
type ListRules = Pick<JsonSchema, 'minItems' | 'maxItems'>

const described = (description: string): { readonly description?: string } =>
  description === '' ? {} : { description }

export function text<T extends string = string>(description = '', rules: TextRules = {}): Schema<T> {
  return { type: 'string', ...described(description), ...rules }
}

/** A text that is not empty. */
export function filled(description = '', maxLength = 500): Schema<string> {
  return text(description, { minLength: 1, maxLength, pattern: '\\S' })
}

/** A time: ISO 8601 in UTC. */
export function time(description = ''): Schema<string> {
  return text(description, { format: 'date-time' })
}

/** A day: `YYYY-MM-DD`. */
export function day(description = ''): Schema<string> {
  return text(description, { format: 'date' })
}

export function number(description = '', rules: NumberRules = {}): Schema<number> {
  return { type: 'number', ...described(description), ...rules }
}

/** An amount in RUB, with at most six decimals. */
export function rub(description = '', rules: NumberRules = {}): Schema<number> {
  return { type: 'number', format: 'rubles', ...described(description), ...rules }
}

/** A percentage with at most two decimals. */
export function percent(description = ''): Schema<number> {
  return { type: 'number', format: 'percent', ...described(description), minimum: 0, maximum: 100 }
}

export function whole(description = '', rules: NumberRules = {}): Schema<number> {
  return { type: 'integer', ...described(description), ...rules }
}

export function flag(description = ''): Schema<boolean> {
  return { type: 'boolean', ...described(description) }
}

/** One value and no other. */
export function only<const T extends string | number | boolean>(value: T, description = ''): Schema<T> {
  return { const: value, ...described(description) }
}

export interface ChoiceSchema<T> extends Schema<T> {
  readonly enum: readonly T[]
}

export function oneOf<const T extends string>(values: readonly T[], description = ''): ChoiceSchema<T> {
  return { type: 'string', enum: values, ...described(description) }
}

export function list<T>(items: Schema<T>, description = '', rules: ListRules = {}): Schema<readonly T[]> {
  return { type: 'array', items, ...described(description), ...rules }
}

/** An object with any keys. */
export function map<T, K extends string = string>(values: Schema<T>, description = ''): Schema<Readonly<Record<K, T>>> {
  return { type: 'object', additionalProperties: values, ...described(description) }
}

/** Any JSON value. */
export function anything(description = ''): Schema<unknown> {
  return described(description)
}

export function nullable<T>(schema: Schema<T>, about = ''): Schema<T | null> {
  if (schema.properties !== undefined) return { anyOf: [schema, { type: 'null' }], ...described(about) }
  const { description = about, ...rest } = schema
  if (rest.type !== undefined && rest.enum === undefined)
    return { ...rest, type: [rest.type, 'null'].flat(), ...described(description) }
  return { anyOf: [rest, { type: 'null' }], ...described(description) }
}

/** A field of a paid body: null counts as absent (wire.md D-0.3). */
export function maybe<T>(schema: Schema<T>): OptionalField<T | null> {
  return optional(nullable(schema))
}

/** The same for each of the fields. */
export function maybeEach<const F extends Readonly<Record<string, Schema<unknown>>>>(
  fields: F,
): { readonly [K in keyof F]: OptionalField<Static<F[K]> | null> } {
  const made = Object.entries(fields).map(([name, field]) => [name, maybe(field)])
  // Each field stays under its name.
  return Object.fromEntries(made) as { readonly [K in keyof F]: OptionalField<Static<F[K]> | null> }
}

/** The same object with further rules. */
export function ruled<F extends Fields>(schema: ObjectSchema<F>, rules: Pick<JsonSchema, 'anyOf'>): ObjectSchema<F> {
  const made = { ...schema, ...rules }
  return Object.defineProperty(made, 'fields', { value: schema.fields }) as typeof made & { readonly fields: F }
}

export function either<const S extends readonly Schema<unknown>[]>(...schemas: S): Schema<Static<S[number]>> {
  return { anyOf: schemas }
}

export function optional<T>(schema: Schema<T>): OptionalField<T> {
  return { optional: schema }
}

/** An object that may have other fields too, as answers of later versions have. */
export function object<const F extends Fields>(fields: F, description = ''): ObjectSchema<F> {
  const required = Object.entries(fields).flatMap(([name, field]) => (isOptional(field) ? [] : [name]))
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
  const schema = {
    type: 'object',
    ...described(description),
    properties,
    ...(required.length === 0 ? {} : { required }),
  }
  return Object.defineProperty(schema, 'fields', { value: fields }) as typeof schema & { readonly fields: F }
}

/** An object that may have other fields, all of whose values have one schema. */
export function open<const F extends Fields, T>(
  fields: F,
  others: Schema<T>,
  description = '',
): ObjectSchema<F> & Schema<ObjectOf<F> & Readonly<Record<string, T>>> {
  const made = object(fields, description)
  const opened = { ...made, additionalProperties: others }
  // The type of the other fields also covers the named ones.
  return Object.defineProperty(opened, 'fields', { value: fields }) as unknown as ObjectSchema<F> &
    Schema<ObjectOf<F> & Readonly<Record<string, T>>>
}

/** A required field with an error of its own if it is absent, or empty in one of the ways in `also`. */
export function needed<T>(
  schema: Schema<T>,
  error: Exclude<ErrorName, 'service_unavailable'>,
  ...also: readonly Emptiness[]
): Schema<T> {
  return { ...schema, [READING]: { ...schema[READING], missing: { error, also } } }
}

/** A field whose refusal says its own sentence. */
export function said<T>(schema: Schema<T>, says: string): Schema<T> {
  return { ...schema, [READING]: { ...schema[READING], says } }
}

/** A field that is converted after its schema has checked it. */
export function turned<V, T>(schema: Schema<V>, turn: (value: V) => T): Schema<T> {
  const rules: JsonSchema = schema
  return { ...rules, [READING]: { ...rules[READING], turn } }
}

/** A field that `read` checks and converts to what its kind needs. */
export function readBy<T>(schema: JsonSchema, read: (given: unknown, path: string) => T): Schema<T> {
  return { ...schema, [READING]: { ...schema[READING], read } }
}

/** The same check with a narrower type, which the code that makes the values guarantees. */
export function narrowed<T>(schema: Schema<unknown>): Schema<T> {
  // The caller knows more about its values than the schema does.
  return schema as Schema<T>
}

/** A body: unknown fields are refused. */
export function body<const F extends Fields>(fields: F, description = ''): ObjectSchema<F> {
  const made = object(fields, description)
  const closed = { ...made, additionalProperties: false }
  return Object.defineProperty(closed, 'fields', { value: fields }) as typeof closed & { readonly fields: F }
}

function isOptional(field: Field | undefined): field is OptionalField<unknown> {
  return field !== undefined && 'optional' in field
}

function schemaOf(field: Field): Schema<unknown> {
  return isOptional(field) ? field.optional : field
}
