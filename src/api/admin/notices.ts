import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { choiceParameter, textParameter } from '../../base/query-parameters.ts'
import { type NoticeChannelBody, NoticeDelivery } from '../../notices/contract.ts'
import {
  newChannel,
  raiseTest,
  tooManyChannels,
  wireChannel,
  wireDelivery,
  ACCOUNT_CHANNELS_MAX,
} from '../../notices/channels.ts'
import { checkedTarget } from '../../notices/notices.ts'
import type { Channel, ChannelPatch } from '../../store/notices/notice-rows.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import {
  OperatorChannelPut,
  type OperatorChannel,
  type AccountChannel,
  type AccountNotices,
} from './notice-contract.ts'
import { listRoute, adminRoute, notFound, param, recordChange, type AdminPorts, type AdminCall } from './ports.ts'
import { listBody } from '../records/list-file.ts'
import { findNamed, namedRecordRoutes, postRoute, recordId, type NamedRecords } from './records.ts'
import { lowBalanceOf, setLowBalance } from '../records/low-balance.ts'
import { differing, isEmpty } from '../../base/objects.ts'

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

/** The change that makes a receiver equal to the body. */
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
    // Only a new target is checked.
    ...(target === before ? {} : { target: checkedTarget(type, target, ports.allowPrivateUpstreams) }),
    kinds: [...new Set(kinds)],
    language,
    ...(enabled === undefined ? {} : { enabled }),
  }
}

/**
 * Who gets notices about an account, and below which balance. A receiver that the account's people name must be
 * confirmed by a code; one that an operator names need not.
 */
export function accountNoticeRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/accounts/:id/notices', async (call) => noticesOf(ports, await accountId(ports, call))),
    adminRoute('PATCH /admin/v1/accounts/:id/notices', async (call, read) => {
      const id = await accountId(ports, call)
      const { low_balance: given } = read()
      const before = await noticesOf(ports, id)
      if (!(await setLowBalance(ports, id, given))) return before
      const after = { low_balance: given }
      await recordChange(ports, call, 'account.update', id, { low_balance: before.low_balance }, after)
      return noticesOf(ports, id)
    }),
    ...channelRoutes(ports),
  ]
}

function channelRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    adminRoute('POST /admin/v1/accounts/:id/notices/channels', async (call, read) => {
      const id = await accountId(ports, call)
      // The webhook of a customer must have a public address, wherever the operator's may be.
      const owner = { accountId: id, allowPrivate: false, vouched: true }
      const { channel, secret } = newChannel({ ...ports, cipher: ports.keyWrap }, read(), owner)
      if ((await notices.addChannel(channel, ACCOUNT_CHANNELS_MAX)) === 'full')
        throw tooManyChannels(ACCOUNT_CHANNELS_MAX)
      await recordChange(ports, call, 'notice_channel.create', channel.id, null, shownToAccount(channel))
      return { ...shownToAccount(channel), secret }
    }),
    adminRoute('PATCH /admin/v1/accounts/:id/notices/channels/:channel', async (call, read) => {
      const { owner, channel } = await channelOf(ports, call)
      const patch = differing(channel, read())
      if (isEmpty(patch)) return shownToAccount(channel)
      const after = (await notices.changeChannel(owner, channel.id, patch)) ?? channel
      await recordChange(
        ports,
        call,
        'notice_channel.update',
        channel.id,
        shownToAccount(channel),
        shownToAccount(after),
      )
      return shownToAccount(after)
    }),
    adminRoute('DELETE /admin/v1/accounts/:id/notices/channels/:channel', async (call) => {
      const { owner, channel } = await channelOf(ports, call)
      await notices.removeChannel(owner, channel.id)
      await recordChange(ports, call, 'notice_channel.delete', channel.id, shownToAccount(channel), null)
      return { id: channel.id, deleted: true }
    }),
    adminRoute('POST /admin/v1/accounts/:id/notices/channels/:channel/test', async (call) => {
      const { channel } = await channelOf(ports, call)
      if (!channel.confirmed)
        throw reasonError('channel_unconfirmed', {}, { says: 'This receiver has yet to be confirmed with its code' })
      return { notice: await raiseTest(ports, channel) }
    }),
  ]
}

/** A receiver of the account in the path. */
async function channelOf(
  ports: AdminPorts,
  call: AdminCall,
): Promise<{ readonly owner: string; readonly channel: Channel }> {
  const owner = await accountId(ports, call)
  const id = param(call, 'channel')
  const channel = await ports.store.notices.channel(owner, id)
  if (channel === null) throw notFound('Channel', id)
  return { owner, channel }
}

async function accountId(ports: AdminPorts, call: AdminCall): Promise<string> {
  const given = param(call, 'id')
  const id = await recordId(ports, 'account', given)
  if (id === null || (await ports.store.accounts.get(id)) === null) throw notFound('Account', given)
  return id
}

/** Hides the path of a webhook: it may hold a secret of the customer's. */
function shownToAccount(channel: Channel): AccountChannel {
  const { type, target, confirmed } = channel
  const seen = type === 'webhook' && URL.canParse(target) ? `${new URL(target).origin}/…` : target
  return { ...wireChannel(channel), target: seen, confirmed }
}

async function noticesOf(ports: AdminPorts, id: string): Promise<AccountNotices> {
  return { channels: (await ports.store.notices.channels(id)).map(shownToAccount), ...(await lowBalanceOf(ports, id)) }
}
