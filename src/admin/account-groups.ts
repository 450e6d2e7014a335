import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { isoTime } from '../base/time.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import type { AccountGroup as GroupRecord, AccountGroupPatch } from '../store/accounts/account-group-store.ts'
import { markupText } from '../api/admin/accounts.ts'
import { AccountGroupBody, type AccountGroup } from '../api/admin/group-contract.ts'
import { listBody, listRoute } from './list-route.ts'
import { adminRoute, recordEvent, type AdminCall, type AdminPorts, type AdminReply } from './ports.ts'
import { customerPrices } from '../api/admin/customer-prices.ts'
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

/** Groups of accounts, and what customers pay. */
export function groupAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = groupKind(ports)
  return [
    adminRoute('GET /admin/v1/account-groups', async () => {
      const data = (await ports.store.accountGroups.list()).map(groupBody)
      return { status: 200, body: { data, total: data.length } }
    }),
    adminRoute('POST /admin/v1/account-groups', (call, read) => createGroup(ports, call, read())),
    ...recordRoutes(ports, kind),
    patchRoute(ports, kind, (_call, given, read, guard) => {
      const { external_id: externalId, name, markup } = read()
      const patch = {
        ...externalIdPatch(externalId),
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(markup === undefined ? {} : { markup: markupText(markup) }),
      }
      return changeGroup(ports, given, patch, guard)
    }),
    listRoute(ports, 'GET /admin/v1/customer-prices', async ({ query }, range) =>
      listBody(await customerPrices(ports, query, range), (price) => price),
    ),
  ]
}

function groupBody({ id, externalId, name, markup, accounts, createdAtMs }: GroupRecord): AccountGroup {
  return { id, external_id: externalId, name, markup, accounts, created_at: isoTime(createdAtMs) }
}

/** Of a name that is not empty; spaces around it are not part of it. */
function nameTaken(name: string): Error {
  return fieldError('name', 'name_taken', { given: name }, `'${name}' is the name of another group`)
}

/** Groups as records that a client describes. */
function groupKind(ports: AdminPorts): RecordKind<'/admin/v1/account-groups/:id'> {
  const { accountGroups } = ports.store
  const named = async (given: string): Promise<GroupRecord | null> => {
    const id = await recordId(ports, 'account_group', given)
    return id === null ? null : accountGroups.get(id)
  }
  return {
    path: '/admin/v1/account-groups/:id',
    noun: 'Account group',
    event: 'account_group',
    terms: Object.keys(AccountGroupBody.fields),
    show: async (given) => {
      const found = await named(given)
      return found === null ? null : groupBody(found)
    },
    put: (_call, given, read, guard) => {
      const { name, markup } = read()
      const terms = { name: name.trim(), markup: markupText(markup) }
      return putNamed(
        ports,
        { kind: 'account_group', noun: 'Account group', given, guard },
        (id) => changeGroup(ports, id, terms, guard),
        async (externalId) => {
          const made = await newGroup(ports, terms, externalId)
          return { id: made.id, before: null, after: groupBody(made), changed: true }
        },
      )
    },
    remove: async (_call, given, guard) => {
      const found = await named(given)
      if (found === null) return null
      const end = await accountGroups.delete(found.id, (current) => guard(groupBody(current)))
      if (end === 'unknown') return null
      if (end === 'in_use')
        throw reasonError(
          'conflict',
          'group_in_use',
          { accounts: found.accounts },
          `Group '${found.name}' has accounts: put them into another group first, or into none`,
        )
      return { id: found.id, before: groupBody(found) }
    },
  }
}

async function newGroup(
  ports: AdminPorts,
  terms: { readonly name: string; readonly markup: string },
  externalId: string | null,
): Promise<GroupRecord> {
  const record = { id: `grp_${ports.ids.letters(16)}`, externalId, ...terms, createdAtMs: ports.clock.now() }
  if (!(await ports.store.accountGroups.create(record))) throw nameTaken(record.name)
  return { ...record, accounts: 0 }
}

async function createGroup(
  ports: AdminPorts,
  call: AdminCall,
  { name, markup }: AccountGroupBody,
): Promise<AdminReply<'POST /admin/v1/account-groups'>> {
  const body = groupBody(await newGroup(ports, { name: name.trim(), markup: markupText(markup) }, null))
  await recordEvent(ports, call, 'account_group.create', body.id, null, body)
  return { status: 201, body }
}

async function changeGroup(
  ports: AdminPorts,
  given: string,
  patch: AccountGroupPatch,
  guard: Guard,
): Promise<Written<AccountGroup> | null> {
  const id = await recordId(ports, 'account_group', given)
  if (id === null) return null
  const update = async (decide: (current: GroupRecord) => AccountGroupPatch): Promise<GroupRecord | null> => {
    const after = await ports.store.accountGroups.update(id, decide)
    if (after === 'taken') throw nameTaken(patch.name ?? '')
    return after
  }
  const written = await changedRecord<GroupRecord, AccountGroupPatch, AccountGroup>(
    { id, guard, shown: groupBody },
    update,
    () => patch,
  )
  if (written?.changed === true) ports.access.invalidate({ groupId: id })
  return written
}
