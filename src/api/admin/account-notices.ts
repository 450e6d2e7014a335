import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { serviceLowBalance } from '../../ledger/notice.ts'
import { microOf, rubles } from '../../base/money.ts'
import { ACCOUNT_CHANNELS_MAX, newChannel, raiseTest, tooManyChannels, wireChannel } from '../../notices/channels.ts'
import { reasonError } from '../../base/refusals.ts'
import type { Channel } from '../../store/notices/notice-rows.ts'
import type { AccountChannel, AccountNotices } from './notice-contract.ts'
import { adminRoute, notFound, param, recordEvent, type AdminCall, type AdminPorts } from '../../admin/ports.ts'
import { recordId } from '../../admin/records.ts'

/**
 * Who is told about an account, and below which balance. What its people name is confirmed by a code; what an operator
 * names for them needs none.
 */
export function accountNoticeRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/accounts/:id/notices', async (call) => ({
      status: 200,
      body: await noticesOf(ports, await accountId(ports, call)),
    })),
    adminRoute('PATCH /admin/v1/accounts/:id/notices', async (call, read) => {
      const id = await accountId(ports, call)
      const { low_balance: given } = read()
      const before = await noticesOf(ports, id)
      await ports.store.notices.setLowBalance(id, {
        lowMicro: given === null ? null : microOf(given),
        fallbackMicro: serviceLowBalance(ports.catalog.current().settings),
        atMs: ports.clock.now(),
      })
      const after = { low_balance: given }
      await recordEvent(ports, call, 'account.update', id, { low_balance: before.low_balance }, after)
      return { status: 200, body: await noticesOf(ports, id) }
    }),
    ...channelRoutes(ports),
  ]
}

function channelRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { notices } = ports.store
  return [
    adminRoute('POST /admin/v1/accounts/:id/notices/channels', async (call, read) => {
      const id = await accountId(ports, call)
      // A customer's webhook is public, wherever the operator's may be.
      const owner = { accountId: id, allowPrivate: false, vouched: true }
      const { channel, secret } = newChannel({ ...ports, cipher: ports.keyWrap }, read(), owner)
      if ((await notices.addChannel(channel, ACCOUNT_CHANNELS_MAX)) === 'full')
        throw tooManyChannels(ACCOUNT_CHANNELS_MAX)
      await recordEvent(ports, call, 'notice_channel.create', channel.id, null, shown(channel))
      return { status: 201, body: { ...shown(channel), secret } }
    }),
    adminRoute('PATCH /admin/v1/accounts/:id/notices/channels/:channel', async (call, read) => {
      const { owner, channel } = await channelOf(ports, call)
      const after = (await notices.changeChannel(owner, channel.id, read())) ?? channel
      await recordEvent(ports, call, 'notice_channel.update', channel.id, shown(channel), shown(after))
      return { status: 200, body: shown(after) }
    }),
    adminRoute('DELETE /admin/v1/accounts/:id/notices/channels/:channel', async (call) => {
      const { owner, channel } = await channelOf(ports, call)
      await notices.removeChannel(owner, channel.id)
      await recordEvent(ports, call, 'notice_channel.delete', channel.id, shown(channel), null)
      return { status: 200, body: { id: channel.id, deleted: true } }
    }),
    adminRoute('POST /admin/v1/accounts/:id/notices/channels/:channel/test', async (call) => {
      const { channel } = await channelOf(ports, call)
      if (!channel.confirmed)
        throw reasonError('conflict', 'channel_unconfirmed', {}, 'This receiver has yet to be confirmed with its code')
      return { status: 202, body: { notice: await raiseTest(ports, channel) } }
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

/** The path of a customer's webhook may hold a secret of theirs. */
function shown(channel: Channel): AccountChannel {
  const { type, target, confirmed } = channel
  const seen = type === 'webhook' && URL.canParse(target) ? `${new URL(target).origin}/…` : target
  return { ...wireChannel(channel), target: seen, confirmed }
}

async function noticesOf({ store, catalog }: AdminPorts, id: string): Promise<AccountNotices> {
  const [channels, threshold] = await Promise.all([store.notices.channels(id), store.notices.lowBalance(id)])
  const lowMicro = threshold?.lowMicro ?? null
  return {
    channels: channels.map(shown),
    low_balance: lowMicro === null ? null : rubles(lowMicro),
    service_low_balance: rubles(serviceLowBalance(catalog.current().settings)),
  }
}
