import assert from 'node:assert/strict'
import { Errors } from 'typebox/schema'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import { CABINET_ROUTES } from '../../src/api/cabinet/contract.ts'
import { statusOf, type ClientProtocol } from '../../src/base/client-protocol.ts'
import { errorTypeOf } from '../../src/base/errors.ts'
import type { RoutePlane } from '../../src/http/edge.ts'
import { Router } from '../../src/http/router.ts'
import { documentedProtocol, ERROR_BODIES } from '../../src/api/reference/error-bodies.ts'
import { OTHER_CABINET_ROUTES, PUBLIC_ROUTES } from '../../src/api/reference/public-routes.ts'
import { errorsOf, wireRouteOf, type ServedRoute } from '../../src/api/reference/route-table.ts'
import type { JsonSchema } from '../../src/base/schema.ts'
import type { WireRoute } from '../../src/base/wire-route.ts'

/** Routes for customers, in every protocol. */
const CALLS = /^\/(?:v(?:1|1beta|1alpha|2)|api)\//
const OPEN = /^\/cabinet\/v1\/(session|sign-up|sign-in|password-reset|setup|oidc|payments\/notifications)\b/
const ROWS: Readonly<Record<string, WireRoute>> = {
  ...PUBLIC_ROUTES,
  ...OTHER_CABINET_ROUTES,
  ...CABINET_ROUTES,
  ...ADMIN_ROUTES,
}
/** The routes of the contracts, by the path that a client sees. */
const ROUTER = new Router<ServedRoute>(
  Object.entries(ROWS).flatMap(([name, row]): ServedRoute[] => {
    const [method = '', path = ''] = name.split(' ')
    const route: ServedRoute = {
      method,
      path,
      plane: planeOf(method, path, row),
      body: row.body === undefined ? 'none' : 'json',
      ...(method === 'POST' && CALLS.test(path) && row.body !== undefined ? { priority: 'paid' } : {}),
    }
    const playground = path.replace(/^\/v1\//, '/cabinet/v1/playground/')
    return route.plane === 'key' && playground !== path
      ? [route, { ...route, path: playground, plane: 'playground' }]
      : [route]
  }),
)

function planeOf(method: string, path: string, { open }: WireRoute): RoutePlane {
  if (open === true) return 'open'
  if (CALLS.test(path)) return 'key'
  if (path.startsWith('/admin/')) return 'admin'
  return path.startsWith('/cabinet/') && !(OPEN.test(path) && method !== 'DELETE') ? 'session' : 'open'
}

/** The schema without unknown fields, since no contract has further fields of an answer. */
export function closed(schema: JsonSchema): JsonSchema {
  const made = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]: [string, unknown]) => [keyword, closedRule(keyword, value)]),
  )
  return schema.properties === undefined || schema.additionalProperties !== undefined
    ? made
    : { ...made, additionalProperties: false }
}

function closedRule(keyword: string, value: unknown): unknown {
  // Keywords of JSON Schema whose values are schemas.
  if (keyword === 'anyOf') return (value as readonly JsonSchema[]).map(closed)
  if (keyword === 'properties')
    return Object.fromEntries(
      Object.entries(value as Readonly<Record<string, JsonSchema>>).map(([name, inner]) => [name, closed(inner)]),
    )
  return keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object')
    ? closed(value as JsonSchema)
    : value
}

/** What is wrong with a value, one line each; empty = nothing. */
export function faultsOf(schema: JsonSchema, value: unknown): readonly string[] {
  const [holds, errors] = Errors(schema, value)
  return holds
    ? []
    : errors.map(({ instancePath, message }) => `${instancePath === '' ? '/' : instancePath} ${message}`)
}

/** The protocol of an error if it differs from the route's: `GET /v1/models` follows the request. */
function protocolSaid(body: unknown): ClientProtocol | null {
  if (typeof body !== 'object' || body === null) return null
  if ('type' in body && body.type === 'error') return 'anthropic'
  const error = 'error' in body ? body.error : null
  return typeof error === 'object' && error !== null && 'status' in error && 'details' in error ? 'gemini' : null
}

const strict = new Map<JsonSchema, JsonSchema>()

function strictly(schema: JsonSchema): JsonSchema {
  const made = strict.get(schema) ?? closed(schema)
  strict.set(schema, made)
  return made
}

/** The most answers that are checked for each route and status: a flood of requests measures something else. */
const LOOKED_AT_MAX = 300
const lookedAt = new Map<string, number>()

/** Fails if the answer of a documented route contradicts its contract. */
export function checkAnswer(method: string, target: string, status: number, contentType: string, body: unknown): void {
  const found = ROUTER.match(method, target.split('?', 1)[0] ?? '')
  if (found.status !== 'found' || method === 'HEAD') return
  const row = wireRouteOf(found.route)
  assert.ok(row !== undefined)
  const what = `${method} ${found.route.path} answered ${status}`
  const times = (lookedAt.get(what) ?? 0) + 1
  lookedAt.set(what, times)
  if (times > LOOKED_AT_MAX) return
  if (status >= 400) {
    // A route of several protocols answers in the protocol of its request.
    const protocol = protocolSaid(body) ?? documentedProtocol(found.route)
    assert.deepEqual(faultsOf(ERROR_BODIES[protocol], body), [], what)
    if (protocol !== 'openai') {
      const statuses = errorsOf(found.route, row).map((name) => statusOf(name, protocol))
      assert.ok(statuses.includes(status), `${what}, which is no status of its errors`)
      return
    }
    const { error_type: type } = (body as { error: { metadata: { error_type: string } } }).error.metadata
    const types = errorsOf(found.route, row).map(errorTypeOf)
    assert.ok(
      types.some((known) => known === type),
      `${what} ${type}, which is not among its errors`,
    )
    return
  }
  if (!contentType.startsWith('application/json') || 'media' in row.answer) return
  assert.ok([row.status ?? 200, row.alsoStatus].includes(status as 200), `${what}, which is not its success`)
  const faults = faultsOf(strictly(row.answer), body)
  assert.deepEqual(faults, [], `${what}: ${JSON.stringify(body).slice(0, 2_000)}`)
}
