import { createHash, randomInt } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { lowBalanceOf, setLowBalance } from '../records/low-balance.ts'
import {
  ACCOUNT_CHANNELS_MAX,
  newChannel,
  raiseTest,
  tooManyChannels,
  wireChannel,
  wireDelivery,
} from '../../notices/channels.ts'
import { choiceParameter } from '../../base/query-parameters.ts'
import { ApiError } from '../../base/errors.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Channel, ChannelCode } from '../../store/notices/notice-rows.ts'
import { differing, isEmpty } from '../../base/objects.ts'
import { mailboxOf } from '../../base/mail-address.ts'
import { ownValue } from '../../base/own-value.ts'
import { OwnDelivery, type Notices, type OwnChannel } from './notice-contract.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { listVisit, visitRoute, type CabinetPorts, type Visit } from './ports.ts'

const CODE_MS = 30 * 60_000

/** Who gets notices about the account of the visit. */
export function noticeRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    visitRoute(ports, 'GET /cabinet/v1/notices', (visit) => noticesOf(ports, visit)),
    visitRoute(ports, 'PATCH /cabinet/v1/notices', async (visit, read) => {
      const { low_balance: given } = read()
      if (!(await setLowBalance(ports, visit.accountId, given))) return noticesOf(ports, visit)
      await recordEvent(ports, visit, 'account.update', visit.accountId, { low_balance: given })
      return noticesOf(ports, visit)
    }),
    visitRoute(ports, 'POST /cabinet/v1/notices/channels', async (visit, read) => addChannel(ports, visit, read())),
    visitRoute(ports, 'PATCH /cabinet/v1/notices/channels/:id', async (visit, read) => {
      const before = await channelOf(ports, visit)
      const patch = differing(before, read())
      if (isEmpty(patch)) return wireOwn(before)
      const after = (await notices.changeChannel(visit.accountId, before.id, patch)) ?? before
      await recordEvent(ports, visit, 'notice_channel.update', before.id, wireOwn(after))
      return wireOwn(after)
    }),
    visitRoute(ports, 'DELETE /cabinet/v1/notices/channels/:id', async (visit) => {
      const channel = await channelOf(ports, visit)
      await notices.removeChannel(visit.accountId, channel.id)
      await recordEvent(ports, visit, 'notice_channel.delete', channel.id, wireOwn(channel))
      return { id: channel.id, deleted: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/notices/channels/:id/code', async (visit) => {
      const channel = await channelOf(ports, visit)
      if (channel.confirmed) throw notFound('Receiver', channel.id, 200)
      await sendCode(ports, visit, channel, async (code) => {
        if (!(await notices.renewCode(visit.accountId, channel.id, code))) throw notFound('Receiver', channel.id, 200)
      })
      return { sent: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/notices/channels/:id/confirm', async (visit, read) => {
      const channel = await channelOf(ports, visit)
      const hash = hashOf(channel.id, read().code)
      const end = await notices.confirm(visit.accountId, channel.id, { hash, nowMs: ports.clock.now() })
      if (end === 'wrong') throw fieldError('code', 'wrong')
      if (end === 'ended') throw fieldError('code', 'code_ended')
      await recordEvent(ports, visit, 'notice_channel.update', channel.id, { confirmed: true })
      return wireOwn({ ...channel, confirmed: true })
    }),
    visitRoute(ports, 'POST /cabinet/v1/notices/channels/:id/test', async (visit) => {
      const channel = await channelOf(ports, visit)
      if (!channel.confirmed) throw reasonError('channel_unconfirmed')
      await ports.access.bounds.take('notice_tests', visit.accountId)
      await takeLetterTurns(ports, visit.accountId, channel)
      return { notice: await raiseTest(ports, channel) }
    }),
    ...deliveryRoutes(ports),
  ]
}

/** The notices sent to the account's receivers, and those that were given up. */
function deliveryRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    listVisit(
      ports,
      'GET /cabinet/v1/notices/deliveries',
      async ({ accountId, call: { query } }, range) => {
        const state = choiceParameter(query, 'state', OwnDelivery.fields.state)
        const { data, total, next } = await notices.deliveries({ accountId, state, ...range })
        return { data: data.map(wireDelivery), total, ...(next === undefined ? {} : { next_cursor: next }) }
      },
      [100, 1_000],
    ),
    visitRoute(ports, 'POST /cabinet/v1/notices/deliveries/:id/replay', async (visit) => {
      const { accountId, call } = visit
      const id = ownValue(call.params, 'id') ?? ''
      await ports.access.bounds.take('notice_tests', accountId)
      const delivery = await notices.replay(accountId, id, ports.clock.now(), (channel) =>
        takeLetterTurns(ports, accountId, channel),
      )
      if (delivery === null) throw notFound('Message', id, 200)
      await recordEvent(ports, visit, 'notice_delivery.replay', id, { notice: delivery.notice.id })
      return wireDelivery(delivery)
    }),
  ]
}

async function noticesOf(ports: CabinetPorts, { accountId }: Visit): Promise<Notices> {
  const channels = await ports.store.notices.channels(accountId)
  return {
    channels: channels.map(wireOwn),
    types: [...ports.channelTypes],
    ...(await lowBalanceOf(ports, accountId)),
  }
}

async function channelOf({ store }: CabinetPorts, { call, accountId }: Visit): Promise<Channel> {
  const id = ownValue(call.params, 'id') ?? ''
  const channel = await store.notices.channel(accountId, id)
  if (channel === null) throw notFound('Receiver', id, 200)
  return channel
}

async function addChannel(
  ports: CabinetPorts,
  visit: Visit,
  given: Parameters<typeof newChannel>[1],
): Promise<OwnChannel & { readonly secret: string | null }> {
  const { accountId } = visit
  // The webhook of a customer must have a public address, wherever the operator's may be.
  const { channel, secret } = newChannel(ports, given, { accountId, allowPrivate: false })
  const add = async (code: ChannelCode | null): Promise<void> => {
    const added = await ports.store.notices.addChannel(channel, ACCOUNT_CHANNELS_MAX, code)
    if (added === 'full') throw tooManyChannels(ACCOUNT_CHANNELS_MAX)
  }
  await (channel.confirmed ? add(null) : sendCode(ports, visit, channel, add))
  await recordEvent(ports, visit, 'notice_channel.create', channel.id, wireOwn(channel))
  return { ...wireOwn(channel), secret }
}

/** A message that a person asks for counts as one of their letters. */
async function takeLetterTurns(
  { access: { bounds } }: CabinetPorts,
  accountId: string,
  { type, target }: Channel,
): Promise<void> {
  if (type !== 'email') return
  await bounds.take('letters', accountId)
  await bounds.take('mailbox', mailboxOf(target))
}

/** A mailbox gets at most three codes a day, however many accounts ask, since it may be a stranger's. */
async function sendCode(
  { letters, clock, access: { bounds } }: CabinetPorts,
  { accountId }: Visit,
  { id, type, target, language }: Channel,
  keep: (code: ChannelCode) => Promise<void>,
): Promise<void> {
  if (type === 'webhook') return
  await bounds.take('receiver_codes', accountId)
  await bounds.take('mailbox_codes', mailboxOf(target))
  const code = async (): Promise<string> => {
    const given = String(randomInt(1_000_000)).padStart(6, '0')
    await keep({ hash: hashOf(id, given), untilMs: clock.now() + CODE_MS })
    return given
  }
  if (!(await letters.post({ by: type, to: target, language, from: ['letters', accountId] }, 'code', code)))
    throw new ApiError(
      'rate_limit_exceeded',
      'Too many letters were sent for this account or to this receiver: ask for another code in an hour',
      { retryAfterSeconds: 3_600, noRetry: true },
    )
}

function hashOf(channelId: string, code: string): string {
  return createHash('sha256').update(`${channelId} ${code}`).digest('hex')
}

function wireOwn(channel: Channel): OwnChannel {
  // The cabinet's contract accepts no other kinds.
  return { ...(wireChannel(channel) as OwnChannel), confirmed: channel.confirmed }
}
