import type { ErrorName } from './errors.ts'
import { rubles } from './money.ts'
import {
  type Fields,
  type JsonSchema,
  type ObjectOf,
  type ObjectSchema,
  type Static,
  body,
  filled,
  nullable,
  optional,
} from './schema.ts'
import { isoTime } from './time.ts'

/**
 * The proof of a signed-in user before a way to sign in is added or removed: the password or a code (from the
 * authenticator, or a recovery code). A user who has neither leaves both out and must have signed in within the last
 * ten minutes, else 403 `access_denied`. A wrong proof is a 400 `invalid_input`; 429 after too many.
 */
export const ProofBody = body(
  { password: optional(nullable(filled('', 1_000))), code: optional(nullable(filled('', 100))) },
  'The password, or a code of the authenticator. Who has neither has signed in in the last ten minutes.',
)
export type ProofBody = Static<typeof ProofBody>

/** An example request: readers can send it, and a test sends it. */
export interface RouteExample {
  /** Values of the path's parameters. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The input and answer of a route: the source of its type, its check and its page in the reference. */
export interface WireRoute {
  readonly summary: string
  /** Needs no key, though it is under `/v1`. */
  readonly open?: true
  /** Needs a management key. */
  readonly manages?: true
  /** Its record has an ETag; a change takes `If-Match`, and PUT `If-None-Match` too. */
  readonly versioned?: true
  /** The route has a body but costs nothing. */
  readonly free?: true
  readonly query?: ObjectSchema<Fields>
  readonly body?: JsonSchema
  /** The body of a success, or its media type if it is not JSON. */
  readonly answer: JsonSchema | MediaType
  /** The status of a success; absent = 200. */
  readonly status?: 200 | 201 | 202 | 302
  /** Another status of a success, with the same body. */
  readonly alsoStatus?: 200 | 201
  /** Refusals of this route beyond those of its plane and of every route (`src/api/reference/route-table.ts`). */
  readonly errors?: readonly ErrorName[]
  readonly example?: RouteExample
  /** Its records by their names in the reference, where those are not listed there. */
  readonly records?: Readonly<Record<string, JsonSchema>>
}

export interface MediaType {
  readonly media: string
}

type Has<K extends string, V> = V extends JsonSchema ? { readonly [N in K]: Static<V> } : unknown

/** The body of a route of an API. */
export type BodyOf<R> = R extends { readonly body: infer B } ? B : never

/** The types of an API, by `METHOD path`. GET takes `query`, the others `body`; `answer` is the JSON of a success. */
export type ApiOf<T extends Readonly<Record<string, WireRoute>>> = {
  readonly [K in keyof T]: { readonly answer: Static<T[K]['answer']> } & (T[K] extends { readonly query: infer Q }
    ? Has<'query', Q>
    : unknown) &
    (T[K] extends { readonly body: infer B } ? Has<'body', B> : unknown)
}

/** The name `expires_at` as `expiresAt`. */
type Camel<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K
type OrNull<T, V> = null extends V ? T | null : T

/** Whether a record has a field of the wire, in one of the forms that `wire` reads. */
type Sends<K extends string, V, R> =
  R extends Readonly<Record<Camel<K>, V>>
    ? true
    : R extends Readonly<Record<`${Camel<K>}Ms`, OrNull<number, V>> | Record<`${Camel<K>}Micro`, OrNull<bigint, V>>>
      ? true
      : false

/** The fields of the wire that a record does not have. */
type Missing<T, R> = { readonly [K in keyof T as Sends<K & string, T[K], R> extends true ? never : K]: T[K] }

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
