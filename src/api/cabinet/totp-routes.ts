import type { EventAction } from '../../ledger/event-action.ts'
import type { Principal } from '../../access/principal.ts'
import { decryptSeed, encryptSeed } from '../../access/identities.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { proveOwner, proofOf } from './own-proof.ts'
import { recordEvent } from '../records/ports.ts'
import { visitRoute, type CabinetBody, type CabinetPorts, type Visit } from './ports.ts'
import { profileOf } from './session-state.ts'
import { newRecoveryCodes, newSeed, stepOf, totpUri, useCode } from './totp.ts'

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
  return totpUri(seed, user.email)
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
