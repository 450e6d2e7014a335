import { digestOf, generateKey, labelOf, MANAGEMENT_PREFIX } from '../../access/api-key.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { reasonError } from '../../base/refusals.ts'
import type { ManagementKey as ManagementKeyRecord } from '../../store/accounts/management-key-store.ts'
import type { ManagementKey, ManagementKeyBody, NewManagementKey } from './key-contract.ts'
import { recordEvent, visitRoute, type CabinetPorts, type Visit } from '../../cabinet/ports.ts'
import { isoTime } from '../../base/time.ts'

const KEYS_MAX = 20
const ID_LETTERS = 16

/** Keys for programs that manage the account's API keys; only a signed-in person makes and deletes them. */
export function managementKeyRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/management-keys', async ({ accountId }) => ({
      data: (await ports.store.managementKeys.list(accountId)).map(shownKey),
    })),
    visitRoute(ports, 'POST /cabinet/v1/management-keys', (visit, read) => createKey(ports, visit, read()), 201),
    visitRoute(ports, 'DELETE /cabinet/v1/management-keys/:id', (visit) => deleteKey(ports, visit)),
  ]
}

function shownKey(record: ManagementKeyRecord): ManagementKey {
  const { id, name, label, expiresAtMs, createdAtMs, lastUsedAtMs } = record
  return {
    id,
    name,
    label,
    expires_at: isoTime(expiresAtMs),
    created_at: isoTime(createdAtMs),
    last_used_at: isoTime(lastUsedAtMs),
  }
}

async function createKey(
  ports: CabinetPorts,
  { call, accountId, user }: Visit,
  { name, expires_at: expires }: ManagementKeyBody,
): Promise<NewManagementKey> {
  const nowMs = ports.clock.now()
  const expiresAtMs = typeof expires === 'string' ? Date.parse(expires) : null
  if ((await ports.store.managementKeys.list(accountId)).length >= KEYS_MAX)
    throw reasonError(
      'conflict',
      'keys_most',
      { most: KEYS_MAX },
      `An account has at most ${KEYS_MAX} management keys: delete some first`,
    )
  const key = generateKey(ports.ids, MANAGEMENT_PREFIX)
  const record = {
    id: `mkey_${ports.ids.letters(ID_LETTERS)}`,
    accountId,
    name,
    label: labelOf(key),
    expiresAtMs,
    createdAtMs: nowMs,
  }
  await ports.store.managementKeys.create({ ...record, digest: digestOf(key) })
  const made = shownKey({ ...record, lastUsedAtMs: null })
  await recordEvent(ports, user.email, call.clientIp, 'management_key.create', made.id, made)
  return { ...made, key }
}

async function deleteKey(
  ports: CabinetPorts,
  { call, accountId, user }: Visit,
): Promise<{ readonly id: string; readonly deleted: true }> {
  const id = call.params['id'] ?? ''
  if (!(await ports.store.managementKeys.delete(id, accountId)))
    throw reasonError('not_found', 'unknown_id', { id: id.slice(0, 80) }, `Key '${id.slice(0, 80)}' not found`)
  ports.access.invalidate({ keyId: id })
  await recordEvent(ports, user.email, call.clientIp, 'management_key.delete', id)
  return { id, deleted: true }
}
