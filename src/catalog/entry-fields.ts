import { body, either, flag, list, map, maybeEach, narrowed, number, oneOf, text, whole } from '../base/schema.ts'
import type { Schema } from '../base/schema.ts'
import type { FieldReader } from './field-reader.ts'

/** A field of an entry of the catalogue: how it is documented, and how it is read. */
export interface EntryField<T> {
  readonly schema: Schema<unknown>
  /** null = it is absent or null, or the reader has a problem with it. */
  readonly read: (reader: FieldReader, key: string) => T | null
}

type EntryFields = Readonly<Record<string, EntryField<unknown>>>
type ValueOf<F> = F extends EntryField<infer T> ? T : never
/** The entry that these fields make: only given ones are present, so that defaults are not written back. */
export type EntryOf<F extends EntryFields> = { readonly [K in keyof F]?: ValueOf<F[K]> }

/** A number is also accepted as a name: `model: 4` means the name "4". */
export const NAME = narrowed<string>({ type: ['string', 'number'] })
/** The decimal of a price; a text is also accepted, and read exactly. */
export const DECIMAL = either(
  number('', { minimum: 0, maximum: 1_000_000_000 }),
  text('', { pattern: '^[+]?[0-9]{1,40}([.][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$' }),
)

/** The same, but above 0. */
export const ABOVE_0 = narrowed<number | string>({
  anyOf: [
    { type: 'number', exclusiveMinimum: 0, maximum: 1_000_000_000 },
    { type: 'string', pattern: '^(?=[^eE]*[1-9])[+]?[0-9]{1,40}([.][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$' },
  ],
})

/** The kinds of fields. */
export const field = {
  text: (description = ''): EntryField<string> => ({
    schema: description === '' ? NAME : { ...NAME, description },
    read: (reader, key) => reader.text(key),
  }),
  texts: (description = ''): EntryField<readonly string[]> => ({
    schema: list(NAME, description),
    read: (reader, key) => reader.texts(key),
  }),
  wholes: (): EntryField<readonly number[]> => ({ schema: list(NAME), read: (reader, key) => reader.wholes(key) }),
  /** `wrong` = how further checks treat a value that is no flag. */
  flag: (description = '', wrong = false): EntryField<boolean> => ({
    schema: flag(description),
    read: (reader, key) => (reader.has(key) ? reader.flag(key, wrong) : null),
  }),
  whole: (least: number, most = Number.MAX_SAFE_INTEGER, description = ''): EntryField<number> => ({
    schema: whole(description, { minimum: least, maximum: most }),
    read: (reader, key) => reader.whole(key, least, most),
  }),
  oneOf: <const T extends string>(names: readonly T[]): EntryField<T> => ({
    schema: oneOf(names),
    read: (reader, key) => reader.oneOf(key, names),
  }),
  names: <const T extends string>(known: readonly T[]): EntryField<readonly T[]> => ({
    schema: list(oneOf(known)),
    read: (reader, key) => reader.names(key, known),
  }),
  /** The reader does not check that the value is above 0: the user of the field does, with a sentence that says why. */
  above0: { schema: ABOVE_0, read: (reader, key) => reader.decimal(key) } as EntryField<string>,
  /** A map with these fields and no others. The reader reports `needed` as required. */
  map: <F extends EntryFields>(fields: F, description = '', needed?: keyof F & string): EntryField<EntryOf<F>> => ({
    schema: body(
      { ...fieldSchemas(fields), ...(needed === undefined ? {} : { [needed]: fields[needed]?.schema ?? NAME }) },
      description,
    ),
    read: (reader, key) => {
      const given = reader.map(key)
      if (given === null) return null
      if (needed !== undefined && !given.has(needed)) given.problem(needed, 'required')
      const entry = readFields(given, fields)
      given.done()
      return entry
    },
  }),
  /** A map whose keys the writer chooses. */
  open: <T>(values: Schema<unknown>, read: (given: FieldReader) => T): EntryField<T> => ({
    schema: map(values),
    read: (reader, key) => {
      const given = reader.map(key)
      return given === null ? null : read(given)
    },
  }),
} as const

/** The field with a further check of its value after it is read. */
export function judged<T>(
  { schema, read }: EntryField<T>,
  judge: (value: T, reader: FieldReader, key: string) => void,
): EntryField<T> {
  return {
    schema,
    read: (reader, key) => {
      const value = read(reader, key)
      if (value !== null) judge(value, reader, key)
      return value
    },
  }
}

/** The documentation of the fields: each may be null or left out. */
export function fieldSchemas(fields: EntryFields): ReturnType<typeof maybeEach> {
  return maybeEach(Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])))
}

export function readFields<F extends EntryFields>(reader: FieldReader, fields: F): EntryOf<F> {
  return new GivenFields(reader, fields).all()
}

/**
 * Fields of one map, each read once. Problems are in the order of reading; the entry's fields are in the order of the
 * table.
 */
export class GivenFields<F extends EntryFields> {
  readonly #reader: FieldReader
  readonly #fields: F
  readonly #values = new Map<string, unknown>()

  constructor(reader: FieldReader, fields: F) {
    this.#reader = reader
    this.#fields = fields
  }

  get<K extends keyof F & string>(name: K): ValueOf<F[K]> | null {
    if (!this.#values.has(name)) this.#values.set(name, this.#fields[name]?.read(this.#reader, name) ?? null)
    // The value was read by the field of this name.
    return this.#values.get(name) as ValueOf<F[K]> | null
  }

  /** Reads these fields before the others. */
  read(...names: readonly (keyof F & string)[]): void {
    for (const name of names) this.get(name)
  }

  all(): EntryOf<F> {
    const entries = Object.keys(this.#fields).map((name) => [name, this.get(name)] as const)
    // Each value was read by the field of its name.
    return Object.fromEntries(entries.filter(([, value]) => value !== null)) as EntryOf<F>
  }
}
