import { isMailAddress } from '../base/mail-address.ts'
import { fieldError } from '../base/refusals.ts'
import { oneLine } from '../base/text.ts'
import type { NoticeText } from './notice-text.ts'
import { DeliveryError, SILENT_REST_MS } from './notifier.ts'
import type { MailConfig, Message, Way } from './way.ts'

/** The time limit of one message; shorter than the lease of a delivery, however slowly the server answers. */
const TIMEOUT_MS = 30_000
const STEP_MS = 10_000
const SUBJECT_CHARACTERS_MAX = 150

/** Sends mail through the operator's server, with a connection per message. The first one loads the library. */
export const MAIL: Way = {
  open: ({ mail }) =>
    mail === null ? null : async (message, stop) => await sendMail(mail, message, await message.text(), stop),
  target: (given) => {
    if (isMailAddress(given)) return given
    const shown = given.slice(0, 80)
    throw fieldError('target', 'bad_email', { given: shown })
  },
}

async function sendMail(
  { host, port, tls, login, from, fromName }: MailConfig,
  { to, id }: Message,
  { subject, text }: NoticeText,
  stop: AbortSignal,
): Promise<void> {
  if (!isMailAddress(to)) throw new DeliveryError('its address is not one that mail can be sent to')
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  try {
    await transport.sendMail({
      from: { name: fromName, address: from },
      // An object is one address; a text would be read as a list.
      to: { name: '', address: to },
      subject: oneLine(subject, SUBJECT_CHARACTERS_MAX),
      // The body is plain text: nothing in it is markup.
      text,
      messageId: `<${id}@${from.split('@')[1] ?? 'tollgate'}>`,
      // Prevents automatic replies (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
    })
  } catch (thrown) {
    throw new DeliveryError(reasonOf(thrown), { cause: thrown, restMs: isAnswer(thrown) ? 0 : SILENT_REST_MS })
  } finally {
    transport.close()
  }
}

function isAnswer(thrown: unknown): boolean {
  return typeof (thrown as { readonly responseCode?: unknown }).responseCode === 'number'
}

function reasonOf(thrown: unknown): string {
  const { responseCode, code } = thrown as { readonly responseCode?: unknown; readonly code?: unknown }
  if (code === 'EAUTH') return 'the mail server refuses the login'
  if (code === 'ETLS') return 'the mail server has no TLS that is trusted'
  if (typeof responseCode === 'number') return `the mail server answered ${responseCode}`
  return 'the mail server could not be reached'
}
