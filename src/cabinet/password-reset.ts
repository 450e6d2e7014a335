import type { Principal } from '../access/principal.ts'
import { readEmail } from '../email.ts'
import { ipKey } from '../http/client-ip.ts'
import type { Route } from '../http/edge.ts'
import { reasonError } from '../base/refusals.ts'
import { openRoute, recordEvent, type CabinetPorts } from './ports.ts'
import { hasTurn, takeTurn } from './turns.ts'
import { thrownMessage } from '../lib/thrown-message.ts'

/** A link for a forgotten password, by e-mail. Whether there is such a user shows neither in the answer nor in its time. */
export function passwordResetRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    openRoute('POST /cabinet/v1/password-reset', async (call, read) => {
      const email = readEmail(read().email)
      if (ports.mailedLinks === null)
        throw reasonError('access_denied', 'mail_unset', {}, 'No mail is sent here: ask the operator for a link')
      takeTurn(ports.resets, ipKey(call.clientIp), 'links from your address')
      // The answer does not wait for what depends on the user.
      setImmediate(() => {
        sendLink(ports, email, call.clientIp).catch((thrown: unknown) =>
          ports.notice(`A password link was not made: ${thrownMessage(thrown)}`),
        )
      })
      return { status: 202, body: { accepted: true } }
    }),
  ]
}

async function sendLink(ports: CabinetPorts, email: string, ip: string): Promise<void> {
  const user = await ports.store.users.findByEmail(email)
  // Who has no password came by single sign-on, or has a link already.
  if (user === null || user.disabled || user.passwordHash === null || !hasTurn(ports.resetMails, email)) return
  const token = await ports.newPasswordToken(user)
  await recordEvent(ports, email, ip, 'user.password_link', user.id)
  ports.mailedLinks?.send({ email, language: user.language, kind: 'password', token })
}
