import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { endsLater } from './lasting.ts'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** As received over the network. */
  readonly raw: string
  readonly headers: ReadonlyMap<string, string>
  /** Decoded. */
  readonly text: string
}

export interface MailServer {
  readonly port: number
  readonly received: readonly ReceivedMail[]
  /** Messages that were received in full, whatever the server answered. */
  readonly offered: number
  /** How the server answers the next messages; null = it accepts them. `hang`: it does not answer until `release`. */
  answer: null | { readonly code: number } | 'hang'
  /** Accepts the held messages, and later ones. */
  release(): void
  close(): Promise<void>
}

/**
 * A real mail server on loopback that stores the messages it accepts. `mailSettings` are the settings of a Tollgate
 * server that uses it.
 */
export async function startMailServer(
  login: { readonly user: string; readonly password: string } | null = null,
): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const held: (() => void)[] = []
  let offered = 0
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    authOptional: login === null,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) => {
      if (username === login?.user && password === login?.password) done(null, { user: username })
      else done(new Error('wrong'))
    },
    onData: (stream, session, done) => {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        offered += 1
        const take = (): void => {
          const { mailFrom, rcptTo } = session.envelope
          const from = mailFrom === false ? '' : mailFrom.address
          received.push(
            readMail(
              Buffer.concat(parts).toString('latin1'),
              from,
              rcptTo.map(({ address }) => address),
            ),
          )
          done()
        }
        if (mail.answer === 'hang') held.push(take)
        else if (mail.answer !== null) done(Object.assign(new Error('no'), { responseCode: mail.answer.code }))
        else take()
      })
    },
  })
  // A client that is killed resets its connection.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const mail: MailServer = {
    // A server that listens on a port has an address with it.
    port: (server.server.address() as AddressInfo).port,
    received,
    get offered() {
      return offered
    },
    answer: null,
    release: () => {
      mail.answer = null
      for (const take of held.splice(0)) take()
    },
    close: async () => {
      mail.release()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  endsLater(mail.close)
  return mail
}

export function mailSettings({ port }: MailServer): Readonly<Record<string, string>> {
  return { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(port), SMTP_TLS: 'none', SMTP_FROM: 'tollgate@example.com' }
}

function readMail(raw: string, from: string, to: readonly string[]): ReceivedMail {
  const end = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]/g, ' ')
    .split('\r\n')
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      words(line.slice(line.indexOf(':') + 1).trim()),
    ]),
  )
  return { from, to, raw, headers, text: body(raw.slice(end + 4), headers.get('content-transfer-encoding') ?? '') }
}

/** Decodes the encoded words of a header (RFC 2047). */
function words(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/(?:=\?utf-8\?b\?[^?]*\?=)+/gi, (run) =>
      Buffer.concat(
        [...run.matchAll(/\?b\?([^?]*)\?=/gi)].map(([, part]) => Buffer.from(part ?? '', 'base64')),
      ).toString(),
    )
    .replaceAll(/=\?utf-8\?q\?([^?]*)\?=/gi, (_run, part: string) => quotedPrintable(part.replaceAll('_', ' ')))
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/gi, (_found, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

function body(text: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString()
  return encoding === 'quoted-printable' ? quotedPrintable(text) : Buffer.from(text, 'latin1').toString()
}
