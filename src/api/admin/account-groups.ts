import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { wire } from '../../base/wire.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { AccountGroup as GroupRecord, AccountGroupPatch } from '../../store/accounts/account-group-store.ts'
import { markupText } from './accounts.ts'
import { AccountGroup, AccountGroupBody } from './group-contract.ts'
import { listBody, listRoute, adminRoute, type AdminPorts } from './ports.ts'
import { customerPrices } from './customer-prices.ts'
import { namedRecordRoutes, postRoute, type NamedRecords } from './records.ts'

/** Groups of accounts, and what customers pay. */
export function groupAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = groupKind(ports)
  return [
    adminRoute('GET /admin/v1/account-groups', async () => {
      const data = (await ports.store.accountGroups.list()).map((group) => wire(AccountGroup, group))
      return { data, total: data.length }
    }),
    postRoute(ports, kind, 'POST /admin/v1/account-groups'),
    ...namedRecordRoutes(ports, kind),
    listRoute(ports, 'GET /admin/v1/customer-prices', async ({ query }, range) =>
      listBody(await customerPrices(ports, query, range), (price) => price),
    ),
  ]
}

/** Of a name that is not empty; spaces around it are not part of it. */
function nameTaken(name: string): Error {
  return fieldError('name', 'name_taken', { given: name }, `'${name}' is the name of another group`)
}

/** Groups as records that a client describes. */
function groupKind(ports: AdminPorts): NamedRecords<'/admin/v1/account-groups/:id', GroupRecord, AccountGroupPatch> {
  const { accountGroups } = ports.store
  return {
    path: '/admin/v1/account-groups/:id',
    noun: 'Account group',
    kind: 'account_group',
    event: 'account_group',
    terms: Object.keys(AccountGroupBody.fields),
    get: (id) => accountGroups.get(id),
    shown: (record) => wire(AccountGroup, record),
    update: async (id, decide) => {
      let name = ''
      const after = await accountGroups.update(id, (current) => {
        const patch = decide(current)
        name = patch.name ?? ''
        return patch
      })
      if (after === 'taken') throw nameTaken(name)
      return after
    },
    describe: (_call, read) => {
      const { name, markup } = read()
      const terms = { name: name.trim(), markup: markupText(markup) }
      return {
        change: () => terms,
        create: async (externalId) => {
          const record = { id: `grp_${ports.ids.letters(16)}`, externalId, ...terms, createdAtMs: ports.clock.now() }
          if (!(await accountGroups.create(record))) throw nameTaken(record.name)
          return { record: { ...record, accounts: 0 } }
        },
      }
    },
    patch: (_call, { name, markup }) => {
      const patch = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(markup === undefined ? {} : { markup: markupText(markup) }),
      }
      return () => patch
    },
    remove: async (group, guard) => {
      const end = await accountGroups.delete(group.id, (current) => guard(wire(AccountGroup, current)))
      if (end === 'in_use')
        throw reasonError(
          'conflict',
          'group_in_use',
          { accounts: group.accounts },
          `Group '${group.name}' has accounts: put them into another group first, or into none`,
        )
      return end !== 'unknown'
    },
    changed: ({ id }) => ports.access.invalidate({ groupId: id }),
  }
}
