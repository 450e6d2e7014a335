import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { isoTime } from '../lib/time.ts'
import { fieldError, reasonError } from '../refusals.ts'
import type { AccountGroup as GroupRecord } from '../store/accounts/account-group-store.ts'
import { markupText } from './accounts.ts'
import type { AccountGroup, AccountGroupBody } from './group-contract.ts'
import {
  adminRoute,
  notFound,
  page,
  param,
  recordEvent,
  type AdminBody,
  type AdminCall,
  type AdminPorts,
  type AdminReply,
} from './ports.ts'
import { customerPrices } from './customer-prices.ts'

/** Groups of accounts, and what customers pay. */
export function groupAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/account-groups', async () => {
      const data = (await ports.store.accountGroups.list()).map(groupBody)
      return { status: 200, body: { data, total: data.length } }
    }),
    adminRoute('POST /admin/v1/account-groups', (call, read) => createGroup(ports, call, read())),
    adminRoute('PATCH /admin/v1/account-groups/:id', (call, read) => patchGroup(ports, call, read)),
    adminRoute('DELETE /admin/v1/account-groups/:id', (call) => deleteGroup(ports, call)),
    adminRoute('GET /admin/v1/customer-prices', async (call) => ({
      status: 200,
      body: await customerPrices(ports, call.query, page(call)),
    })),
  ]
}

function groupBody({ id, name, markup, accounts, createdAtMs }: GroupRecord): AccountGroup {
  return { id, name, markup, accounts, created_at: isoTime(createdAtMs) }
}

/** Of a name that is not empty; spaces around it are not part of it. */
function nameTaken(name: string): Error {
  return fieldError('name', 'name_taken', { given: name }, `'${name}' is the name of another group`)
}

async function group(ports: AdminPorts, call: AdminCall): Promise<GroupRecord> {
  const id = param(call, 'id')
  const found = await ports.store.accountGroups.get(id)
  if (found === null) throw notFound('Account group', id)
  return found
}

async function createGroup(
  ports: AdminPorts,
  call: AdminCall,
  { name, markup }: AccountGroupBody,
): Promise<AdminReply<'POST /admin/v1/account-groups'>> {
  const record = {
    id: `grp_${ports.ids.letters(16)}`,
    name: name.trim(),
    markup: markupText(markup),
    createdAtMs: ports.clock.now(),
  }
  if (!(await ports.store.accountGroups.create(record))) throw nameTaken(record.name)
  const body = groupBody({ ...record, accounts: 0 })
  await recordEvent(ports, call, 'account_group.create', record.id, null, body)
  return { status: 201, body }
}

async function patchGroup(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'PATCH /admin/v1/account-groups/:id'>,
): Promise<AdminReply<'PATCH /admin/v1/account-groups/:id'>> {
  const before = await group(ports, call)
  const { name, markup } = read()
  const after = await ports.store.accountGroups.update(before.id, {
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(markup === undefined ? {} : { markup: markupText(markup) }),
  })
  if (after === 'taken') throw nameTaken(name ?? '')
  if (after === null) throw notFound('Account group', before.id)
  ports.access.invalidate({ groupId: before.id })
  await recordEvent(ports, call, 'account_group.update', before.id, groupBody(before), groupBody(after))
  return { status: 200, body: groupBody(after) }
}

async function deleteGroup(
  ports: AdminPorts,
  call: AdminCall,
): Promise<AdminReply<'DELETE /admin/v1/account-groups/:id'>> {
  const before = await group(ports, call)
  if (!(await ports.store.accountGroups.delete(before.id)))
    throw reasonError(
      'conflict',
      'group_in_use',
      { accounts: before.accounts },
      `Group '${before.name}' has accounts: put them into another group first, or into none`,
    )
  await recordEvent(ports, call, 'account_group.delete', before.id, groupBody(before), null)
  return { status: 200, body: { id: before.id, deleted: true } }
}
