import { keyPatchOf, newKey, newSecret, tooManyKeys, tooManySecrets } from '../access/key-terms.ts'
import type { Principal } from '../access/principal.ts'
import { reasonError } from '../base/refusals.ts'
import type { Route } from '../http/edge.ts'
import { keyBody, NOTHING_SPENT } from '../api/records/key-body.ts'
import { periodEndMs } from '../ledger/period.ts'
import type { KeyWithSpend } from '../store/accounts/key-store.ts'
import type { Key, KeyBody, NewKey } from '../api/cabinet/key-contract.ts'
import { may, recordEvent, visitRoute, type CabinetBody, type CabinetPorts, type Visit } from './ports.ts'
import { isoTime } from '../base/time.ts'

/** The account's own keys. */
export function keyRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/keys', async (visit) => ({
      data: await shownKeys(ports, await visibleKeys(ports, visit)),
    })),
    visitRoute(ports, 'POST /cabinet/v1/keys', (visit, read) => createKey(ports, visit, read()), 201),
    visitRoute(ports, 'GET /cabinet/v1/keys/:id', async (visit) => shownKey(ports, await ownKey(ports, visit))),
    visitRoute(ports, 'PATCH /cabinet/v1/keys/:id', (visit, read) => patchKey(ports, visit, read)),
    visitRoute(ports, 'POST /cabinet/v1/keys/:id/rotate', (visit, read) => rotateKey(ports, visit, read())),
    visitRoute(ports, 'DELETE /cabinet/v1/keys/:id', async (visit) => {
      const { key } = await ownKey(ports, visit)
      await ports.store.keys.delete(key.id)
      ports.access.invalidate({ keyId: key.id })
      await recordEvent(ports, visit.user.email, visit.call.clientIp, 'key.delete', key.id)
      return { id: key.id, deleted: true }
    }),
  ]
}

/** The keys of the account, or of somebody who may see no others those that they have made. */
export async function visibleKeys(
  ports: Pick<CabinetPorts, 'store' | 'periods'>,
  visit: Pick<Visit, 'accountId' | 'user' | 'membership'>,
): Promise<readonly KeyWithSpend[]> {
  const keys = await ports.store.keys.list(visit.accountId, ports.periods())
  return keys.filter((found) => isVisible(visit, found))
}

function isVisible(visit: Pick<Visit, 'user' | 'membership'>, { key }: KeyWithSpend): boolean {
  return may(visit, 'keys:all') || key.madeBy === visit.user.id
}

type ShownPorts = Pick<CabinetPorts, 'store' | 'periods' | 'clock' | 'catalog'>

/** Keys with the people who made them. */
export async function shownKeys(ports: ShownPorts, found: readonly KeyWithSpend[]): Promise<readonly Key[]> {
  const makers = new Set(found.flatMap(({ key }) => key.madeBy ?? []))
  const emails = await ports.store.users.emails([...makers])
  return found.map((one) => bodyOf(ports, one, emails))
}

async function shownKey(ports: ShownPorts, found: KeyWithSpend): Promise<Key> {
  const { madeBy } = found.key
  return bodyOf(ports, found, await ports.store.users.emails(madeBy === null ? [] : [madeBy]))
}

function bodyOf(ports: ShownPorts, { key, spend }: KeyWithSpend, emails: ReadonlyMap<string, string>): Key {
  const { timezone } = ports.catalog.current().settings
  const resetsAt =
    key.limitMicro === null || key.limitReset === null
      ? null
      : isoTime(periodEndMs(ports.clock.now(), key.limitReset, timezone))
  return {
    ...keyBody(key, spend, ports.periods(), { limit_resets_at: resetsAt }),
    made_by: key.madeBy === null ? null : (emails.get(key.madeBy) ?? null),
  }
}

async function rotateKey(
  ports: CabinetPorts,
  visit: Visit,
  given: ReturnType<CabinetBody<'POST /cabinet/v1/keys/:id/rotate'>>,
): Promise<NewKey> {
  const { key: before } = await ownKey(ports, visit)
  const { key, rotation } = newSecret(given, ports.ids, ports.clock.now())
  if ((await ports.store.keys.rotate(before.id, rotation)) === 'full') throw tooManySecrets()
  ports.access.invalidate({ keyId: before.id })
  const after = await shownKey(ports, await ownKey(ports, visit))
  await recordEvent(ports, visit.user.email, visit.call.clientIp, 'key.rotate', after.id, after)
  return { ...after, key }
}

/** Another account's key, or one that is hidden from this person, gives the same 404 as a key that never existed. */
async function ownKey(ports: CabinetPorts, visit: Visit): Promise<KeyWithSpend> {
  const { call, accountId } = visit
  const id = call.params['id'] ?? ''
  const found = await ports.store.keys.get(id, ports.periods())
  if (found === null || found.key.accountId !== accountId || !isVisible(visit, found))
    throw reasonError('not_found', 'unknown_id', { id: id.slice(0, 80) }, `Key '${id.slice(0, 80)}' not found`)
  return found
}

async function createKey(ports: CabinetPorts, { call, accountId, user }: Visit, given: KeyBody): Promise<NewKey> {
  const { key, record } = newKey(given, accountId, ports.ids, ports.clock.now())
  const refusal = tooManyKeys((await ports.store.keys.list(accountId, ports.periods())).length)
  if (refusal !== null) throw refusal
  const madeBy = { userId: user.id, month: ports.periods().month }
  const made = await shownKey(ports, {
    key: await ports.store.keys.create({ ...record, madeBy }),
    spend: NOTHING_SPENT,
  })
  await recordEvent(ports, user.email, call.clientIp, 'key.create', made.id, made)
  return { ...made, key }
}

async function patchKey(
  ports: CabinetPorts,
  visit: Visit,
  read: CabinetBody<'PATCH /cabinet/v1/keys/:id'>,
): Promise<Key> {
  const { call, user } = visit
  const before = await ownKey(ports, visit)
  await ports.store.keys.update(before.key.id, keyPatchOf(read(), before.key.limitMicro), ports.periods())
  ports.access.invalidate({ keyId: before.key.id })
  const after = await shownKey(ports, await ownKey(ports, visit))
  await recordEvent(ports, user.email, call.clientIp, 'key.update', after.id, after)
  return after
}
