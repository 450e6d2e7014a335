import { ADMIN_SCOPES, OPERATOR_ROLES } from '../../tables/scopes.ts'
import { body, list, nullable, object, oneOf, optional, text, time, type Static } from '../../base/schema.ts'
import { ProofBody } from '../../base/wire-route.ts'
import type { AdminWireRoute } from './admin-route.ts'
import { EXTERNAL_ID, EXTERNAL_ID_CHANGE, recordRows, listed, PageQuery } from './record-contract.ts'

export const Scope = oneOf(ADMIN_SCOPES, 'What its caller may do.')
export const OperatorRole = oneOf(OPERATOR_ROLES, 'A named set of scopes.')

export const AdminToken = object(
  {
    id: text(),
    external_id: EXTERNAL_ID,
    name: text('The audit log names it `token:NAME`.'),
    label: text('Enough of the token to recognise it.'),
    scopes: list(Scope),
    state: oneOf(['active', 'expired', 'revoked']),
    created_by: text(),
    created_at: time(),
    expires_at: nullable(time()),
    revoked_at: nullable(time()),
    last_used_at: nullable(time('To the minute.')),
  },
  'A named token for the admin API.',
)
export type AdminToken = Static<typeof AdminToken>

const SCOPES = list(Scope, 'What it may do: none that its maker may not.', { minItems: 1, maxItems: 100 })

export const AdminTokenBody = body({
  name: text('Lower-case letters, digits, `.`, `_`, `-`. One token in force has it.', {
    minLength: 1,
    maxLength: 64,
    pattern: '^[a-z0-9][a-z0-9._-]*$',
  }),
  scopes: optional(SCOPES),
  role: optional(nullable(oneOf(OPERATOR_ROLES, 'In place of `scopes`: those of this role.'))),
  expires_at: optional(nullable(time('Absent = never.'))),
  ...ProofBody.fields,
})
export type AdminTokenBody = Static<typeof AdminTokenBody>

export const AdminTokenPatch = body({
  external_id: EXTERNAL_ID_CHANGE,
  scopes: optional(SCOPES),
  expires_at: optional(nullable(time('null = never.'))),
  ...ProofBody.fields,
})

export const NewAdminToken = object({ ...AdminToken.fields, token: text() })
export const PutAdminToken = object({
  ...AdminToken.fields,
  token: optional(text('In the answer that makes it only.')),
})

export const TOKEN_ROUTES = {
  'GET /admin/v1/tokens': {
    command: 'token list',
    scope: 'tokens:read',
    summary: 'Named tokens for this API, newest first, those that have ended too.',
    query: PageQuery,
    answer: listed(AdminToken),
  },
  'POST /admin/v1/tokens': {
    command: 'token create [name]',
    scope: 'tokens:write',
    proof: true,
    summary:
      'Makes a token with the scopes given, or those of a role. `token` is in this answer only. A token makes none that lasts longer.',
    body: AdminTokenBody,
    answer: NewAdminToken,
    status: 201,
    errors: ['conflict'],
    example: {
      body: { name: 'deploy', scopes: ['catalog:read', 'catalog:write'], expires_at: '2030-01-01T00:00:00Z' },
    },
  },
  ...recordRows('/admin/v1/tokens/:id', ['tokens:read', 'tokens:write'], AdminToken, {
    GET: { command: 'token show', summary: 'One token.' },
    PUT: {
      command: 'token put',
      proof: true,
      summary:
        'Makes the token of an external id, or gives it the scopes and the end of the body. `token` is in the answer that makes it only.',
      body: AdminTokenBody,
      answer: PutAdminToken,
      example: { path: { id: 'external:deploy-2' }, body: { name: 'deploy-2', scopes: ['catalog:read'] } },
    },
    PATCH: {
      command: 'token update',
      proof: ['scopes', 'expires_at'],
      summary: 'Changes the fields that are given of a token in force.',
      body: AdminTokenPatch,
      example: { body: { expires_at: '2031-01-01T00:00:00Z' } },
    },
    DELETE: {
      command: 'token revoke',
      summary:
        'Revokes a token, and those that it has made. They open nothing from then on, on any node, and lose their external ids.',
    },
  }),
} as const satisfies Readonly<Record<string, AdminWireRoute>>
