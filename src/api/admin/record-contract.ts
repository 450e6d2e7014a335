import { FileFormat } from '../records/route-rows.ts'
import {
  flag,
  list,
  nullable,
  object,
  only,
  optional,
  text,
  whole,
  type Schema,
  type Static,
  type JsonSchema,
} from '../../base/schema.ts'
import type { AdminScope } from '../../tables/scopes.ts'
import type { AdminWireRoute } from './admin-route.ts'

/** The prefix of an external id in a path, and in a field that names another record. */
export const EXTERNAL_PREFIX = 'external:'
export const EXTERNAL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$/

const ExternalId = text('The name that a client gave it, which paths take as `external:NAME`; null = none.', {
  minLength: 1,
  maxLength: 128,
  pattern: EXTERNAL_ID_PATTERN.source,
})

/** An external id in answers. */
export const EXTERNAL_ID = nullable(ExternalId)
/** An external id in a change; null removes it. */
export const EXTERNAL_ID_CHANGE = optional(EXTERNAL_ID)

export const Removed = object({ id: text(), deleted: flag('false: there was none.') })

type RecordRow = Omit<AdminWireRoute, 'scope' | 'answer'> & Partial<Pick<AdminWireRoute, 'scope' | 'answer'>>
type MadeRow<M, R, A> = Omit<R, 'answer'> & {
  readonly scope: AdminScope
  readonly answer: R extends { readonly answer: infer B } ? B : M extends 'DELETE' ? typeof Removed : A
}

type RecordRows<P extends string, A, R> = { readonly [M in keyof R & string as `${M} ${P}`]: MadeRow<M, R[M], A> }

/** The rows of records that a client describes, by method. They need these scopes and answer `record`, but as they say. */
export function recordRows<
  const P extends string,
  A extends JsonSchema,
  const R extends Readonly<Partial<Record<'GET' | 'PUT' | 'PATCH' | 'DELETE', RecordRow>>>,
>(path: P, [reads, writes]: readonly [AdminScope, AdminScope], record: A, rows: R): RecordRows<P, A, R> {
  const made = Object.entries(rows).map(([method, row]): readonly [string, AdminWireRoute] => [
    `${method} ${path}`,
    {
      versioned: true,
      scope: method === 'GET' ? reads : writes,
      answer: method === 'DELETE' ? Removed : record,
      ...(method === 'PUT' ? { alsoStatus: 201 } : {}),
      ...row,
    },
  ])
  // Each row has its method's name, and what is usual for it.
  return Object.fromEntries(made) as unknown as RecordRows<P, A, R>
}

export const PageQuery = object({
  limit: optional(whole('100 if absent.', { minimum: 1, maximum: 1_000 })),
  offset: optional(
    whole('Rows that are skipped; 0 if absent. At most 10,000 in most lists: `cursor` goes on from there.', {
      minimum: 0,
    }),
  ),
  cursor: optional(text("Another answer's `next_cursor`: the page begins after that one's rows.")),
  format: optional(FileFormat),
})
export type PageQuery = Static<typeof PageQuery>

/** Where the next page of a list begins. */
export const NEXT_CURSOR = object({
  next_cursor: optional(text('The next page, as `cursor`; absent where the list ends, or has no cursors.')),
})

export function listed<T>(items: Schema<T>) {
  return object({
    data: list(items),
    total: whole('How many there are in all.'),
    total_exact: optional(only(false, 'There are at least `total`: a search finds too many to count them.')),
    ...NEXT_CURSOR.fields,
  })
}

/** The rule of every search by words. */
export const WORDS_QUERY = text(
  'Each of its words is the beginning of a word of the name, the e-mail, the id or the external id.',
)
