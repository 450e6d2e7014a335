import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiClient } from './api-client.ts'
import { mailSettings, startMailServer } from './mail-server.ts'

export const RECEIVERS = ['webhook', 'telegram', 'email'] as const
type Receiver = (typeof RECEIVERS)[number]

/** A message that a receiver has taken. */
interface Taken {
  readonly by: Receiver
  /** Of the notice. */
  readonly id: string
  /** All that it says, but the time and signature of the attempt. */
  readonly said: string
}

export interface NoticeReceivers {
  readonly env: Readonly<Record<string, string>>
  taken(): readonly Taken[]
  /** How many messages each was offered, whatever it answered. */
  offered(): Readonly<Record<Receiver, number>>
  /** They take what is offered and never answer; those under way stay so. */
  hang(doHang: boolean): void
  /** Makes them the operator's receivers of those kinds. */
  connect(server: ApiClient, kinds: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** A receiver of webhooks, Telegram's API and a mail server, on loopback. */
export async function startReceivers(): Promise<NoticeReceivers> {
  const mail = await startMailServer()
  const taken: Taken[] = []
  const offered = { webhook: 0, telegram: 0 }
  let hangs = false
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const by = request.url === '/hook' ? 'webhook' : 'telegram'
      const said = Buffer.concat(parts).toString()
      offered[by] += 1
      if (hangs) return
      taken.push({ by, id: noticeIn(said), said })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with it.
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    env: {
      ...mailSettings(mail),
      ALLOW_PRIVATE_UPSTREAMS: 'true',
      TELEGRAM_BOT_TOKEN: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      TELEGRAM_API_URL: own,
    },
    taken: () => [
      ...taken,
      ...mail.received.map(({ headers, text }) => ({
        by: 'email' as const,
        id: noticeIn(headers.get('message-id') ?? ''),
        said: text,
      })),
    ],
    offered: () => ({ ...offered, email: mail.offered }),
    hang: (doHang) => {
      hangs = doHang
      mail.answer = doHang ? 'hang' : null
    },
    connect: async (to, kinds) => {
      for (const channel of [
        { target: `${own}/hook` },
        { type: 'telegram', target: '-100200' },
        { type: 'email', target: 'ops@example.com' },
      ]) {
        const made = await to.admin('POST', '/admin/v1/notices/channels', { ...channel, kinds })
        assert.equal(made.status, 201, made.text)
      }
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await mail.close()
    },
  }
}

function noticeIn(text: string): string {
  return /ntc_\w+/.exec(text)?.[0] ?? assert.fail(`no notice in ${text}`)
}
