import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { unavailable } from '../../base/errors.ts'
import type { Route } from '../../http/edge.ts'
import { pathTemplate } from '../../http/router.ts'

const RETRY_SECONDS = 5

export interface HealthRoutePorts {
  readonly version: string
  /** Every existing route: the health record lists them. */
  readonly routes: readonly Route<Principal>[]
  readonly catalog: Catalog
  /** Why the process should get no requests now, as the beginning of a sentence; null = it accepts requests. */
  readonly unready: () => string | null
}

export function healthRoutes({ version, routes, catalog, unready }: HealthRoutePorts): readonly Route<Principal>[] {
  const endpoints = [
    ...new Set(['health', ...routes.filter(({ path }) => path.startsWith('/v1/')).map(({ path }) => shown(path))]),
  ]
  const open = (path: string, handle: Route<Principal>['handle']): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'open',
    body: 'none',
    handle,
  })
  return [
    open('/v1/health', () => ({
      status: 200,
      body: { status: catalog.current().settings.maintenance === null ? 'ok' : 'maintenance', version, endpoints },
    })),
    // Claude Code checks here whether a server answers.
    open('/api/hello', () => ({ status: 200, body: { status: 'ok' } })),
    open('/healthz', () => ({ status: 200, body: { status: 'ok' } })),
    open('/readyz', () => {
      const reason = unready()
      if (reason !== null)
        throw unavailable(`${reason}. Retry after ${RETRY_SECONDS} seconds`, RETRY_SECONDS, 'not_ready')
      return { status: 200, body: { status: 'ready' } }
    }),
  ]
}

/** Shows `/v1/models/:author/:slug/endpoints` as `models/{author}/{slug}/endpoints`. */
function shown(path: string): string {
  return pathTemplate(path).slice('/v1/'.length)
}
