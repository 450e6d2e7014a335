import { changedKey, madeKey, newKey, newSecret } from '../../access/key-terms.ts'
import type { Principal } from '../../access/principal.ts'
import { onlyParameter, textParameter, wholeParameter, PAGE_DEPTH_MAX } from '../../base/query-parameters.ts'
import { reasonError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { keyBody, NOTHING_SPENT } from '../records/limits-body.ts'
import { periodEndMs } from '../../ledger/period.ts'
import type { KeyFilter } from '../../store/accounts/key-lists.ts'
import type { KeyWithSpend } from '../../store/accounts/key-store.ts'
import {
  KEYS_PAGE_MAX,
  type Key,
  type KeyBody,
  type Keys,
  type NewKey,
  ManagementKey,
  type ManagementKeyBody,
  type NewManagementKey,
} from './key-contract.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { may, visitRoute, type CabinetBody, type CabinetPorts, type Visit } from './ports.ts'
import { isoTime } from '../../base/time.ts'
import { digestOf, generateKey, labelOf, MANAGEMENT_PREFIX } from '../../access/api-key.ts'
import { proofOf, proveAnew } from './own-proof.ts'
import { wire } from '../../base/wire-route.ts'

/** The account's own keys. */
export function keyRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/keys', (visit) => listed(ports, visit)),
    visitRoute(ports, 'POST /cabinet/v1/keys', (visit, read) => createKey(ports, visit, read())),
    visitRoute(ports, 'GET /cabinet/v1/keys/:id', async (visit) => shownKey(ports, visit, await ownKey(ports, visit))),
    visitRoute(ports, 'PATCH /cabinet/v1/keys/:id', (visit, read) => patchKey(ports, visit, read)),
    visitRoute(ports, 'POST /cabinet/v1/keys/:id/rotate', (visit, read) => rotateKey(ports, visit, read())),
    visitRoute(ports, 'DELETE /cabinet/v1/keys/:id', async (visit) => {
      const { key } = await ownKey(ports, visit)
      await ports.store.keys.delete(key.id)
      ports.access.invalidate({ keyId: key.id })
      await recordEvent(ports, visit, 'key.delete', key.id)
      return { id: key.id, deleted: true }
    }),
  ]
}

async function listed(ports: CabinetPorts, visit: Visit): Promise<Keys> {
  const { query } = visit.call
  const own = visibleTo(visit)
  const makers = await makersOf(ports, own)
  const by = textParameter(query, 'by')
  const search = textParameter(query, 'search')
  const filter = {
    ...own,
    // The address of a person who made no key finds none.
    ...(by === null ? {} : { madeBy: [...makers].find(([, email]) => email === by)?.[0] ?? '' }),
    ...(search === null ? {} : { search }),
    ...(onlyParameter(query, 'enabled') === null ? {} : { disabled: false }),
  }
  const range = {
    limit: wholeParameter(query, 'limit', 1, KEYS_PAGE_MAX) ?? KEYS_PAGE_MAX,
    offset: wholeParameter(query, 'offset', 0, PAGE_DEPTH_MAX) ?? 0,
  }
  const { data, total } = await ports.store.keys.lists.page(filter, ports.periods(), range)
  return { data: await shownKeys(ports, visit, data), total, makers: [...makers.values()] }
}

/** The people who made the keys that the visitor sees; null = programs and the operator. */
async function makersOf(
  { store, periods }: CabinetPorts,
  { accountId, madeBy }: KeyFilter,
): Promise<ReadonlyMap<string | null, string | null>> {
  const all = [...(await store.keys.lists.byMaker(accountId, periods())).keys()]
  const ids = all.filter((id) => madeBy === undefined || id === madeBy)
  const emails = await store.users.emails(ids.filter((id) => id !== null))
  return new Map(ids.map((id) => [id, id === null ? null : (emails.get(id) ?? null)]))
}

/** The keys of the account; for a person who may not see those of others, only the keys that they made. */
export function visibleTo(visit: Pick<Visit, 'accountId' | 'user' | 'membership'>): KeyFilter {
  return { accountId: visit.accountId, ...(may(visit, 'keys:all') ? {} : { madeBy: visit.user.id }) }
}

/** Whether the person may read what the key has stored: a member reads their own, an owner those of the account. */
function isOwn({ user, membership }: Viewer, key: KeyWithSpend['key']): boolean {
  return key.person === (membership?.role === 'owner' ? null : user.id)
}

export function isVisible(visit: Pick<Visit, 'user' | 'membership'>, { key }: KeyWithSpend): boolean {
  return may(visit, 'keys:all') || key.madeBy === visit.user.id
}

type Viewer = Pick<Visit, 'user' | 'membership'>
type ShownPorts = Pick<CabinetPorts, 'store' | 'periods' | 'clock' | 'catalog'>

/** Keys with the people who made them. */
export async function shownKeys(
  ports: ShownPorts,
  visit: Viewer,
  found: readonly KeyWithSpend[],
): Promise<readonly Key[]> {
  const makers = new Set(found.flatMap(({ key }) => key.madeBy ?? []))
  const emails = await ports.store.users.emails([...makers])
  return found.map((one) => bodyOf(ports, visit, one, emails))
}

async function shownKey(ports: ShownPorts, visit: Viewer, found: KeyWithSpend): Promise<Key> {
  const { madeBy } = found.key
  return bodyOf(ports, visit, found, await ports.store.users.emails(madeBy === null ? [] : [madeBy]))
}

function bodyOf(
  ports: ShownPorts,
  visit: Viewer,
  { key, spend }: KeyWithSpend,
  emails: ReadonlyMap<string, string>,
): Key {
  const { timezone } = ports.catalog.current().settings
  const resetsAt =
    key.limitMicro === null || key.limitReset === null
      ? null
      : isoTime(periodEndMs(ports.clock.now(), key.limitReset, timezone))
  return {
    ...keyBody(key, spend, ports.periods(), { limit_resets_at: resetsAt }),
    made_by: key.madeBy === null ? null : (emails.get(key.madeBy) ?? null),
    own: isOwn(visit, key),
  }
}

async function rotateKey(
  ports: CabinetPorts,
  visit: Visit,
  given: ReturnType<CabinetBody<'POST /cabinet/v1/keys/:id/rotate'>>,
): Promise<NewKey> {
  const { key: before } = await ownKey(ports, visit)
  if (!isOwn(visit, before)) throw reasonError('maker_needed')
  const key = await newSecret(ports.store.keys, before.id, given, ports.ids, ports.clock.now())
  ports.access.invalidate({ keyId: before.id })
  const after = await shownKey(ports, visit, await ownKey(ports, visit))
  await recordEvent(ports, visit, 'key.rotate', after.id, after)
  return { ...after, key }
}

/** Another account's key, or one that is hidden from this person, gives the same 404 as a key that never existed. */
async function ownKey(ports: CabinetPorts, visit: Visit): Promise<KeyWithSpend> {
  const { call, accountId } = visit
  const id = call.params['id'] ?? ''
  const found = await ports.store.keys.get(id, ports.periods())
  if (found === null || found.key.accountId !== accountId || !isVisible(visit, found)) throw notFound('Key', id)
  return found
}

async function createKey(ports: CabinetPorts, visit: Visit, given: KeyBody): Promise<NewKey> {
  const { accountId, user } = visit
  const { key, record } = newKey(given, accountId, ports.ids, ports.clock.now())
  const madeBy = { userId: user.id, month: ports.periods().month }
  const made = await shownKey(ports, visit, {
    key: await madeKey(ports.store.keys, { ...record, madeBy }),
    spend: NOTHING_SPENT,
  })
  await recordEvent(ports, visit, 'key.create', made.id, made)
  return { ...made, key }
}

async function patchKey(
  ports: CabinetPorts,
  visit: Visit,
  read: CabinetBody<'PATCH /cabinet/v1/keys/:id'>,
): Promise<Key> {
  const before = await ownKey(ports, visit)
  if (!(await changedKey(ports.store.keys, before.key.id, read(), ports.periods())))
    return shownKey(ports, visit, before)
  ports.access.invalidate({ keyId: before.key.id })
  const after = await shownKey(ports, visit, await ownKey(ports, visit))
  await recordEvent(ports, visit, 'key.update', after.id, after)
  return after
}

const KEYS_MAX = 20
const ID_LETTERS = 16

/**
 * Keys for programs that manage the account's API keys. An owner makes and deletes them, and they work as long as that
 * owner is one.
 */
export function managementKeyRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/management-keys', async ({ accountId }) => ({
      data: (await ports.store.managementKeys.list(accountId)).map((key) => wire(ManagementKey, key)),
    })),
    visitRoute(ports, 'POST /cabinet/v1/management-keys', (visit, read) => createManagementKey(ports, visit, read())),
    visitRoute(ports, 'DELETE /cabinet/v1/management-keys/:id', (visit) => deleteManagementKey(ports, visit)),
  ]
}

async function createManagementKey(
  ports: CabinetPorts,
  visit: Visit,
  { name, expires_at: expires, ...proof }: ManagementKeyBody,
): Promise<NewManagementKey> {
  const { accountId, user } = visit
  await proveAnew(ports, visit, proofOf(proof))
  const nowMs = ports.clock.now()
  const expiresAtMs = typeof expires === 'string' ? Date.parse(expires) : null
  if ((await ports.store.managementKeys.list(accountId)).length >= KEYS_MAX)
    throw reasonError('keys_most', { most: KEYS_MAX })
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
  await recordEvent(ports, visit, 'management_key.create', made.id, made)
  return { ...made, key }
}

async function deleteManagementKey(
  ports: CabinetPorts,
  { call, accountId, user }: Visit,
): Promise<{ readonly id: string; readonly deleted: true }> {
  const id = call.params['id'] ?? ''
  if (!(await ports.store.managementKeys.delete(id, accountId))) throw notFound('Key', id)
  ports.access.invalidate({ keyId: id })
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'management_key.delete', id)
  return { id, deleted: true }
}
