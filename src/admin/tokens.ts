import { ADMIN_PREFIX, digestOf, generateKey, labelOf } from '../access/api-key.ts'
import type { Principal } from '../access/principal.ts'
import { ROLE_SCOPES, type AdminScope } from '../tables/admin-scopes.ts'
import type { Route } from '../http/edge.ts'
import { isoTime } from '../base/time.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import type { AdminToken as AdminTokenRecord, AdminTokenPatch } from '../store/people/admin-token-store.ts'
import { listBody, listRoute } from './list-route.ts'
import {
  actor,
  adminRoute,
  recordEvent,
  refuseBeyondOwn,
  type AdminCall,
  type AdminPorts,
  type AdminReply,
} from './ports.ts'
import {
  changedRecord,
  externalIdPatch,
  patchRoute,
  putNamed,
  recordId,
  recordRoutes,
  type Guard,
  type RecordKind,
  type Written,
} from './records.ts'
import type { AdminToken, AdminTokenBody } from '../api/admin/token-contract.ts'

/** Named tokens for the admin API. */
export function tokenAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = tokenKind(ports)
  return [
    listRoute(ports, 'GET /admin/v1/tokens', async (_call, range) =>
      listBody(await ports.store.adminTokens.list(range), (token) => wireToken(ports, token)),
    ),
    ...recordRoutes(ports, kind),
    adminRoute('POST /admin/v1/tokens', (call, read) => createToken(ports, call, read())),
    patchRoute(ports, kind, (call, given, read, guard) => {
      const { external_id: externalId, scopes, expires_at: end } = read()
      return changeToken(ports, call, given, guard, () => ({
        ...externalIdPatch(externalId),
        ...(scopes === undefined ? {} : { scopes: sorted(scopes) }),
        ...(end === undefined ? {} : { expiresAtMs: endMs(end) }),
      }))
    }),
  ]
}

function wireToken({ clock }: AdminPorts, token: AdminTokenRecord): AdminToken {
  const expired = token.expiresAtMs !== null && token.expiresAtMs <= clock.now()
  return {
    id: token.id,
    external_id: token.externalId,
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

/** Tokens as records that a client describes. */
function tokenKind(ports: AdminPorts): RecordKind<'/admin/v1/tokens/:id'> {
  const { adminTokens } = ports.store
  const named = async (given: string): Promise<AdminTokenRecord | null> => {
    const id = await recordId(ports, 'admin_token', given)
    return id === null ? null : adminTokens.get(id)
  }
  return {
    path: '/admin/v1/tokens/:id',
    noun: 'Admin token',
    event: 'token',
    terms: ['name', 'scopes', 'expires_at'] satisfies readonly (keyof AdminTokenBody)[],
    show: async (given) => {
      const found = await named(given)
      return found === null ? null : wireToken(ports, found)
    },
    put: (call, given, read, guard) => {
      const body = read()
      const terms = { scopes: scopesOf(body), expiresAtMs: endMs(body.expires_at) }
      return putNamed(
        ports,
        { kind: 'admin_token', noun: 'Admin token', given, guard },
        (id) =>
          changeToken(ports, call, id, guard, ({ name }) => {
            if (body.name !== name)
              throw fieldError('name', 'one_of', { allowed: name }, `must be ${name}: a token keeps its name`)
            return terms
          }),
        async (externalId) => {
          const { record, token } = await newToken(ports, call, body, externalId)
          return { id: record.id, before: null, after: wireToken(ports, record), changed: true, once: { token } }
        },
      )
    },
    remove: async (call, given, guard) => {
      const found = await named(given)
      if (found === null) return null
      const revoked = await adminTokens.revoke(found.id, ports.clock.now(), (current) => {
        refuseBeyondOwn(ports, call, current.scopes)
        guard(wireToken(ports, current))
      })
      return revoked ? { id: found.id, before: wireToken(ports, found) } : null
    },
  }
}

function sorted(scopes: Iterable<AdminScope>): readonly AdminScope[] {
  return [...new Set(scopes)].toSorted()
}

function scopesOf({ scopes, role }: AdminTokenBody): readonly AdminScope[] {
  if (typeof role === 'string' && scopes === undefined) return sorted(ROLE_SCOPES[role])
  if (scopes === undefined || typeof role === 'string')
    throw fieldError('scopes', 'required', {}, 'is required, or role in its place')
  return sorted(scopes)
}

/** null = it has no end. */
function endMs(given: string | null | undefined): number | null {
  return typeof given === 'string' ? Date.parse(given) : null
}

async function newToken(
  ports: AdminPorts,
  call: AdminCall,
  given: AdminTokenBody,
  externalId: string | null,
): Promise<{ readonly record: AdminTokenRecord; readonly token: string }> {
  const scopes = scopesOf(given)
  refuseBeyondOwn(ports, call, scopes)
  const token = generateKey(ports.ids, ADMIN_PREFIX)
  const record: AdminTokenRecord = {
    id: `tok_${ports.ids.letters(16)}`,
    externalId,
    name: given.name,
    label: labelOf(token),
    scopes,
    createdBy: actor(ports, call),
    createdAtMs: ports.clock.now(),
    expiresAtMs: endMs(given.expires_at),
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
  return { record, token }
}

async function createToken(
  ports: AdminPorts,
  call: AdminCall,
  given: AdminTokenBody,
): Promise<AdminReply<'POST /admin/v1/tokens'>> {
  const { record, token } = await newToken(ports, call, given, null)
  const body = wireToken(ports, record)
  await recordEvent(ports, call, 'token.create', record.id, null, body)
  return { status: 201, body: { ...body, token } }
}

/** Nobody changes a token that may do more than they, or into one. */
async function changeToken(
  ports: AdminPorts,
  call: AdminCall,
  given: string,
  guard: Guard,
  decide: (current: AdminTokenRecord) => AdminTokenPatch,
): Promise<Written<AdminToken> | null> {
  const id = await recordId(ports, 'admin_token', given)
  if (id === null) return null
  return changedRecord<AdminTokenRecord, AdminTokenPatch, AdminToken>(
    { id, guard, shown: (record) => wireToken(ports, record) },
    (change) => ports.store.adminTokens.update(id, change),
    (current) => {
      refuseBeyondOwn(ports, call, current.scopes)
      const patch = decide(current)
      refuseBeyondOwn(ports, call, patch.scopes ?? [])
      return patch
    },
  )
}
