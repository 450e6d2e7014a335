import { randomBytes } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import { forbiddenUpstream } from '../catalog/upstream-address.ts'
import type { Route } from '../http/edge.ts'
import { choiceParameter } from '../query-parameters.ts'
import type { Judged } from '../kinds/fields/strict-body.ts'
import { isPrivateAddress } from '../lib/private-address.ts'
import type { NoticeKind } from '../notice-table.ts'
import { fieldError, reasonError } from '../refusals.ts'
import { secretPurpose, type Channel, type Delivery } from '../store/notices/notice-store.ts'
import { NoticeDelivery, type NoticeChannel, type NoticeChannelBody } from './notice-contract.ts'
import {
  adminRoute,
  notFound,
  page,
  param,
  recordEvent,
  type AdminCall,
  type AdminPorts,
  type AdminReply,
} from './ports.ts'

const CHANNELS_MAX = 20
const SECRET_BYTES = 32

/** The operator's receivers of notices, and what was sent to them and to those of accounts. */
export function noticeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    adminRoute('GET /admin/v1/notices/channels', async () => ({
      status: 200,
      body: { data: (await notices.channels(null)).map(wireChannel) },
    })),
    adminRoute('POST /admin/v1/notices/channels', (call, read) => addChannel(ports, call, read('url'))),
    adminRoute('PATCH /admin/v1/notices/channels/:id', async (call, read) => {
      const before = await channelOf(ports, call)
      const patch = read()
      const after = (await notices.changeChannel(null, before.id, patch)) ?? before
      await recordEvent(ports, call, 'notice_channel.update', before.id, wireChannel(before), wireChannel(after))
      return { status: 200, body: wireChannel(after) }
    }),
    adminRoute('DELETE /admin/v1/notices/channels/:id', async (call) => {
      const channel = await channelOf(ports, call)
      await notices.removeChannel(null, channel.id)
      await recordEvent(ports, call, 'notice_channel.delete', channel.id, wireChannel(channel), null)
      return { status: 200, body: { id: channel.id, deleted: true } }
    }),
    adminRoute('POST /admin/v1/notices/channels/:id/test', async (call) => {
      const { id: channelId } = await channelOf(ports, call)
      const id = `ntc_${ports.ids.letters(24)}`
      const atMs = ports.clock.now()
      await notices.raise(
        { id, kind: 'test', accountId: null, subject: null, clearAtMicro: null, atMs, detail: {} },
        channelId,
      )
      return { status: 202, body: { notice: id } }
    }),
    adminRoute('GET /admin/v1/notices/deliveries', async (call) => {
      const state = choiceParameter(call.query, 'state', NoticeDelivery.fields.state)
      const { data, total } = await notices.deliveries({ accountId: null, state, ...page(call) })
      return { status: 200, body: { data: data.map(wireDelivery), total } }
    }),
    adminRoute('POST /admin/v1/notices/deliveries/:id/replay', async (call) => {
      const id = param(call, 'id')
      const delivery = await notices.replay(null, id, ports.clock.now())
      if (delivery === null) throw notFound('Delivery', id)
      await recordEvent(ports, call, 'notice_delivery.replay', id, null, { notice: delivery.notice.id })
      return { status: 200, body: wireDelivery(delivery) }
    }),
  ]
}

async function channelOf({ store }: AdminPorts, call: AdminCall): Promise<Channel> {
  const id = param(call, 'id')
  const channel = await store.notices.channel(null, id)
  if (channel === null) throw notFound('Channel', id)
  return channel
}

async function addChannel(
  ports: AdminPorts,
  call: AdminCall,
  { url, kinds }: Judged<NoticeChannelBody, 'url'>,
): Promise<AdminReply<'POST /admin/v1/notices/channels'>> {
  const target = webhookAddress(url ?? '', ports.allowPrivateUpstreams)
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`
  const id = `chn_${ports.ids.letters(16)}`
  const channel: Channel = {
    id,
    accountId: null,
    type: 'webhook',
    target,
    secret: ports.keyWrap.encrypt(Buffer.from(secret), secretPurpose(id)),
    kinds: [...new Set(kinds)],
    language: 'en',
    enabled: true,
    createdAtMs: ports.clock.now(),
  }
  if ((await ports.store.notices.addChannel(channel, CHANNELS_MAX)) === 'full')
    throw reasonError('conflict', 'channels_most', { most: CHANNELS_MAX }, `At most ${CHANNELS_MAX} receivers are kept`)
  await recordEvent(ports, call, 'notice_channel.create', id, null, wireChannel(channel))
  return { status: 201, body: { ...wireChannel(channel), secret } }
}

/** What a name resolves to is checked again with each connection. */
function webhookAddress(given: string, allowPrivate: boolean): string {
  const url = URL.canParse(given) ? new URL(given) : null
  const isHttp = url !== null && (url.protocol === 'https:' || (allowPrivate && url.protocol === 'http:'))
  if (!isHttp || url.username !== '' || url.password !== '')
    throw fieldError('url', 'http_address', { given }, `must be an https address without a user, got '${given}'`)
  if (forbiddenUpstream(url.href))
    throw fieldError('url', 'metadata_address', { given }, `'${given}' is an address of this machine's cloud`)
  if (!allowPrivate && isPrivateAddress(url.hostname))
    throw fieldError('url', 'private_address', { host: url.hostname }, `'${url.hostname}' is not a public address`)
  return url.href
}

function wireChannel({ id, target, kinds, enabled, createdAtMs }: Channel): NoticeChannel {
  return { id, type: 'webhook', url: target, kinds: kinds.filter(isChosen), enabled, created_at: iso(createdAtMs) }
}

function isChosen(kind: NoticeKind): kind is NoticeChannel['kinds'][number] {
  return kind !== 'test'
}

function wireDelivery({
  id,
  channel,
  notice,
  state,
  attempts,
  dueAtMs,
  error,
  createdAtMs,
  endedAtMs,
}: Delivery): NoticeDelivery {
  return {
    id,
    channel: channel.id,
    notice: {
      id: notice.id,
      // A newer program may have written another, which is shown as it is.
      type: notice.kind as NoticeKind,
      account: notice.accountId,
      created_at: iso(notice.atMs),
      data: notice.detail,
    },
    state,
    attempts,
    due_at: state === 'pending' ? iso(dueAtMs) : null,
    error,
    created_at: iso(createdAtMs),
    ended_at: endedAtMs === null ? null : iso(endedAtMs),
  }
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString()
}
