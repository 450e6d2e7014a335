import { statusOf } from '../../base/client-protocol.ts'
import { errorTypeOf } from '../../base/errors.ts'
import { pathTemplate } from '../../http/router.ts'
import type { Fields, JsonSchema, ObjectSchema } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import * as errors from './error-bodies.ts'
import { documentedProtocol, ERROR_BODIES } from './error-bodies.ts'
import { errorsOf, nameOf, wireRouteOf, type ServedRoute } from './route-table.ts'
import { ownValue } from '../../base/own-value.ts'
import * as adminAccounts from '../admin/account-contract.ts'
import * as adminCatalogBody from '../admin/catalog-body.ts'
import * as adminCatalog from '../admin/catalog-contract.ts'
import * as adminNotices from '../admin/notice-contract.ts'
import * as adminRecords from '../admin/record-contract.ts'
import * as adminReports from '../admin/report-contract.ts'
import * as adminGroups from '../admin/group-contract.ts'
import * as adminTokens from '../admin/token-contract.ts'
import { ADMIN_ROUTES } from '../admin/contract.ts'
import * as adminTopUps from '../admin/top-up-contract.ts'
import * as keys from '../cabinet/key-contract.ts'
import { AccountLimit } from '../records/limits-contract.ts'
import * as story from '../records/request-story-contract.ts'
import * as log from '../cabinet/log-contract.ts'
import * as members from '../cabinet/member-contract.ts'
import * as models from '../cabinet/model-contract.ts'
import * as money from '../cabinet/money-contract.ts'
import * as notices from '../cabinet/notice-contract.ts'
import * as sessions from '../cabinet/session-contract.ts'
import * as endpoints from '../public/contract.ts'
import * as chat from '../../protocols/openai/client/chat/schema.ts'
import * as completions from '../../protocols/openai/client/completions.ts'
import * as embeddings from '../../protocols/openai/client/embeddings.ts'
import * as fields from '../../kinds/fields/routed-request.ts'
import * as images from '../../protocols/openai/client/images.ts'
import * as rerank from '../../protocols/openai/client/rerank.ts'
import * as speech from '../../protocols/openai/client/speech.ts'
import * as transcription from '../../protocols/openai/client/transcription.ts'
import * as notifying from '../../notices/contract.ts'
import { CLIENT_DOCS, PUBLIC_ROUTES } from './public-routes.ts'

/** The members of the document that this file sets; the rest is any JSON. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: Tag; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, unknown>> & { readonly schemas: Readonly<Record<string, unknown>> }
}

export interface Operation {
  readonly tags: readonly Tag[]
  readonly summary: string
  readonly operationId: string
  /** The scope that a route of the admin API needs, and the scopes that parts of its body need as well. */
  readonly 'x-scope'?: string
  readonly 'x-scopes-of-parts'?: unknown
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: MediaContent }
  readonly responses: Readonly<Record<string, Answer>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: unknown
  readonly example?: unknown
}

type MediaContent = Readonly<Record<string, { readonly schema: unknown; readonly example?: unknown }>>

export interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: MediaContent
  /** The values of `metadata.error_type` of an error response. */
  readonly 'x-error-types'?: readonly string[]
}

type Tag = (typeof TAGS)[number]['name']
const TAGS = [
  { name: 'api', description: 'What customers’ programs call, with an API key.' },
  { name: 'service', description: 'What balancers and monitors call.' },
  { name: 'cabinet', description: 'What the console of customers calls, with a session.' },
  { name: 'playground', description: 'The API under a session of the console, for one of its keys.' },
  { name: 'admin', description: 'What operators call, with an admin token or an operator’s session.' },
] as const

const JSON_TYPE = 'application/json'

const CONDITIONS: readonly Parameter[] = [
  { name: 'If-Match', description: 'ETags, of which the record must have one; `*`: it must exist.' },
  { name: 'If-None-Match', description: '`*`: it must not exist yet.' },
].map((header) => ({ ...header, in: 'header', required: false, schema: { type: 'string' } }))
const ETAG = { ETag: { description: 'The state of what PUT sets.', schema: { type: 'string' } } }

/** The OpenAPI document of a server's routes, from the rows of their contracts. */
export function openApiDocument(routes: readonly ServedRoute[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const row = wireRouteOf(route)
    if (row === undefined) continue
    const path = pathTemplate(route.path)
    const operations = ownValue(paths, path) ?? {}
    paths[path] = operations
    operations[route.method.toLowerCase()] = operationOf(route, row)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate',
      version,
      description:
        'Amounts are RUB numbers with at most six decimals, times are ISO 8601 in UTC. A model’s id has a slash, which stays in the path.',
    },
    servers: [{ url: '/' }],
    tags: TAGS,
    paths,
    components: {
      schemas: Object.fromEntries([...SCHEMA_NAMES].map(([schema, name]) => [name, inner(schema)])),
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key: `sk-tg-…`.' },
        admin: { type: 'http', scheme: 'bearer', description: 'The admin token, or a named one: `sk-tga-…`.' },
        session: { type: 'apiKey', in: 'cookie', name: 'tg_sid', description: 'A session of the console.' },
      },
    },
  }
}

function operationOf(route: ServedRoute, row: WireRoute): Operation {
  const body = route.body === 'none' ? undefined : row.body
  return {
    tags: [tagOf(route)],
    summary: row.summary,
    operationId: nameOf(route)
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .toLowerCase(),
    security: securityOf(route),
    ...('scope' in row ? { 'x-scope': String(row.scope) } : {}),
    ...('parts' in row ? { 'x-scopes-of-parts': row.parts } : {}),
    parameters: parametersOf(route, row),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              [JSON_TYPE]: {
                schema: referred(body),
                ...(row.example?.body === undefined ? {} : { example: row.example.body }),
              },
              ...(route.body === 'json-or-multipart' ? { 'multipart/form-data': { schema: referred(body) } } : {}),
            },
          },
        }),
    responses: { ...successes(route, row), ...failures(route, row) },
  }
}

function tagOf({ path, plane }: ServedRoute): Tag {
  if (plane === 'playground') return 'playground'
  if (path.startsWith('/admin/')) return 'admin'
  if (path.startsWith('/cabinet/')) return 'cabinet'
  return /^\/v(?:1|1beta|1alpha|2)\//.test(path) ? 'api' : 'service'
}

function securityOf({ plane }: ServedRoute): Operation['security'] {
  switch (plane) {
    case 'open':
    case 'token':
      return []
    case 'key':
    case 'management':
    case 'any_key':
      return [{ key: [] }]
    case 'session':
    case 'playground':
      return [{ session: [] }]
    case 'admin':
      return [{ admin: [] }, { session: [] }]
  }
}

function parametersOf(
  { method, path, plane }: ServedRoute,
  { query, example, versioned }: WireRoute,
): readonly Parameter[] {
  const inPath = [...path.matchAll(/(?<=\/)[:*](\w+)/g)].map(([, name = '']): Parameter => {
    const value = ownValue(example?.path ?? {}, name)
    return {
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
      ...(value === undefined ? {} : { example: value }),
    }
  })
  const key: Parameter = {
    name: 'X-Tollgate-Key-Id',
    in: 'header',
    required: true,
    description: 'The key of the account that the request is charged and limited by.',
    schema: { type: 'string' },
  }
  const conditions = versioned === true && method !== 'GET' ? CONDITIONS.slice(0, method === 'PUT' ? 2 : 1) : []
  return [...inPath, ...queryOf(query, example?.query ?? {}), ...conditions, ...(plane === 'playground' ? [key] : [])]
}

function queryOf(
  query: ObjectSchema<Fields> | undefined,
  values: Readonly<Record<string, string>>,
): readonly Parameter[] {
  return Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => {
    const value = ownValue(values, name)
    return {
      name,
      in: 'query',
      required: query?.required?.includes(name) ?? false,
      ...(description === undefined ? {} : { description }),
      schema: inner(schema),
      ...(value === undefined ? {} : { example: value }),
    }
  })
}

function successes(
  { method }: ServedRoute,
  { answer, status = 200, alsoStatus, summary, versioned }: WireRoute,
): Readonly<Record<string, Answer>> {
  const made: Answer =
    'media' in answer
      ? { description: summary, ...(status === 302 ? {} : { content: { [answer.media]: { schema: {} } } }) }
      : {
          description: summary,
          ...(versioned === true && method !== 'DELETE' ? { headers: ETAG } : {}),
          content: { [JSON_TYPE]: { schema: referred(answer) } },
        }
  return { [status]: made, ...(alsoStatus === undefined ? {} : { [alsoStatus]: made }) }
}

function failures(route: ServedRoute, row: WireRoute): Readonly<Record<string, Answer>> {
  const protocol = documentedProtocol(route)
  const byStatus = Map.groupBy(errorsOf(route, row), (name) => statusOf(name, protocol))
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => {
      const types = names.map(errorTypeOf)
      return [
        status,
        {
          description: types.join(', '),
          content: { [JSON_TYPE]: { schema: referred(ERROR_BODIES[protocol]) } },
          'x-error-types': types,
        },
      ]
    }),
  )
}

/** A named schema is written once, under its name. */
function referred(schema: JsonSchema): unknown {
  const name = SCHEMA_NAMES.get(schema)
  return name === undefined ? inner(schema) : { $ref: `#/components/schemas/${name}` }
}

function inner(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]: [string, unknown]) => [keyword, ruleOf(keyword, value)]),
  )
}

function ruleOf(keyword: string, value: unknown): unknown {
  if (Array.isArray(value)) return keyword === 'anyOf' ? value.map(referred) : value
  if (typeof value !== 'object' || value === null) return value
  if (keyword === 'properties')
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, referred(schema)]))
  return keyword === 'const' ? value : referred(value)
}

const SOURCES: readonly (readonly [prefix: string, modules: readonly Readonly<Record<string, unknown>>[]])[] = [
  [
    '',
    [
      endpoints,
      errors,
      fields,
      chat,
      completions,
      embeddings,
      images,
      rerank,
      speech,
      transcription,
      ...CLIENT_DOCS.map(({ records }) => records),
      ...recordsOf(PUBLIC_ROUTES),
    ],
  ],
  ['Cabinet', [sessions, keys, log, story, members, models, money, notices, { AccountLimit }]],
  [
    'Admin',
    [
      adminAccounts,
      adminGroups,
      adminCatalog,
      adminCatalogBody,
      adminNotices,
      notifying,
      adminRecords,
      adminReports,
      adminTokens,
      adminTopUps,
      ...recordsOf(ADMIN_ROUTES),
    ],
  ],
]

function recordsOf(routes: Readonly<Record<string, WireRoute>>): readonly Readonly<Record<string, JsonSchema>>[] {
  return Object.values(routes).map(({ records = {} }) => records)
}

/** The contracts' records by export name: each is in the document once. */
export const SCHEMA_NAMES: ReadonlyMap<JsonSchema, string> = new Map(
  SOURCES.flatMap(([prefix, modules]) =>
    modules.flatMap((module) =>
      Object.entries(module).flatMap(([name, value]): (readonly [JsonSchema, string])[] =>
        // Among the modules' exports, objects with a capitalised name are schemas.
        /^[A-Z][a-z]/.test(name) && typeof value === 'object' && value !== null ? [[value, `${prefix}${name}`]] : [],
      ),
    ),
  ),
)
