import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { lowBalanceOf, setLowBalance } from '../records/low-balance.ts'
import { differing, isEmpty } from '../../base/differing.ts'
import { ACCOUNT_CHANNELS_MAX, newChannel, raiseTest, tooManyChannels, wireChannel } from '../../notices/channels.ts'
import { reasonError } from '../../base/refusals.ts'
import type { Channel } from '../../store/notices/notice-rows.ts'
import type { AccountChannel, AccountNotices } from './notice-contract.ts'
import { adminRoute, notFound, param, recordChange, type AdminCall, type AdminPorts } from './ports.ts'
import { recordId } from './records.ts'

/**
 * Who is told about an account, and below which balance. What its people name is confirmed by a code; what an operator
 * names for them needs none.
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
      // A customer's webhook is public, wherever the operator's may be.
      const owner = { accountId: id, allowPrivate: false, vouched: true }
      const { channel, secret } = newChannel({ ...ports, cipher: ports.keyWrap }, read(), owner)
      if ((await notices.addChannel(channel, ACCOUNT_CHANNELS_MAX)) === 'full')
        throw tooManyChannels(ACCOUNT_CHANNELS_MAX)
      await recordChange(ports, call, 'notice_channel.create', channel.id, null, shown(channel))
      return { ...shown(channel), secret }
    }),
    adminRoute('PATCH /admin/v1/accounts/:id/notices/channels/:channel', async (call, read) => {
      const { owner, channel } = await channelOf(ports, call)
      const patch = differing(channel, read())
      if (isEmpty(patch)) return shown(channel)
      const after = (await notices.changeChannel(owner, channel.id, patch)) ?? channel
      await recordChange(ports, call, 'notice_channel.update', channel.id, shown(channel), shown(after))
      return shown(after)
    }),
    adminRoute('DELETE /admin/v1/accounts/:id/notices/channels/:channel', async (call) => {
      const { owner, channel } = await channelOf(ports, call)
      await notices.removeChannel(owner, channel.id)
      await recordChange(ports, call, 'notice_channel.delete', channel.id, shown(channel), null)
      return { id: channel.id, deleted: true }
    }),
    adminRoute('POST /admin/v1/accounts/:id/notices/channels/:channel/test', async (call) => {
      const { channel } = await channelOf(ports, call)
      if (!channel.confirmed)
        throw reasonError('conflict', 'channel_unconfirmed', {}, 'This receiver has yet to be confirmed with its code')
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

/** The path of a customer's webhook may hold a secret of theirs. */
function shown(channel: Channel): AccountChannel {
  const { type, target, confirmed } = channel
  const seen = type === 'webhook' && URL.canParse(target) ? `${new URL(target).origin}/…` : target
  return { ...wireChannel(channel), target: seen, confirmed }
}

async function noticesOf(ports: AdminPorts, id: string): Promise<AccountNotices> {
  return { channels: (await ports.store.notices.channels(id)).map(shown), ...(await lowBalanceOf(ports, id)) }
}
