import { isDeepStrictEqual } from 'node:util'
import { keyPatchOf, newKey, newSecret, tooManySecrets, type KeyTerms } from '../access/key-terms.ts'
import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { keyBody, NOTHING_SPENT } from '../api/records/key-body.ts'
import { fieldError } from '../base/refusals.ts'
import { limitsOrNull, NO_LIMITS } from '../store/accounts/key-limits.ts'
import type { KeyPatch, KeyRecord, NamedKey } from '../store/accounts/key-store.ts'
import { KeyPut, type Key } from '../api/admin/account-contract.ts'
import { account } from '../api/admin/accounts.ts'
import { pageOf } from '../store/page.ts'
import { listBody, listRoute } from './list-route.ts'
import {
  adminRoute,
  notFound,
  param,
  recordEvent,
  type AdminBody,
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

/** The fields that PUT sets and a new key need not have. */
const DEFAULTS: KeyTerms = Object.fromEntries(
  Object.keys(KeyPut.fields)
    .filter((name) => !['account', 'name', 'disabled'].includes(name))
    .map((name) => [name, null]),
)

/** Keys of accounts. */
export function keyAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = keyKind(ports)
  return [
    adminRoute('POST /admin/v1/accounts/:id/keys', (call, read) => createKey(ports, call, read)),
    listRoute(ports, 'GET /admin/v1/accounts/:id/keys', async (call, range) => {
      const { id } = await account(ports, param(call, 'id'))
      return listBody(pageOf(await ports.store.keys.list(id, ports.periods()), range), (key) => shown(ports, key))
    }),
    adminRoute('POST /admin/v1/keys/:id/rotate', (call, read) => rotateKey(ports, call, read)),
    ...recordRoutes(ports, kind),
    patchRoute(ports, kind, async (_call, given, read, guard) => {
      const { external_id: externalId, ...terms } = read()
      const { externalId: name } = externalIdPatch(externalId)
      const found = await named(ports, given)
      if (found === null) return null
      return changeKey(ports, found, guard, terms, name === found.externalId ? undefined : name)
    }),
  ]
}

function shown(ports: AdminPorts, { key, spend, externalId }: NamedKey): Key {
  return keyBody(key, spend, ports.periods(), { external_id: externalId, account: key.accountId })
}

/** By its id or its external id. */
async function named(ports: AdminPorts, given: string): Promise<NamedKey | null> {
  const id = await recordId(ports, 'key', given)
  return id === null ? null : ports.store.keys.get(id, ports.periods())
}

/** Keys as records that a client describes. */
function keyKind(ports: AdminPorts): RecordKind<'/admin/v1/keys/:id'> {
  const { keys } = ports.store
  return {
    path: '/admin/v1/keys/:id',
    noun: 'Key',
    event: 'key',
    terms: Object.keys(KeyPut.fields),
    show: async (given) => {
      const found = await named(ports, given)
      return found === null ? null : shown(ports, found)
    },
    put: async (_call, given, read, guard) => {
      const { account: owner, disabled, ...terms } = read()
      const { id: accountId } = await account(ports, owner)
      return putNamed(
        ports,
        { kind: 'key', noun: 'Key', given, guard },
        async (id) => {
          const found = await keys.get(id, ports.periods())
          if (found === null) return null
          if (found.key.accountId !== accountId)
            throw fieldError(
              'account',
              'one_of',
              { allowed: found.key.accountId },
              `must be ${found.key.accountId}: a key does not move to another account`,
            )
          const flags = typeof disabled === 'boolean' ? { disabled } : {}
          return changeKey(ports, found, guard, { ...DEFAULTS, ...terms, ...flags })
        },
        async (externalId) => {
          const { key, record } = newKey(terms, accountId, ports.ids, ports.clock.now())
          const made = await keys.create({ ...record, externalId, disabled: disabled ?? false })
          const after = shown(ports, { key: made, spend: NOTHING_SPENT, externalId })
          return { id: made.id, before: null, after, changed: true, once: { key } }
        },
      )
    },
    remove: async (_call, given, guard) => {
      const found = await named(ports, given)
      if (found === null) return null
      const check = (key: KeyRecord): void => guard(shown(ports, { ...found, key }))
      if (!(await keys.delete(found.key.id, check))) return null
      ports.access.invalidate({ keyId: found.key.id })
      return { id: found.key.id, before: shown(ports, found) }
    },
  }
}

/** `externalId`: undefined = it stays. */
async function changeKey(
  ports: AdminPorts,
  { spend, externalId: nameBefore, key: { id } }: NamedKey,
  guard: Guard,
  terms: KeyTerms,
  externalId?: string | null,
): Promise<Written<Key> | null> {
  const written = await changedRecord<KeyRecord, KeyPatch, Key>(
    { id, guard, shown: (key) => shown(ports, { key, spend, externalId: nameBefore }) },
    (decide) => ports.store.keys.update(id, decide, ports.periods()),
    (current) => ({ ...patchOf(terms, current), ...(externalId === undefined ? {} : { externalId }) }),
  )
  if (written === null || !written.changed) return written
  ports.access.invalidate({ keyId: id })
  const after = await ports.store.keys.get(id, ports.periods())
  return after === null ? null : { ...written, after: shown(ports, after) }
}

/** Limits are given one by one and kept together. */
function patchOf(terms: KeyTerms, current: KeyRecord): KeyPatch {
  const { limits, ...patch } = keyPatchOf(terms, current.limitMicro)
  if (limits === undefined) return patch
  const after = limitsOrNull({ ...NO_LIMITS, ...current.limits, ...limits })
  return isDeepStrictEqual(after, current.limits) ? patch : { ...patch, limits }
}

async function createKey(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/accounts/:id/keys'>,
): Promise<AdminReply<'POST /admin/v1/accounts/:id/keys'>> {
  const { id: accountId } = await account(ports, param(call, 'id'))
  const { key, record } = newKey(read(), accountId, ports.ids, ports.clock.now())
  const made = await ports.store.keys.create(record)
  const body = shown(ports, { key: made, spend: NOTHING_SPENT, externalId: null })
  await recordEvent(ports, call, 'key.create', record.id, null, body)
  return { status: 201, body: { ...body, key } }
}

async function rotateKey(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/keys/:id/rotate'>,
): Promise<AdminReply<'POST /admin/v1/keys/:id/rotate'>> {
  const given = param(call, 'id')
  const { key, rotation } = newSecret(read(), ports.ids, ports.clock.now())
  const before = await named(ports, given)
  if (before === null) throw notFound('Key', given)
  const { id } = before.key
  if ((await ports.store.keys.rotate(id, rotation)) === 'full') throw tooManySecrets()
  ports.access.invalidate({ keyId: id })
  const after = await ports.store.keys.get(id, ports.periods())
  if (after === null) throw notFound('Key', given)
  const body = shown(ports, after)
  await recordEvent(ports, call, 'key.rotate', id, shown(ports, before), body)
  return { status: 200, body: { ...body, key } }
}
