import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { choiceParameter, textParameter } from '../base/query-parameters.ts'
import type { NoticeChannelBody } from '../notices/channel-contract.ts'
import { checkedTarget, newChannel, raiseTest, tooManyChannels, wireChannel } from '../notices/channels.ts'
import { NoticeDelivery } from '../notices/delivery-contract.ts'
import { wireDelivery } from '../notices/wire-delivery.ts'
import type { Channel, ChannelPatch } from '../store/notices/notice-rows.ts'
import { fieldError } from '../base/refusals.ts'
import { OperatorChannelPut, type OperatorChannel } from '../api/admin/notice-contract.ts'
import { listBody, listRoute } from './list-route.ts'
import { adminRoute, notFound, param, recordEvent, type AdminCall, type AdminPorts, type AdminReply } from './ports.ts'
import {
  changedRecord,
  externalIdPatch,
  patchRoute,
  putNamed,
  recordId,
  recordRoutes,
  type Guard,
  type RecordKind,
  type Written,
} from './records.ts'

const CHANNELS_MAX = 20

/** The operator's receivers of notices, and what was sent to them and to those of accounts. */
export function noticeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  const kind = channelKind(ports)
  return [
    adminRoute('GET /admin/v1/notices/channels', async () => ({
      status: 200,
      body: { data: (await notices.channels(null)).map(shown) },
    })),
    adminRoute('POST /admin/v1/notices/channels', (call, read) => addChannel(ports, call, read())),
    ...recordRoutes(ports, kind),
    patchRoute(ports, kind, async (_call, given, read, guard) => {
      const { external_id: externalId, ...terms } = read()
      const name = externalIdPatch(externalId)
      return changeChannel(ports, given, guard, () => ({ ...terms, ...name }))
    }),
    adminRoute('POST /admin/v1/notices/channels/:id/test', async (call) => {
      return { status: 202, body: { notice: await raiseTest(ports, await channelOf(ports, call)) } }
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
      await recordEvent(ports, call, 'notice_delivery.replay', id, null, { notice: delivery.notice.id })
      return { status: 200, body: wireDelivery(delivery) }
    }),
  ]
}

/** By its id or its external id. */
async function named(ports: AdminPorts, given: string): Promise<Channel | null> {
  const id = await recordId(ports, 'notice_channel', given)
  return id === null ? null : ports.store.notices.channel(null, id)
}

async function channelOf(ports: AdminPorts, call: AdminCall): Promise<Channel> {
  const given = param(call, 'id')
  const channel = await named(ports, given)
  if (channel === null) throw notFound('Channel', given)
  return channel
}

function shown(channel: Channel): OperatorChannel {
  return { ...wireChannel(channel), external_id: channel.externalId }
}

/** Receivers as records that a client describes. */
function channelKind(ports: AdminPorts): RecordKind<'/admin/v1/notices/channels/:id'> {
  return {
    path: '/admin/v1/notices/channels/:id',
    noun: 'Channel',
    event: 'notice_channel',
    terms: Object.keys(OperatorChannelPut.fields),
    show: async (given) => {
      const channel = await named(ports, given)
      return channel === null ? null : shown(channel)
    },
    put: (_call, given, read, guard) => {
      const { enabled, ...terms } = read()
      return putNamed(
        ports,
        { kind: 'notice_channel', noun: 'Channel', given, guard },
        (id) => changeChannel(ports, id, guard, (current) => replacing(ports, terms, enabled, current)),
        async (externalId) => {
          const { channel, secret } = madeChannel(ports, terms, externalId)
          await kept(ports, { ...channel, enabled: enabled ?? true })
          const after = { ...shown(channel), enabled: enabled ?? true }
          return { id: channel.id, before: null, after, changed: true, once: { secret } }
        },
      )
    },
    remove: async (_call, given, guard) => {
      const channel = await named(ports, given)
      const check = (current: Channel): void => guard(shown(current))
      if (channel === null || !(await ports.store.notices.removeChannel(null, channel.id, check))) return null
      return { id: channel.id, before: shown(channel) }
    },
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

async function changeChannel(
  ports: AdminPorts,
  given: string,
  guard: Guard,
  decide: (current: Channel) => ChannelPatch,
): Promise<Written<OperatorChannel> | null> {
  const id = await recordId(ports, 'notice_channel', given)
  if (id === null) return null
  const update = (change: typeof decide): Promise<Channel | null> => ports.store.notices.changeChannel(null, id, change)
  return changedRecord<Channel, ChannelPatch, OperatorChannel>({ id, guard, shown }, update, decide)
}

function madeChannel(
  ports: AdminPorts,
  terms: NoticeChannelBody,
  externalId: string | null,
): ReturnType<typeof newChannel> {
  const owner = { accountId: null, allowPrivate: ports.allowPrivateUpstreams, externalId }
  return newChannel({ ...ports, cipher: ports.keyWrap }, terms, owner)
}

async function kept(ports: AdminPorts, channel: Channel): Promise<void> {
  if ((await ports.store.notices.addChannel(channel, CHANNELS_MAX)) === 'full') throw tooManyChannels(CHANNELS_MAX)
}

async function addChannel(
  ports: AdminPorts,
  call: AdminCall,
  given: NoticeChannelBody,
): Promise<AdminReply<'POST /admin/v1/notices/channels'>> {
  const { channel, secret } = madeChannel(ports, given, null)
  await kept(ports, channel)
  await recordEvent(ports, call, 'notice_channel.create', channel.id, null, shown(channel))
  return { status: 201, body: { ...shown(channel), secret } }
}
