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

/**
 * A member manages the keys that they have made; `keys:all` is for the keys of others too. `billing` pays and sees what
 * is spent, but makes no keys and calls no models.
 */
export const MEMBER_ROLE_SCOPES: Readonly<Record<MemberRole, ReadonlySet<MemberScope>>> = {
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
}
