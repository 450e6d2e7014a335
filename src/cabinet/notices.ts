import { createHash, randomInt } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { serviceLowBalance } from '../ledger/notice.ts'
import { microOf, rubles } from '../base/money.ts'
import { ACCOUNT_CHANNELS_MAX, newChannel, raiseTest, tooManyChannels, wireChannel } from '../notices/channels.ts'
import { wireDelivery } from '../notices/wire-delivery.ts'
import { choiceParameter } from '../base/query-parameters.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import type { Channel, ChannelCode } from '../store/notices/notice-rows.ts'
import { ownValue } from '../base/own-value.ts'
import { OwnDelivery, type Notices, type OwnChannel } from '../api/cabinet/notice-contract.ts'
import { listVisit } from './list-visit.ts'
import { recordEvent, visitRoute, type CabinetPorts, type Visit } from './ports.ts'
import { takeTurn } from './turns.ts'

const CODE_MS = 30 * 60_000

/** Who is told about the account of the visit. */
export function noticeRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    visitRoute(ports, 'GET /cabinet/v1/notices', (visit) => noticesOf(ports, visit)),
    visitRoute(ports, 'PATCH /cabinet/v1/notices', async (visit, read) => {
      const { low_balance: given } = read()
      await notices.setLowBalance(visit.accountId, {
        lowMicro: given === null ? null : microOf(given),
        fallbackMicro: serviceLowBalance(ports.catalog.current().settings),
        atMs: ports.clock.now(),
      })
      await note(ports, visit, 'account.update', visit.accountId, { low_balance: given })
      return noticesOf(ports, visit)
    }),
    visitRoute(
      ports,
      'POST /cabinet/v1/notices/channels',
      async (visit, read) => addChannel(ports, visit, read()),
      201,
    ),
    visitRoute(ports, 'PATCH /cabinet/v1/notices/channels/:id', async (visit, read) => {
      const before = await channelOf(ports, visit)
      const after = (await notices.changeChannel(visit.accountId, before.id, read())) ?? before
      await note(ports, visit, 'notice_channel.update', before.id, wireOwn(after))
      return wireOwn(after)
    }),
    visitRoute(ports, 'DELETE /cabinet/v1/notices/channels/:id', async (visit) => {
      const channel = await channelOf(ports, visit)
      await notices.removeChannel(visit.accountId, channel.id)
      await note(ports, visit, 'notice_channel.delete', channel.id, wireOwn(channel))
      return { id: channel.id, deleted: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/notices/channels/:id/code', async (visit) => {
      const channel = await channelOf(ports, visit)
      if (channel.confirmed) throw unknown(channel.id)
      takeCodeTurns(ports, visit, channel)
      const { code, given } = newCode(ports, channel)
      if (!(await notices.renewCode(visit.accountId, channel.id, code))) throw unknown(channel.id)
      sendCode(ports, channel, given)
      return { sent: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/notices/channels/:id/confirm', async (visit, read) => {
      const channel = await channelOf(ports, visit)
      const hash = hashOf(channel.id, read().code)
      const end = await notices.confirm(visit.accountId, channel.id, { hash, nowMs: ports.clock.now() })
      if (end === 'wrong') throw fieldError('code', 'wrong', {}, 'is wrong')
      if (end === 'ended') throw fieldError('code', 'code_ended', {}, 'is no longer good: ask for another one')
      await note(ports, visit, 'notice_channel.update', channel.id, { confirmed: true })
      return wireOwn({ ...channel, confirmed: true })
    }),
    visitRoute(
      ports,
      'POST /cabinet/v1/notices/channels/:id/test',
      async (visit) => {
        const channel = await channelOf(ports, visit)
        if (!channel.confirmed)
          throw reasonError('conflict', 'channel_unconfirmed', {}, 'Confirm this receiver with its code first')
        takeTurn(ports.noticeTests, visit.accountId, 'messages')
        return { notice: await raiseTest(ports, channel) }
      },
      202,
    ),
    ...deliveryRoutes(ports),
  ]
}

/** What was sent to the account's receivers, and what was given up. */
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
      takeTurn(ports.noticeTests, accountId, 'messages')
      const delivery = await notices.replay(accountId, id, ports.clock.now())
      if (delivery === null) {
        const shown = id.slice(0, 200)
        throw reasonError('not_found', 'unknown_id', { id: shown }, `Message '${shown}' not found`)
      }
      await note(ports, visit, 'notice_delivery.replay', id, { notice: delivery.notice.id })
      return wireDelivery(delivery)
    }),
  ]
}

async function noticesOf({ store, catalog, channelTypes }: CabinetPorts, { accountId }: Visit): Promise<Notices> {
  const [channels, threshold] = await Promise.all([
    store.notices.channels(accountId),
    store.notices.lowBalance(accountId),
  ])
  const lowMicro = threshold?.lowMicro ?? null
  return {
    channels: channels.map(wireOwn),
    types: [...channelTypes],
    low_balance: lowMicro === null ? null : rubles(lowMicro),
    service_low_balance: rubles(serviceLowBalance(catalog.current().settings)),
  }
}

async function channelOf({ store }: CabinetPorts, { call, accountId }: Visit): Promise<Channel> {
  const id = ownValue(call.params, 'id') ?? ''
  const channel = await store.notices.channel(accountId, id)
  if (channel === null) throw unknown(id)
  return channel
}

function unknown(id: string): Error {
  const shown = id.slice(0, 200)
  return reasonError('not_found', 'unknown_id', { id: shown }, `Receiver '${shown}' not found`)
}

async function addChannel(
  ports: CabinetPorts,
  visit: Visit,
  given: Parameters<typeof newChannel>[1],
): Promise<OwnChannel & { readonly secret: string | null }> {
  const { accountId } = visit
  // A customer's webhook is public, wherever the operator's may be.
  const { channel, secret } = newChannel(ports, given, { accountId, allowPrivate: false })
  if (!channel.confirmed) takeCodeTurns(ports, visit, channel)
  const { code, given: digits } = newCode(ports, channel)
  const added = await ports.store.notices.addChannel(channel, ACCOUNT_CHANNELS_MAX, channel.confirmed ? null : code)
  if (added === 'full') throw tooManyChannels(ACCOUNT_CHANNELS_MAX)
  if (!channel.confirmed) sendCode(ports, channel, digits)
  await note(ports, visit, 'notice_channel.create', channel.id, wireOwn(channel))
  return { ...wireOwn(channel), secret }
}

/** A stranger's mailbox gets three codes a day at most, however many accounts ask. */
function takeCodeTurns(ports: CabinetPorts, { accountId }: Visit, { target }: Channel): void {
  takeTurn(ports.accountCodes, accountId, 'codes')
  takeTurn(ports.addressCodes, mailboxOf(target), 'codes to this address')
}

/** Tags and dots make other addresses of one mailbox. */
function mailboxOf(target: string): string {
  const [name = '', domain = ''] = target.toLowerCase().split('@')
  const tag = name.indexOf('+')
  return `${(tag === -1 ? name : name.slice(0, tag)).replaceAll('.', '')}@${domain}`
}

function newCode({ clock }: CabinetPorts, { id }: Channel): { readonly code: ChannelCode; readonly given: string } {
  const given = String(randomInt(1_000_000)).padStart(6, '0')
  return { given, code: { hash: hashOf(id, given), untilMs: clock.now() + CODE_MS } }
}

function sendCode({ letters }: CabinetPorts, { type, target, language }: Channel, code: string): void {
  if (type !== 'webhook') letters.post({ by: type, to: target, language, about: { kind: 'code', code } })
}

function hashOf(channelId: string, code: string): string {
  return createHash('sha256').update(`${channelId} ${code}`).digest('hex')
}

function wireOwn(channel: Channel): OwnChannel {
  // The contract of the cabinet lets no other kinds in.
  return { ...(wireChannel(channel) as OwnChannel), confirmed: channel.confirmed }
}

function note(
  ports: CabinetPorts,
  { user, call }: Visit,
  action: Parameters<typeof recordEvent>[3],
  object: string,
  after: unknown,
): Promise<void> {
  return recordEvent(ports, user.email, call.clientIp, action, object, after)
}
