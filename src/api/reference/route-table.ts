import { ADMIN_ROUTES } from '../admin/contract.ts'
import { CABINET_ROUTES } from '../cabinet/contract.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { Route, RoutePlane } from '../../http/edge.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { OTHER_CABINET_ROUTES, PUBLIC_ROUTES } from './public-routes.ts'

/** The facts of a server's route that the reference needs. */
export interface ServedRoute {
  readonly method: string
  readonly path: string
  readonly plane: RoutePlane
  readonly body: 'none' | 'json' | 'json-or-multipart'
  readonly priority?: 'low' | 'paid'
  readonly protocol?: Route<unknown>['protocol']
}

/** Pages and files of the site, which people read and no program calls. */
export const PAGES: ReadonlySet<string> = new Set([
  'GET /',
  'GET /setup',
  'GET /brand.css',
  'GET /start.css',
  'GET /setup.js',
  'GET /docs.css',
])

const TABLE: ReadonlyMap<string, WireRoute> = new Map<string, WireRoute>([
  ...Object.entries(PUBLIC_ROUTES),
  ...Object.entries(CABINET_ROUTES),
  ...Object.entries(OTHER_CABINET_ROUTES),
  ...Object.entries(ADMIN_ROUTES),
])
const PLAYGROUND = '/cabinet/v1/playground/'

export function nameOf({ method, path }: ServedRoute): string {
  return `${method} ${path}`
}

/** The row of a route. A playground route has the row of its API route. */
export function wireRouteOf(route: ServedRoute): WireRoute | undefined {
  return TABLE.get(nameOf({ ...route, path: route.path.replace(PLAYGROUND, '/v1/') }))
}

/** Errors of every route, for an unreadable path or query. */
const ANY: readonly ErrorName[] = ['invalid_input', 'service_unavailable', 'internal_error']
const BODY: readonly ErrorName[] = ['invalid_json', 'request_too_large', 'unsupported_media_type', 'request_timeout']
const KEY: readonly ErrorName[] = [
  'missing_api_key',
  'invalid_api_key',
  'key_expired',
  'key_deactivated',
  'account_deactivated',
  'api_locked',
  'access_denied',
  'rate_limit_exceeded',
  'maintenance_mode',
]
const SESSION: readonly ErrorName[] = ['unauthorized', 'access_denied']
const PLANES: Readonly<Record<RoutePlane, readonly ErrorName[]>> = {
  open: [],
  token: [],
  key: KEY,
  management: KEY,
  any_key: KEY,
  session: SESSION,
  playground: [...SESSION, ...KEY, 'invalid_input'],
  admin: [...SESSION, 'rate_limit_exceeded'],
}
const PAID: readonly ErrorName[] = [
  'model_not_found',
  'model_not_supported',
  'input_tokens_exceeded',
  'content_filtered',
  'prompt_too_long',
  'insufficient_balance',
  'limit_exceeded',
  'no_available_provider',
  'idempotency_conflict',
  'idempotency_mismatch',
  'provider_error',
  'provider_unavailable',
  'provider_timeout',
]

/** The errors of a route, without those of keys, bodies and the service that any route has. */
export function ownErrorsOf(
  { priority, method }: Pick<ServedRoute, 'priority' | 'method'>,
  { errors = [], versioned }: WireRoute,
): readonly ErrorName[] {
  return [
    ...new Set([
      ...errors,
      ...(versioned === true && method !== 'GET' ? (['precondition_failed'] as const) : []),
      ...(priority === 'paid' ? PAID : []),
    ]),
  ]
}

/** All errors that a route may answer. */
export function errorsOf(route: ServedRoute, row: WireRoute): readonly ErrorName[] {
  const foreign: readonly ErrorName[] =
    route.method === 'GET' || (route.plane !== 'open' && route.plane !== 'session')
      ? []
      : ['access_denied', 'rate_limit_exceeded']
  return [
    ...new Set([
      ...ownErrorsOf(route, row),
      ...PLANES[route.plane],
      ...foreign,
      ...(route.body === 'none' ? [] : BODY),
      ...ANY,
    ]),
  ]
}
