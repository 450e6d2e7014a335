import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { choiceParameter, textParameter } from '../../base/query-parameters.ts'
import type { NoticeChannelBody } from '../../notices/channel-contract.ts'
import { newChannel, raiseTest, tooManyChannels, wireChannel } from '../../notices/channels.ts'
import { checkedTarget } from '../../notices/notices.ts'
import { NoticeDelivery } from '../../notices/delivery-contract.ts'
import { wireDelivery } from '../../notices/wire-delivery.ts'
import type { Channel, ChannelPatch } from '../../store/notices/notice-rows.ts'
import { fieldError } from '../../base/refusals.ts'
import { OperatorChannelPut, type OperatorChannel } from './notice-contract.ts'
import { listBody, listRoute, adminRoute, notFound, param, recordChange, type AdminPorts } from './ports.ts'
import { findNamed, namedRecordRoutes, postRoute, recordId, type NamedRecords } from './records.ts'

const CHANNELS_MAX = 20

/** The operator's receivers of notices, and what was sent to them and to those of accounts. */
export function noticeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  const kind = channelKind(ports)
  return [
    adminRoute('GET /admin/v1/notices/channels', async () => ({ data: (await notices.channels(null)).map(shown) })),
    postRoute(ports, kind, 'POST /admin/v1/notices/channels'),
    ...namedRecordRoutes(ports, kind),
    adminRoute('POST /admin/v1/notices/channels/:id/test', async (call) => {
      const given = param(call, 'id')
      const channel = await findNamed(ports, kind, given)
      if (channel === null) throw notFound('Channel', given)
      return { notice: await raiseTest(ports, channel) }
    }),
    listRoute(ports, 'GET /admin/v1/notices/deliveries', async ({ query }, range) => {
      const state = choiceParameter(query, 'state', NoticeDelivery.fields.state)
      const account = textParameter(query, 'account')
      const accountId = account === null ? null : await recordId(ports, 'account', account)
      if (account !== null && accountId === null) throw notFound('Account', account)
      return listBody(await notices.deliveries({ accountId, state, ...range }), wireDelivery)
    }),
    adminRoute('POST /admin/v1/notices/deliveries/:id/replay', async (call) => {
      const id = param(call, 'id')
      const delivery = await notices.replay(null, id, ports.clock.now())
      if (delivery === null) throw notFound('Delivery', id)
      await recordChange(ports, call, 'notice_delivery.replay', id, null, { notice: delivery.notice.id })
      return wireDelivery(delivery)
    }),
  ]
}

function shown(channel: Channel): OperatorChannel {
  return { ...wireChannel(channel), external_id: channel.externalId }
}

/** Receivers as records that a client describes. */
function channelKind(ports: AdminPorts): NamedRecords<'/admin/v1/notices/channels/:id', Channel, ChannelPatch> {
  const { notices } = ports.store
  return {
    path: '/admin/v1/notices/channels/:id',
    noun: 'Channel',
    kind: 'notice_channel',
    event: 'notice_channel',
    terms: Object.keys(OperatorChannelPut.fields),
    get: (id) => notices.channel(null, id),
    shown,
    update: (id, decide) => notices.changeChannel(null, id, decide),
    describe: (_call, read) => {
      const { enabled, ...terms } = read()
      return {
        change: (current) => replacing(ports, terms, enabled, current),
        create: async (externalId) => {
          const owner = { accountId: null, allowPrivate: ports.allowPrivateUpstreams, externalId }
          const { channel, secret } = newChannel({ ...ports, cipher: ports.keyWrap }, terms, owner)
          const record = { ...channel, enabled: enabled ?? true }
          if ((await notices.addChannel(record, CHANNELS_MAX)) === 'full') throw tooManyChannels(CHANNELS_MAX)
          return { record, once: { secret } }
        },
      }
    },
    patch: (_call, terms) => () => terms,
    remove: ({ id }, guard) => notices.removeChannel(null, id, (current) => guard(shown(current))),
  }
}

/** What makes a receiver equal to a body. */
function replacing(
  ports: AdminPorts,
  terms: NoticeChannelBody,
  enabled: boolean | undefined,
  { type, target: before }: Channel,
): ChannelPatch {
  const { type: wanted = 'webhook', target, kinds, language = 'en' } = terms
  if (wanted !== type)
    throw fieldError('type', 'one_of', { allowed: type }, `must be ${type}: a receiver keeps its type`)
  return {
    // What it may be is asked of a new target only.
    ...(target === before ? {} : { target: checkedTarget(type, target, ports.allowPrivateUpstreams) }),
    kinds: [...new Set(kinds)],
    language,
    ...(enabled === undefined ? {} : { enabled }),
  }
}
