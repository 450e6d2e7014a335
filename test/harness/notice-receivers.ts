import assert from 'node:assert/strict'
import type { ApiClient } from './api-client.ts'
import { mailSettings, startMailServer } from './mail-server.ts'
import { listen, sendJson } from './scripted-upstream.ts'

export const RECEIVERS = ['webhook', 'telegram', 'email'] as const
type Receiver = (typeof RECEIVERS)[number]

/** A message that a receiver has accepted. */
interface Taken {
  readonly by: Receiver
  /** The id of the notice. */
  readonly id: string
  /** The whole message, without the time and signature of the attempt. */
  readonly said: string
}

export interface NoticeReceivers {
  readonly env: Readonly<Record<string, string>>
  taken(): readonly Taken[]
  /** How many messages each receiver was offered, whatever it answered. */
  offered(): Readonly<Record<Receiver, number>>
  /** While true, receivers read messages but never answer; messages that arrived then are never answered. */
  hang(doHang: boolean): void
  /** Makes these the operator's receivers of the given kinds. */
  connect(server: ApiClient, kinds: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** A receiver of webhooks, an imitation of Telegram's API, and a mail server, on loopback. */
export async function startReceivers(): Promise<NoticeReceivers> {
  const mail = await startMailServer()
  const taken: Taken[] = []
  const offered = { webhook: 0, telegram: 0 }
  let hangs = false
  const server = await listen((response, { path, body }) => {
    const by = path === '/hook' ? 'webhook' : 'telegram'
    const said = body.toString()
    offered[by] += 1
    if (hangs) return
    taken.push({ by, id: noticeIn(said), said })
    sendJson(response, { ok: true })
  })
  return {
    env: {
      ...mailSettings(mail),
      ALLOW_PRIVATE_UPSTREAMS: 'true',
      TELEGRAM_BOT_TOKEN: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      TELEGRAM_API_URL: server.url,
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
        { target: `${server.url}/hook` },
        { type: 'telegram', target: '-100200' },
        { type: 'email', target: 'ops@example.com' },
      ]) {
        const made = await to.admin('POST', '/admin/v1/notices/channels', { ...channel, kinds })
        assert.equal(made.status, 201, made.text)
      }
    },
    close: async () => {
      await server.close()
      await mail.close()
    },
  }
}

function noticeIn(text: string): string {
  return /ntc_\w+/.exec(text)?.[0] ?? assert.fail(`no notice in ${text}`)
}
