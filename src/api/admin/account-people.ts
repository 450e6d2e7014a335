import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { changeMember, invite, type PeopleCall, peopleOf, removeMember, revokeInvitation } from '../records/people.ts'
import { accountNamed } from './accounts.ts'
import { actor, type AdminCall, type AdminPorts, adminRoute, param } from './ports.ts'

/** Who works in an account; the operator gives and takes access to it. */
export function peopleAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/accounts/:id/members', async (call) => peopleOf(ports, await ofOperator(ports, call))),
    adminRoute('PATCH /admin/v1/accounts/:id/members/:member', async (call, read) =>
      changeMember(ports, await ofOperator(ports, call), param(call, 'member'), read()),
    ),
    adminRoute('POST /admin/v1/accounts/:id/members/:member/remove', async (call, read) =>
      removeMember(ports, await ofOperator(ports, call), param(call, 'member'), read().disable_keys),
    ),
    adminRoute('POST /admin/v1/accounts/:id/invitations', async (call, read) =>
      invite(ports, await ofOperator(ports, call), read()),
    ),
    adminRoute('DELETE /admin/v1/accounts/:id/invitations/:invitation', async (call) =>
      revokeInvitation(ports, await ofOperator(ports, call), param(call, 'invitation')),
    ),
  ]
}

async function ofOperator(ports: AdminPorts, call: AdminCall): Promise<PeopleCall> {
  const { id } = await accountNamed(ports, param(call, 'id'))
  const name = actor(ports, call)
  return {
    accountId: id,
    userId: null,
    actor: name,
    ip: call.clientIp,
    call,
    // Nobody knows the language of a person who is not here yet.
    language: null,
    from: ['admin_letters', name],
    // The row of the route asks for the proof.
    proveOwner: () => Promise.resolve(),
  }
}
