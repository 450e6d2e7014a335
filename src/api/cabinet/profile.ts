import type { Principal } from '../../access/principal.ts'
import { fieldError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { wholeParameter } from '../../base/query-parameters.ts'
import { isTimezone } from '../../ledger/period.ts'
import type { UserPatch } from '../../store/people/user-store.ts'
import { SessionItem, SignInItem, type PasswordBody, type Profile, type ProfilePatch } from './session-contract.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { cursorOf, requireScope, visitRoute, type CabinetPorts, type Visit } from './ports.ts'
import { proveOwner } from './own-proof.ts'
import { profileOf } from './session-state.ts'
import { differing, isEmpty } from '../../base/objects.ts'
import { wire } from '../../base/wire-route.ts'

/** The signed-in user's settings, password, sessions and sign-ins. */
export function profileRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/profile', ({ user, session }) => profileOf(ports, user, session)),
    visitRoute(ports, 'PATCH /cabinet/v1/profile', (visit, read) => patchProfile(ports, visit, read())),
    visitRoute(ports, 'POST /cabinet/v1/password', (visit, read) => changePassword(ports, visit, read())),
    visitRoute(ports, 'GET /cabinet/v1/sessions', async ({ user, session }) => ({
      data: (await ports.store.sessions.list(user.id, ports.clock.now())).map((item) =>
        wire(SessionItem, item, { current: item.id === session.id }),
      ),
    })),
    visitRoute(ports, 'DELETE /cabinet/v1/sessions/:id', async ({ call, user }) => {
      const id = call.params['id'] ?? ''
      if (!(await ports.store.sessions.deleteById(user.id, id))) throw notFound('Session', id)
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'session.revoke', id)
      return { id, deleted: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/sessions/revoke-others', async ({ call, user, session }) => {
      const revoked = await ports.store.sessions.deleteOthers(user.id, session.hash)
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'session.revoke_others', user.id, { revoked })
      return { revoked }
    }),
    visitRoute(ports, 'GET /cabinet/v1/sign-ins', async ({ call, user }) => {
      const limit = wholeParameter(call.query, 'limit', 1, 300) ?? 50
      const rows = await ports.store.signIns.list(user.id, cursorOf(call.query), limit)
      return {
        data: rows.map((row) => wire(SignInItem, row)),
        next_cursor: rows.length < limit ? null : String(rows.at(-1)?.id ?? 0),
      }
    }),
  ]
}

async function patchProfile(
  ports: CabinetPorts,
  visit: Visit,
  { name, default_model: defaultModel, timezone, language, theme }: ProfilePatch,
): Promise<Profile> {
  const { user, session, accountId } = visit
  const patch: UserPatch = differing(user, {
    ...(typeof name === 'string' ? { name } : {}),
    ...(timezone === undefined ? {} : { timezone }),
    ...(language === undefined ? {} : { language }),
    ...(typeof theme === 'string' ? { theme } : {}),
  })
  if (typeof timezone === 'string' && !isTimezone(timezone))
    throw fieldError('timezone', 'bad_timezone', { given: timezone })
  if (defaultModel !== undefined) requireScope(visit, 'account:write')
  if (typeof defaultModel === 'string') checkModel(ports, defaultModel)
  if (defaultModel !== undefined && defaultModel !== (await ports.store.accounts.get(accountId))?.defaultModel) {
    await ports.store.accounts.update(accountId, { defaultModel })
    ports.access.invalidate({ accountId })
  }
  const after = isEmpty(patch) ? user : ((await ports.store.users.update(user.id, patch)) ?? user)
  return profileOf(ports, after, session)
}

function checkModel({ catalog }: CabinetPorts, id: string): void {
  const { models, aliases } = catalog.current()
  if (!models.has(id) && !aliases.has(id))
    throw fieldError('default_model', 'unknown_model', { given: id.slice(0, 200) })
}

async function changePassword(
  ports: CabinetPorts,
  visit: Visit,
  { current_password: password = null, code = null, new_password: next }: PasswordBody,
): Promise<Profile> {
  const { user, session } = visit
  await proveOwner(ports, visit, { password, code }, 'current_password')
  ports.passwords.check('new_password', next, [user.email, user.email.split('@')[0] ?? ''])
  await ports.store.users.update(user.id, { passwordHash: await ports.passwords.hash(next) })
  await ports.store.sessions.deleteOthers(user.id, session.hash)
  await recordEvent(ports, visit, 'user.password', user.id)
  return profileOf(ports, user, session)
}
