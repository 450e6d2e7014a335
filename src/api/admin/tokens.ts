import { ADMIN_PREFIX, digestOf, generateKey, labelOf } from '../../access/api-key.ts'
import type { Principal } from '../../access/principal.ts'
import { covers, ROLE_SCOPES, type AdminScope } from '../../tables/scopes.ts'
import type { Route } from '../../http/edge.ts'
import { wire } from '../../base/wire-route.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { AdminToken as AdminTokenRecord, AdminTokenPatch } from '../../store/people/admin-token-store.ts'
import {
  listRoute,
  actor,
  recordChange,
  refuseBeyondEnd,
  refuseBeyondOwn,
  refuseLonger,
  type AdminCall,
  type AdminPorts,
} from './ports.ts'
import { listBody } from '../records/list-file.ts'
import { namedRecordRoutes, postRoute, type NamedRecords } from './records.ts'
import { AdminToken, type AdminTokenBody } from './token-contract.ts'

/** Named tokens for the admin API. */
export function tokenAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = tokenKind(ports)
  return [
    listRoute(ports, 'GET /admin/v1/tokens', async (_call, range) =>
      listBody(await ports.store.adminTokens.list(range), (token) => wireToken(ports, token)),
    ),
    postRoute(ports, kind, 'POST /admin/v1/tokens'),
    ...namedRecordRoutes(ports, kind),
  ]
}

function wireToken({ clock }: AdminPorts, token: AdminTokenRecord): AdminToken {
  const expired = token.expiresAtMs !== null && token.expiresAtMs <= clock.now()
  return wire(AdminToken, token, { state: token.revokedAtMs !== null ? 'revoked' : expired ? 'expired' : 'active' })
}

/** Tokens as records that a client describes. */
function tokenKind(ports: AdminPorts): NamedRecords<'/admin/v1/tokens/:id', AdminTokenRecord, AdminTokenPatch> {
  const { adminTokens } = ports.store
  return {
    path: '/admin/v1/tokens/:id',
    noun: 'Admin token',
    kind: 'admin_token',
    event: 'token',
    terms: ['name', 'scopes', 'expires_at'] satisfies readonly (keyof AdminTokenBody)[],
    get: (id) => adminTokens.get(id),
    shown: (token) => wireToken(ports, token),
    update: (id, decide) => adminTokens.update(id, decide),
    describe: (call, read) => {
      const body = read()
      const terms = { scopes: scopesOf(body), expiresAtMs: endMs(body.expires_at) }
      return {
        change: within(ports, call, ({ name }) => {
          if (body.name !== name)
            throw fieldError('name', 'one_of', { allowed: name }, `must be ${name}: a token keeps its name`)
          return terms
        }),
        create: async (externalId) => {
          const { record, token } = await newToken(ports, call, body, externalId)
          return { record, once: { token } }
        },
      }
    },
    patch: (call, { scopes, expires_at: end }) =>
      within(ports, call, () => ({
        ...(scopes === undefined ? {} : { scopes: sorted(scopes) }),
        ...(end === undefined ? {} : { expiresAtMs: endMs(end) }),
      })),
    remove: async ({ id }, guard, call) => {
      const revoked = await adminTokens.revoke(id, ports.clock.now(), (current) => {
        refuseBeyondOwn(ports, call, current.scopes)
        guard(wireToken(ports, current))
      })
      for (const child of revoked.slice(1))
        await recordChange(ports, call, 'token.revoke', child.id, wireToken(ports, child), null)
      return revoked.length > 0
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

/** null = the token has no end. */
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
  const maker = ports.access.adminTokenOf(call.request)
  const token = generateKey(ports.ids, ADMIN_PREFIX)
  const record: AdminTokenRecord = {
    id: `tok_${ports.ids.letters(16)}`,
    externalId,
    name: given.name,
    label: labelOf(token),
    scopes,
    createdBy: actor(ports, call),
    madeBy: maker?.id ?? null,
    createdAtMs: ports.clock.now(),
    expiresAtMs: endMs(given.expires_at),
    revokedAtMs: null,
    lastUsedAtMs: null,
  }
  // The caller's token may have been revoked or narrowed since it opened this route.
  const check = (inForce: AdminTokenRecord | null): void => {
    if (maker === null) return
    if (inForce === null || !covers(new Set(inForce.scopes), scopes)) throw reasonError('beyond_own')
    refuseBeyondEnd(inForce.expiresAtMs, record.expiresAtMs)
  }
  if (!(await ports.store.adminTokens.create({ ...record, digest: digestOf(token) }, check)))
    throw reasonError('token_name_taken', { name: given.name })
  return { record, token }
}

/** Refuses changes of a token that may do more or lasts longer than the caller's, and changes that would make it so. */
function within(
  ports: AdminPorts,
  call: AdminCall,
  decide: (current: AdminTokenRecord) => AdminTokenPatch,
): typeof decide {
  return (current) => {
    refuseBeyondOwn(ports, call, current.scopes)
    const patch = decide(current)
    refuseBeyondOwn(ports, call, patch.scopes ?? [])
    // More scopes for a token that outlives the caller's would outlive it too.
    if (patch.scopes !== undefined || patch.expiresAtMs !== undefined)
      refuseLonger(ports, call, patch.expiresAtMs === undefined ? current.expiresAtMs : patch.expiresAtMs)
    return patch
  }
}
