import type { Route } from '../../src/http/edge.ts'
import { CABINET_FILES } from '../../src/api/cabinet/files.ts'
import { ROUTE_SCOPES, type RouteScope } from '../../src/api/cabinet/ports.ts'
import { MEMBER_ROLE_SCOPES } from '../../src/tables/scopes.ts'

/**
 * A and B are customers with a key and a console session each; `session` is an administrator's; `member A` and `billing
 * A` were invited to the account of A.
 */
export const PRINCIPALS = [
  'none',
  'malformed',
  'unknown',
  'stale session',
  'B',
  'session B',
  'admin',
  'session',
  'A',
  'session A',
  'manager B',
  'manager A',
  'member A',
  'billing A',
] as const
export type Principal = (typeof PRINCIPALS)[number]

export function roleOf(principal: 'member A' | 'billing A'): 'member' | 'billing' {
  return principal === 'member A' ? 'member' : 'billing'
}

const KEYS: ReadonlySet<Principal> = new Set(['A', 'B'])
export const MANAGERS: ReadonlySet<Principal> = new Set(['manager A', 'manager B'])
const CUSTOMERS: ReadonlySet<Principal> = new Set(['session A', 'session B'])
function isCookie(principal: Principal): boolean {
  return principal.includes('session') || principal === 'member A' || principal === 'billing A'
}

const SCOPES = new Map<string, RouteScope>([
  ...Object.entries(ROUTE_SCOPES),
  ...[...CABINET_FILES].map(([name, { scope }]) => [name, scope] as const),
])
const NOBODY: ReadonlySet<Principal> = new Set(['none', 'stale session'])

/** The refusal before a handler is reached; null = the handler decides. */
export function refusalOf(
  route: Route<unknown>,
  principal: Principal,
): { readonly status: number; readonly type: string } | null {
  const { plane } = route
  switch (plane) {
    case 'open':
    case 'token':
      return null
    case 'management':
      if (MANAGERS.has(principal)) return null
      if (KEYS.has(principal) || principal === 'unknown') return { status: 403, type: 'access_denied' }
      return {
        status: 401,
        type: principal === 'none' || isCookie(principal) ? 'missing_api_key' : 'invalid_api_key',
      }
    case 'any_key':
    case 'key':
      if (KEYS.has(principal) || (MANAGERS.has(principal) && plane === 'any_key')) return null
      if (MANAGERS.has(principal)) return { status: 403, type: 'access_denied' }
      return {
        status: 401,
        type: principal === 'none' || isCookie(principal) ? 'missing_api_key' : 'invalid_api_key',
      }
    case 'admin':
      if (principal === 'admin' || principal === 'session') return null
      return NOBODY.has(principal) ? { status: 401, type: 'unauthorized' } : { status: 403, type: 'access_denied' }
    case 'session':
    case 'playground':
      if (CUSTOMERS.has(principal)) return null
      if (principal === 'member A' || principal === 'billing A') {
        const scope = plane === 'playground' ? 'playground' : (SCOPES.get(`${route.method} ${route.path}`) ?? 'self')
        const isOpen = scope === 'self' || MEMBER_ROLE_SCOPES[roleOf(principal)].has(scope)
        return isOpen ? null : { status: 403, type: 'access_denied' }
      }
      if (NOBODY.has(principal)) return { status: 401, type: 'unauthorized' }
      if (principal !== 'session') return { status: 403, type: 'access_denied' }
      return plane === 'session' ? null : { status: 400, type: 'invalid_input' }
  }
}
