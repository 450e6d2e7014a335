import { rubles } from './money.ts'
import type { Fields, ObjectOf, ObjectSchema } from './schema.ts'
import { isoTime } from './time.ts'

/** The name `expires_at` as `expiresAt`. */
type Camel<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K
type OrNull<T, V> = null extends V ? T | null : T

/** Whether a record has a field of the wire, in one of the forms that `wire` reads. */
type Has<K extends string, V, R> =
  R extends Readonly<Record<Camel<K>, V>>
    ? true
    : R extends Readonly<Record<`${Camel<K>}Ms`, OrNull<number, V>> | Record<`${Camel<K>}Micro`, OrNull<bigint, V>>>
      ? true
      : false

/** The fields of the wire that a record does not have. */
type Missing<T, R> = { readonly [K in keyof T as Has<K & string, T[K], R> extends true ? never : K]: T[K] }

/**
 * A record as its schema shows it, in the order of the schema and without anything else: `expires_at` is the record's
 * `expiresAt`, or the time of its `expiresAtMs`; `amount` is its `amount`, or its `amountMicro` in RUB. `more` has the
 * fields that the record lacks, or has in another form.
 */
export function wire<const F extends Fields, R extends object>(
  { properties }: ObjectSchema<F>,
  record: R,
  ...[more = {}]: object extends Missing<ObjectOf<F>, R>
    ? [more?: Partial<ObjectOf<F>>]
    : [more: Missing<ObjectOf<F>, R> & Partial<ObjectOf<F>>]
): ObjectOf<F> {
  const own = new Map<string, unknown>(Object.entries(record))
  const given = new Map<string, unknown>(Object.entries(more))
  const fields = Object.keys(properties).map((name) => [name, given.has(name) ? given.get(name) : valueOf(own, name)])
  // The type of `more` requires the fields that the record lacks.
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as ObjectOf<F>
}

/** undefined = the record has no such field. */
function valueOf(record: ReadonlyMap<string, unknown>, name: string): unknown {
  const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  const [plain, atMs, micro] = [record.get(camel), record.get(`${camel}Ms`), record.get(`${camel}Micro`)]
  if (plain !== undefined) return plain
  if (typeof atMs === 'number') return isoTime(atMs)
  if (typeof micro === 'bigint') return rubles(micro)
  return atMs === null || micro === null ? null : undefined
}
