import { decryptSeed, encryptSeed } from '../../access/identities.ts'
import type { Principal } from '../../access/principal.ts'
import { differing, isEmpty } from '../../base/objects.ts'
import { wholeParameter } from '../../base/query-parameters.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import { wire } from '../../base/wire-route.ts'
import type { Route } from '../../http/edge.ts'
import type { EventAction } from '../../ledger/event-action.ts'
import { isTimezone } from '../../ledger/period.ts'
import type { UserPatch } from '../../store/people/user-store.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { newRecoveryCodes, newSeed, proofOf, proveOwner, stepOf, totpUri, useCode } from './own-proof.ts'
import { type CabinetBody, type CabinetPorts, type Visit, cursorOf, requireScope, visitRoute } from './ports.ts'
import { type PasswordBody, type Profile, type ProfilePatch, SessionItem, SignInItem } from './session-contract.ts'
import { profileOf } from './session-state.ts'

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

/** Turning two-step sign-in on and off. */
export function totpRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'POST /cabinet/v1/totp', (visit, read) => begin(ports, visit, read)),
    visitRoute(ports, 'POST /cabinet/v1/totp/confirm', (visit, read) => confirm(ports, visit, read().code)),
    visitRoute(ports, 'POST /cabinet/v1/totp/recovery-codes', async (visit, read) => {
      await proveCode(ports, visit, read().code)
      const { codes, hashes } = newRecoveryCodes()
      await ports.store.users.setRecoveryCodes(visit.user.id, hashes)
      await recordEvent(ports, visit, 'totp.recovery_codes', visit.user.id)
      return { recovery_codes: codes }
    }),
    visitRoute(ports, 'POST /cabinet/v1/totp/disable', async (visit, read) => {
      await proveCode(ports, visit, read().code)
      await ports.store.users.setTotp(
        visit.user.id,
        { seed: null, enabled: false, step: 0, recoveryHashes: [] },
        visit.user,
      )
      await changed(ports, visit, 'totp.disable')
      return profileOf(ports, visit.user, visit.session)
    }),
  ]
}

async function begin(
  ports: CabinetPorts,
  visit: Visit,
  read: CabinetBody<'POST /cabinet/v1/totp'>,
): Promise<{ readonly secret: string; readonly uri: string }> {
  const { user } = visit
  if (user.totpEnabled) throw reasonError('totp_on')
  await proveOwner(ports, visit, proofOf(read()))
  const seed = newSeed()
  const totp = { seed: encryptSeed(ports.cipher, user.id, seed), enabled: false, step: 0, recoveryHashes: [] }
  if (!(await ports.store.users.setTotp(user.id, totp, user))) throw overtaken()
  return totpUri(seed, user.email, ports.catalog.current().settings.brand.name)
}

async function confirm(
  ports: CabinetPorts,
  visit: Visit,
  code: string,
): Promise<{ readonly recovery_codes: readonly string[] }> {
  const { user } = visit
  if (user.totpEnabled || user.totpSeed === null) throw reasonError('totp_none_new')
  await ports.access.bounds.take('proofs', user.id)
  const step = stepOf(decryptSeed(ports.cipher, user.id, user.totpSeed), code, ports.clock.now())
  if (step === null) throw fieldError('code', 'wrong')
  const { codes, hashes } = newRecoveryCodes()
  // Confirming uses the code up.
  const totp = { seed: user.totpSeed, enabled: true, step, recoveryHashes: hashes }
  if (!(await ports.store.users.setTotp(user.id, totp, user))) throw overtaken()
  await changed(ports, visit, 'totp.enable')
  return { recovery_codes: codes }
}

async function proveCode(ports: CabinetPorts, { user }: Visit, code: string): Promise<void> {
  if (!user.totpEnabled) throw reasonError('totp_off')
  await ports.access.bounds.take('proofs', user.id)
  if ((await useCode({ users: ports.store.users, cipher: ports.cipher }, user, code, ports.clock.now())) === null)
    throw fieldError('code', 'used_code')
}

/** Two requests came at once: the codes in force are those that the other one answered. */
function overtaken(): Error {
  return reasonError('totp_none_new', {}, { says: 'Another request has changed the two-step sign-in meanwhile' })
}

async function changed(ports: CabinetPorts, { user, session, call }: Visit, action: EventAction): Promise<void> {
  await ports.store.sessions.deleteOthers(user.id, session.hash)
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, action, user.id)
}
