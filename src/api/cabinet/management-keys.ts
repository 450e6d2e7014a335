import { digestOf, generateKey, labelOf, MANAGEMENT_PREFIX } from '../../access/api-key.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { reasonError } from '../../base/refusals.ts'
import { ManagementKey, type ManagementKeyBody, type NewManagementKey } from './key-contract.ts'
import { proofOf, proveAnew } from './own-proof.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { visitRoute, type CabinetPorts, type Visit } from './ports.ts'
import { wire } from '../../base/wire.ts'

const KEYS_MAX = 20
const ID_LETTERS = 16

/**
 * Keys for programs that manage the account's API keys; an owner makes and deletes them, and they work while that owner
 * is one.
 */
export function managementKeyRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/management-keys', async ({ accountId }) => ({
      data: (await ports.store.managementKeys.list(accountId)).map((key) => wire(ManagementKey, key)),
    })),
    visitRoute(ports, 'POST /cabinet/v1/management-keys', (visit, read) => createKey(ports, visit, read())),
    visitRoute(ports, 'DELETE /cabinet/v1/management-keys/:id', (visit) => deleteKey(ports, visit)),
  ]
}

async function createKey(
  ports: CabinetPorts,
  visit: Visit,
  { name, expires_at: expires, ...proof }: ManagementKeyBody,
): Promise<NewManagementKey> {
  const { call, accountId, user } = visit
  await proveAnew(ports, visit, proofOf(proof))
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
    madeBy: user.id,
  }
  await ports.store.managementKeys.create({ ...record, digest: digestOf(key) })
  const made = wire(ManagementKey, { ...record, lastUsedAtMs: null })
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'management_key.create', made.id, made)
  return { ...made, key }
}

async function deleteKey(
  ports: CabinetPorts,
  { call, accountId, user }: Visit,
): Promise<{ readonly id: string; readonly deleted: true }> {
  const id = call.params['id'] ?? ''
  if (!(await ports.store.managementKeys.delete(id, accountId))) throw notFound('Key', id)
  ports.access.invalidate({ keyId: id })
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'management_key.delete', id)
  return { id, deleted: true }
}
