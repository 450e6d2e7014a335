import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { choiceParameter } from '../query-parameters.ts'
import type { NoticeKind } from '../notice-table.ts'
import type { NoticeChannelBody } from '../notices/channel-contract.ts'
import { newChannel, raiseTest, tooManyChannels, wireChannel } from '../notices/channels.ts'
import type { Channel, Delivery } from '../store/notices/notice-rows.ts'
import { NoticeDelivery } from './notice-contract.ts'
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
import { isoTime } from '../lib/time.ts'

const CHANNELS_MAX = 20

/** The operator's receivers of notices, and what was sent to them and to those of accounts. */
export function noticeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    adminRoute('GET /admin/v1/notices/channels', async () => ({
      status: 200,
      body: { data: (await notices.channels(null)).map(wireChannel) },
    })),
    adminRoute('POST /admin/v1/notices/channels', (call, read) => addChannel(ports, call, read())),
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
      return { status: 202, body: { notice: await raiseTest(ports, await channelOf(ports, call)) } }
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
  given: NoticeChannelBody,
): Promise<AdminReply<'POST /admin/v1/notices/channels'>> {
  const { channel, secret } = newChannel({ ...ports, cipher: ports.keyWrap }, given, {
    accountId: null,
    allowPrivate: ports.allowPrivateUpstreams,
  })
  if ((await ports.store.notices.addChannel(channel, CHANNELS_MAX)) === 'full') throw tooManyChannels(CHANNELS_MAX)
  await recordEvent(ports, call, 'notice_channel.create', channel.id, null, wireChannel(channel))
  return { status: 201, body: { ...wireChannel(channel), secret } }
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
      created_at: isoTime(notice.atMs),
      data: notice.detail,
    },
    state,
    attempts,
    due_at: state === 'pending' ? isoTime(dueAtMs) : null,
    error,
    created_at: isoTime(createdAtMs),
    ended_at: isoTime(endedAtMs),
  }
}
