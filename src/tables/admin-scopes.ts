/**
 * The permissions of callers of the admin API. A route names the one that it needs, and those of the parts of its body
 * that need another. Who makes or rotates a key can spend and read what its account can, which is more than to switch
 * it off: that is `keys:issue`.
 */
export const ADMIN_SCOPES = [
  'accounts:read',
  'accounts:write',
  'audit:read',
  'catalog:read',
  'catalog:write',
  'health:read',
  'keys:issue',
  'keys:read',
  'keys:write',
  'log:read',
  'metrics:read',
  'money:read',
  'money:write',
  'people:read',
  'people:write',
  'security:read',
  'security:write',
  'settings:read',
  'settings:write',
  'tokens:read',
  'tokens:write',
  'usage:read',
] as const
export type AdminScope = (typeof ADMIN_SCOPES)[number]

export const OPERATOR_ROLES = ['owner', 'administrator', 'billing', 'support', 'read_only'] as const
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

const WITHOUT_TOKENS = ADMIN_SCOPES.filter((scope) => scope !== 'tokens:write')

/** The roles of the console's operators. Who makes admin tokens could make one with every scope, so only an owner does. */
export const ROLE_SCOPES: Readonly<Record<OperatorRole, ReadonlySet<AdminScope>>> = {
  owner: new Set(ADMIN_SCOPES),
  administrator: new Set(WITHOUT_TOKENS),
  billing: new Set(['accounts:read', 'keys:read', 'log:read', 'money:read', 'money:write', 'usage:read']),
  support: new Set([
    'accounts:read',
    'catalog:read',
    'health:read',
    'keys:read',
    'keys:write',
    'log:read',
    'money:read',
    'people:read',
    'security:read',
    'usage:read',
  ]),
  read_only: new Set(ADMIN_SCOPES.filter((scope) => scope.endsWith(':read'))),
}

/** Whether somebody with the scopes `own` may hand out or take away `others`: nobody may more than they themselves can. */
export function covers(own: ReadonlySet<AdminScope>, others: Iterable<AdminScope>): boolean {
  return [...others].every((scope) => own.has(scope))
}
