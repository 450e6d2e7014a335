import type { AdminWireRoute } from '../wire-route.ts'
import { Deleted, listed, PageQuery } from './account-contract.ts'
import { AdminToken, AdminTokenBody, NewAdminToken } from './token-contract.ts'

const TOKEN = { id: 'tok_Vb3kQ9xT2mLr7dWa' }

export const TOKEN_ROUTES = {
  'GET /admin/v1/tokens': {
    scope: 'tokens:read',
    summary: 'Named tokens for this API, newest first, those that have ended too.',
    query: PageQuery,
    answer: listed(AdminToken),
    errors: ['invalid_input'],
    example: {},
  },
  'POST /admin/v1/tokens': {
    scope: 'tokens:write',
    summary: 'Makes a token with the scopes given, or those of a role. `token` is in this answer only.',
    body: AdminTokenBody,
    answer: NewAdminToken,
    status: 201,
    errors: ['invalid_input', 'conflict'],
    example: {
      body: { name: 'deploy', scopes: ['catalog:read', 'catalog:write'], expires_at: '2030-01-01T00:00:00Z' },
    },
  },
  'GET /admin/v1/tokens/:id': {
    scope: 'tokens:read',
    summary: 'One token.',
    answer: AdminToken,
    errors: ['not_found'],
    example: { path: TOKEN },
  },
  'DELETE /admin/v1/tokens/:id': {
    scope: 'tokens:write',
    summary: 'Revokes a token. It opens nothing from then on, on any node.',
    answer: Deleted,
    errors: ['not_found'],
    example: { path: TOKEN },
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>
