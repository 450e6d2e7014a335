import { keyPatchOf, madeKey, newKey, newSecret, OPERATOR_KEYS_MAX, type KeyTerms } from '../../access/key-terms.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { keyBody, NOTHING_SPENT } from '../records/key-body.ts'
import { fieldError } from '../../base/refusals.ts'
import type { KeyPatch, KeyRecord, NamedKey } from '../../store/accounts/key-store.ts'
import { KeyPut, type Key } from './account-contract.ts'
import { account } from './accounts.ts'
import {
  listBody,
  listRoute,
  adminRoute,
  notFound,
  param,
  recordChange,
  type AdminBody,
  type AdminCall,
  type AdminPorts,
  type AdminAnswer,
} from './ports.ts'
import { findNamed, namedRecordRoutes, type NamedRecords } from './records.ts'

/** The fields that PUT sets and the body for a new key may omit, with their defaults. */
const DEFAULTS: KeyTerms = Object.fromEntries(
  Object.keys(KeyPut.fields)
    .filter((name) => !['account', 'name', 'disabled'].includes(name))
    .map((name) => [name, null]),
)

/** Keys of accounts. */
export function keyAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = keyKind(ports)
  return [
    adminRoute('POST /admin/v1/accounts/:id/keys', async (call, read) => {
      const { id: accountId } = await account(ports, param(call, 'id'))
      const { record, once } = await createKey(ports, accountId, read(), { externalId: null, disabled: false })
      const body = shown(ports, record)
      await recordChange(ports, call, 'key.create', record.id, null, body)
      return { ...body, ...once }
    }),
    listRoute(ports, 'GET /admin/v1/accounts/:id/keys', async (call, range) => {
      const { id } = await account(ports, param(call, 'id'))
      return listBody(
        await ports.store.keys.lists.page({ accountId: id }, ports.periods(), range),
        ({ key, ...more }) => shown(ports, { ...key, ...more }),
      )
    }),
    adminRoute('POST /admin/v1/keys/:id/rotate', (call, read) => rotateKey(ports, kind, call, read)),
    ...namedRecordRoutes(ports, kind),
  ]
}

/** A key with the values shown with it that are not columns of its own. */
type FullKey = KeyRecord & Pick<NamedKey, 'spend' | 'externalId'>

function shown(ports: AdminPorts, { spend, externalId, ...key }: FullKey): Key {
  return keyBody(key, spend, ports.periods(), { external_id: externalId, account: key.accountId })
}

async function keyOf({ store, periods }: AdminPorts, id: string): Promise<FullKey | null> {
  const found = await store.keys.get(id, periods())
  return found === null ? null : { ...found.key, spend: found.spend, externalId: found.externalId }
}

/** Keys as records that a client describes. */
function keyKind(ports: AdminPorts): NamedRecords<'/admin/v1/keys/:id', FullKey, KeyPatch> {
  const { keys } = ports.store
  return {
    path: '/admin/v1/keys/:id',
    noun: 'Key',
    kind: 'key',
    event: 'key',
    terms: Object.keys(KeyPut.fields),
    get: (id) => keyOf(ports, id),
    shown: (key) => shown(ports, key),
    update: async (id, decide) => {
      const found = await keyOf(ports, id)
      if (found === null) return null
      const changed = await keys.update(id, (key) => decide({ ...found, ...key }), ports.periods())
      return changed === null ? null : keyOf(ports, id)
    },
    describe: async (_call, read) => {
      const { account: owner, disabled, ...terms } = read()
      const { id: accountId } = await account(ports, owner)
      return {
        change: (current) => {
          if (current.accountId !== accountId)
            throw fieldError(
              'account',
              'one_of',
              { allowed: current.accountId },
              `must be ${current.accountId}: a key does not move to another account`,
            )
          const flags = typeof disabled === 'boolean' ? { disabled } : {}
          return keyPatchOf({ ...DEFAULTS, ...terms, ...flags }, current)
        },
        create: (externalId) => createKey(ports, accountId, terms, { externalId, disabled: disabled ?? false }),
      }
    },
    patch: (_call, terms) => (current) => keyPatchOf(terms, current),
    remove: async ({ id, ...found }, guard) => {
      if (!(await keys.delete(id, (key) => guard(shown(ports, { ...found, ...key }))))) return false
      ports.access.invalidate({ keyId: id })
      return true
    },
    changed: ({ id }) => ports.access.invalidate({ keyId: id }),
  }
}

/** `once` has the secret, which only one answer shows. */
async function createKey(
  ports: AdminPorts,
  accountId: string,
  terms: KeyTerms & { readonly name: string },
  more: { readonly externalId: string | null; readonly disabled: boolean },
): Promise<{ readonly record: FullKey; readonly once: { readonly key: string } }> {
  const { key, record } = newKey(terms, accountId, ports.ids, ports.clock.now())
  const made = await madeKey(ports.store.keys, { ...record, ...more }, OPERATOR_KEYS_MAX)
  return { record: { ...made, spend: NOTHING_SPENT, externalId: more.externalId }, once: { key } }
}

async function rotateKey(
  ports: AdminPorts,
  kind: ReturnType<typeof keyKind>,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/keys/:id/rotate'>,
): Promise<AdminAnswer<'POST /admin/v1/keys/:id/rotate'>> {
  const given = param(call, 'id')
  const terms = read()
  const before = await findNamed(ports, kind, given)
  if (before === null) throw notFound('Key', given)
  const { id } = before
  const key = await newSecret(ports.store.keys, id, terms, ports.ids, ports.clock.now())
  ports.access.invalidate({ keyId: id })
  const after = await keyOf(ports, id)
  if (after === null) throw notFound('Key', given)
  const body = shown(ports, after)
  await recordChange(ports, call, 'key.rotate', id, shown(ports, before), body)
  return { ...body, key }
}
