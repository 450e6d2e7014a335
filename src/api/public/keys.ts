import type { Access } from '../../access/access.ts'
import { changedKey, madeKey, newKey } from '../../access/key-terms.ts'
import type { Principal } from '../../access/principal.ts'
import { ApiError } from '../../base/errors.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import { wholeParameter } from '../../base/query-parameters.ts'
import { readBody } from '../../kinds/fields/strict-body.ts'
import { keyBody, NOTHING_SPENT } from '../records/limits-body.ts'
import { recordEvent, type Actor } from '../records/ports.ts'
import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import type { Clock } from '../../base/clock.ts'
import type { IdSource } from '../../base/ids.ts'
import { fieldError } from '../../base/refusals.ts'
import type { KeyWithSpend } from '../../store/accounts/key-store.ts'
import type { Store } from '../../store/store.ts'
import { principalOf } from './account.ts'
import { ManagedKeyBody, ManagedKeyPatch, type ManagedKey } from './contract.ts'

const PAGE_MAX = 100
const SHOWN_CHARS = 80

export interface ManagedKeyPorts {
  readonly store: Pick<Store, 'keys' | 'events'>
  readonly access: Pick<Access, 'invalidate'>
  readonly clock: Clock
  readonly ids: IdSource
  readonly periods: () => PeriodStarts
}

type ManagedCall = Call<Principal>

/** The API keys of an account, for programs with a management key. Management keys are not among them. */
export function managedKeyRoutes(ports: ManagedKeyPorts): readonly Route<Principal>[] {
  const plane = 'management'
  return [
    { method: 'GET', path: '/v1/keys', plane, body: 'none', handle: (call) => listKeys(ports, call) },
    { method: 'POST', path: '/v1/keys', plane, body: 'json', handle: (call) => createKey(ports, call) },
    { method: 'GET', path: '/v1/keys/:hash', plane, body: 'none', handle: (call) => showKey(ports, call) },
    { method: 'PATCH', path: '/v1/keys/:hash', plane, body: 'json', handle: (call) => patchKey(ports, call) },
    { method: 'DELETE', path: '/v1/keys/:hash', plane, body: 'none', handle: (call) => deleteKey(ports, call) },
  ]
}

async function listKeys(ports: ManagedKeyPorts, call: ManagedCall): Promise<Reply> {
  const offset = wholeParameter(call.query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const disabled = call.query.get('include_disabled') ?? 'false'
  if (disabled !== 'true' && disabled !== 'false')
    throw fieldError('include_disabled', 'one_of', { allowed: 'true, false' })
  const { accountId } = principalOf(call)
  const filter = { accountId, ...(disabled === 'true' ? {} : { disabled: false }) }
  const range = { limit: PAGE_MAX, offset, uncounted: true }
  const { data } = await ports.store.keys.lists.page(filter, ports.periods(), range)
  return { status: 200, body: { data: data.map((found) => managedKey(ports, found)) } }
}

async function createKey(ports: ManagedKeyPorts, call: ManagedCall): Promise<Reply> {
  const { accountId } = principalOf(call)
  const given = readBody(ManagedKeyBody, call.json)
  const { key, record } = newKey(given, accountId, ports.ids, ports.clock.now())
  const made = managedKey(ports, { key: await madeKey(ports.store.keys, record), spend: NOTHING_SPENT })
  await recordEvent(ports, actorOf(call), 'key.create', record.id, made)
  return { status: 201, body: { data: made, key } }
}

async function showKey(ports: ManagedKeyPorts, call: ManagedCall): Promise<Reply> {
  return { status: 200, body: { data: managedKey(ports, await ownKey(ports, call)) } }
}

async function patchKey(ports: ManagedKeyPorts, call: ManagedCall): Promise<Reply> {
  const before = await ownKey(ports, call)
  const { id } = before.key
  const given = readBody<typeof ManagedKeyPatch>(ManagedKeyPatch, call.json)
  if (!(await changedKey(ports.store.keys, id, given, ports.periods())))
    return { status: 200, body: { data: managedKey(ports, before) } }
  ports.access.invalidate({ keyId: id })
  const after = managedKey(ports, await ownKey(ports, call))
  await recordEvent(ports, actorOf(call), 'key.update', id, after, managedKey(ports, before))
  return { status: 200, body: { data: after } }
}

async function deleteKey(ports: ManagedKeyPorts, call: ManagedCall): Promise<Reply> {
  const before = await ownKey(ports, call)
  const { id } = before.key
  if (!(await ports.store.keys.delete(id))) throw unknownKey(id)
  ports.access.invalidate({ keyId: id })
  await recordEvent(ports, actorOf(call), 'key.delete', id, null, managedKey(ports, before))
  return { status: 200, body: { deleted: true } }
}

/** Another account's key gives the same 404 as a key that never existed. */
async function ownKey(ports: ManagedKeyPorts, call: ManagedCall): Promise<KeyWithSpend> {
  const id = call.params['hash'] ?? ''
  const found = await ports.store.keys.get(id, ports.periods())
  if (found === null || found.key.accountId !== principalOf(call).accountId) throw unknownKey(id)
  return found
}

function unknownKey(id: string): ApiError {
  return new ApiError('not_found', `Key '${id.slice(0, SHOWN_CHARS)}' not found`)
}

function managedKey(ports: ManagedKeyPorts, { key, spend }: KeyWithSpend): ManagedKey {
  // OpenRouter's shape has no place for a replaced secret, and strict clients refuse unknown fields.
  const { id, old_secret_until: _grace, ...shown } = keyBody(key, spend, ports.periods(), {})
  return {
    hash: id,
    ...shown,
    currency: 'RUB',
    include_byok_in_limit: false,
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    updated_at: null,
    creator_user_id: key.accountId,
    external_user: null,
    workspace_id: key.accountId,
  }
}

/** The actor in the audit log: the management key, by its label. */
function actorOf(call: ManagedCall): Actor {
  return { actor: principalOf(call).keyLabel, ip: call.clientIp }
}
