import { ADMIN_PREFIX, digestOf, generateKey, labelOf } from '../access/api-key.ts'
import type { Principal } from '../access/principal.ts'
import { ROLE_SCOPES, type AdminScope } from '../admin-scopes.ts'
import type { Route } from '../http/edge.ts'
import { fieldError, reasonError } from '../refusals.ts'
import type { AdminToken as AdminTokenRecord } from '../store/people/admin-token-store.ts'
import {
  actor,
  adminRoute,
  notFound,
  page,
  param,
  recordEvent,
  refuseBeyondOwn,
  type AdminCall,
  type AdminPorts,
  type AdminReply,
} from './ports.ts'
import type { AdminToken, AdminTokenBody } from './token-contract.ts'
import { isoTime } from '../lib/time.ts'

/** Named tokens for the admin API. */
export function tokenAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/tokens', async (call) => {
      const { limit, offset } = page(call)
      const { data, total } = await ports.store.adminTokens.list(limit, offset)
      return { status: 200, body: { data: data.map((token) => wireToken(ports, token)), total } }
    }),
    adminRoute('GET /admin/v1/tokens/:id', async (call) => ({
      status: 200,
      body: wireToken(ports, await one(ports, call)),
    })),
    adminRoute('POST /admin/v1/tokens', (call, read) => createToken(ports, call, read())),
    adminRoute('DELETE /admin/v1/tokens/:id', (call) => revokeToken(ports, call)),
  ]
}

function wireToken({ clock }: AdminPorts, token: AdminTokenRecord): AdminToken {
  const expired = token.expiresAtMs !== null && token.expiresAtMs <= clock.now()
  return {
    id: token.id,
    name: token.name,
    label: token.label,
    scopes: token.scopes,
    state: token.revokedAtMs !== null ? 'revoked' : expired ? 'expired' : 'active',
    created_by: token.createdBy,
    created_at: isoTime(token.createdAtMs),
    expires_at: isoTime(token.expiresAtMs),
    revoked_at: isoTime(token.revokedAtMs),
    last_used_at: isoTime(token.lastUsedAtMs),
  }
}

async function one(ports: AdminPorts, call: AdminCall): Promise<AdminTokenRecord> {
  const id = param(call, 'id')
  const token = await ports.store.adminTokens.get(id)
  if (token === null) throw notFound('Admin token', id)
  return token
}

function scopesOf({ scopes, role }: AdminTokenBody): readonly AdminScope[] {
  if (typeof role === 'string' && scopes === undefined) return [...ROLE_SCOPES[role]]
  if (scopes === undefined || typeof role === 'string')
    throw fieldError('scopes', 'required', {}, 'is required, or role in its place')
  return [...new Set(scopes)].toSorted()
}

async function createToken(
  ports: AdminPorts,
  call: AdminCall,
  given: AdminTokenBody,
): Promise<AdminReply<'POST /admin/v1/tokens'>> {
  const scopes = scopesOf(given)
  refuseBeyondOwn(ports, call, scopes)
  const token = generateKey(ports.ids, ADMIN_PREFIX)
  const record: AdminTokenRecord = {
    id: `tok_${ports.ids.letters(16)}`,
    name: given.name,
    label: labelOf(token),
    scopes,
    createdBy: actor(ports, call),
    createdAtMs: ports.clock.now(),
    expiresAtMs: typeof given.expires_at === 'string' ? Date.parse(given.expires_at) : null,
    revokedAtMs: null,
    lastUsedAtMs: null,
  }
  if (!(await ports.store.adminTokens.create({ ...record, digest: digestOf(token) })))
    throw reasonError(
      'conflict',
      'token_name_taken',
      { name: given.name },
      `A token named '${given.name}' is in force: revoke it first, or choose another name`,
    )
  const body = wireToken(ports, record)
  await recordEvent(ports, call, 'token.create', record.id, null, body)
  return { status: 201, body: { ...body, token } }
}

async function revokeToken(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'DELETE /admin/v1/tokens/:id'>> {
  const token = await one(ports, call)
  refuseBeyondOwn(ports, call, token.scopes)
  if (!(await ports.store.adminTokens.revoke(token.id, ports.clock.now()))) throw notFound('Admin token', token.id)
  await recordEvent(ports, call, 'token.revoke', token.id, wireToken(ports, token), null)
  return { status: 200, body: { id: token.id, deleted: true } }
}
