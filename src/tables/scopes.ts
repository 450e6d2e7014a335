/** The permissions of people in an account. A route of the cabinet names the one that it needs. */
export const MEMBER_SCOPES = [
  'account:read',
  'account:write',
  'keys:all',
  'keys:read',
  'keys:write',
  'members:read',
  'members:write',
  'money:read',
  'money:write',
  'playground',
  'programs:write',
  'usage:read',
] as const
export type MemberScope = (typeof MEMBER_SCOPES)[number]

export const MEMBER_ROLES = ['owner', 'member', 'billing'] as const
export type MemberRole = (typeof MEMBER_ROLES)[number]
/** What a person may do in an account; `viewer` is no role of a member: an operator looks at it as its people see it. */
export const ACCOUNT_ROLES = [...MEMBER_ROLES, 'viewer'] as const
export type AccountRole = (typeof ACCOUNT_ROLES)[number]

/**
 * A member manages the keys that they have made; `keys:all` is for the keys of others too. `billing` pays and sees what
 * is spent, but makes no keys and calls no models.
 */
export const MEMBER_ROLE_SCOPES: Readonly<Record<AccountRole, ReadonlySet<MemberScope>>> = {
  owner: new Set(MEMBER_SCOPES),
  member: new Set(['account:read', 'keys:read', 'keys:write', 'members:read', 'playground', 'usage:read']),
  billing: new Set([
    'account:read',
    'keys:all',
    'keys:read',
    'members:read',
    'money:read',
    'money:write',
    'usage:read',
  ]),
  viewer: new Set(['account:read', 'keys:all', 'keys:read', 'members:read', 'money:read', 'usage:read']),
}

/**
 * The permissions of callers of the admin API. A route names the one that it needs, and the others that parts of its
 * body need. A caller who makes or rotates a key can spend and read all that its account can, which is more than
 * switching a key off, and therefore has its own scope `keys:issue`.
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
  'notes:write',
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

/**
 * The roles of the console's operators. A person who can make admin tokens could make one with every scope, so only an
 * owner can.
 */
export const ROLE_SCOPES: Readonly<Record<OperatorRole, ReadonlySet<AdminScope>>> = {
  owner: new Set(ADMIN_SCOPES),
  administrator: new Set(WITHOUT_TOKENS),
  billing: new Set([
    'accounts:read',
    'keys:read',
    'log:read',
    'money:read',
    'money:write',
    'notes:write',
    'usage:read',
  ]),
  support: new Set([
    'accounts:read',
    'catalog:read',
    'health:read',
    'keys:read',
    'keys:write',
    'log:read',
    'money:read',
    'notes:write',
    'people:read',
    'security:read',
    'usage:read',
  ]),
  read_only: new Set(ADMIN_SCOPES.filter((scope) => scope.endsWith(':read'))),
}

/** What an operator needs to look at an account as its people see it: all of it can be read one by one with these. */
export const VIEW_SCOPES: readonly AdminScope[] = [
  'accounts:read',
  'keys:read',
  'log:read',
  'money:read',
  'people:read',
  'usage:read',
]

/** Whether a caller with the scopes `own` may grant or remove `others`: nobody may grant more than they have. */
export function covers(own: ReadonlySet<AdminScope>, others: Iterable<AdminScope>): boolean {
  return [...others].every((scope) => own.has(scope))
}
