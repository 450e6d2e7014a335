import type { AdminWireRoute } from './admin-route.ts'
import { listed, PageQuery } from './account-contract.ts'
import { Removed } from './record-contract.ts'
import { AdminToken, AdminTokenBody, AdminTokenPatch, NewAdminToken, PutAdminToken } from './token-contract.ts'

const TOKEN = { id: 'tok_Vb3kQ9xT2mLr7dWa' }

export const TOKEN_ROUTES = {
  'GET /admin/v1/tokens': {
    command: 'token list',
    scope: 'tokens:read',
    summary: 'Named tokens for this API, newest first, those that have ended too.',
    query: PageQuery,
    answer: listed(AdminToken),
    errors: ['invalid_input'],
    example: {},
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
    errors: ['invalid_input', 'conflict'],
    example: {
      body: { name: 'deploy', scopes: ['catalog:read', 'catalog:write'], expires_at: '2030-01-01T00:00:00Z' },
    },
  },
  'GET /admin/v1/tokens/:id': {
    command: 'token show',
    versioned: true,
    scope: 'tokens:read',
    summary: 'One token.',
    answer: AdminToken,
    errors: ['not_found'],
    example: { path: TOKEN },
  },
  'PUT /admin/v1/tokens/:id': {
    command: 'token put',
    versioned: true,
    scope: 'tokens:write',
    proof: true,
    summary:
      'Makes the token of an external id, or gives it the scopes and the end of the body. `token` is in the answer that makes it only.',
    body: AdminTokenBody,
    answer: PutAdminToken,
    alsoStatus: 201,
    errors: ['invalid_input', 'not_found', 'conflict'],
    example: { path: { id: 'external:deploy-2' }, body: { name: 'deploy-2', scopes: ['catalog:read'] } },
  },
  'PATCH /admin/v1/tokens/:id': {
    command: 'token update',
    versioned: true,
    scope: 'tokens:write',
    proof: ['scopes', 'expires_at'],
    summary: 'Changes the fields that are given of a token in force.',
    body: AdminTokenPatch,
    answer: AdminToken,
    errors: ['invalid_input', 'not_found', 'conflict'],
    example: { path: TOKEN, body: { expires_at: '2031-01-01T00:00:00Z' } },
  },
  'DELETE /admin/v1/tokens/:id': {
    command: 'token revoke',
    versioned: true,
    scope: 'tokens:write',
    summary:
      'Revokes a token, and those that it has made. They open nothing from then on, on any node, and lose their external ids.',
    answer: Removed,
    errors: ['not_found'],
    example: { path: TOKEN },
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>
