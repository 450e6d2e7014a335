import type { ErrorName } from './errors.ts'
import type { Fields, JsonSchema, ObjectSchema, Static } from './schema.ts'

/** A request that a reader can send, and a test does. */
export interface RouteExample {
  /** Values of the parameters of the path. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** What a route takes and answers: its type, its check and its page in the reference. */
export interface WireRoute {
  readonly summary: string
  /** Under `/v1`: no key is needed. */
  readonly open?: true
  /** A management key is needed. */
  readonly manages?: true
  /** It takes a body and costs nothing. */
  readonly free?: true
  readonly query?: ObjectSchema<Fields>
  readonly body?: JsonSchema
  /** The body of a success; a media type where it is no JSON. */
  readonly answer: JsonSchema | MediaType
  /** Of a success: 200 where it is absent. */
  readonly status?: 200 | 201 | 202 | 302
  /** A second status of a success, with the same body. */
  readonly alsoStatus?: 200 | 201
  /** Refusals of this route only; those of its plane are known. */
  readonly errors?: readonly ErrorName[]
  readonly example?: RouteExample
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
