import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { serviceLowBalance } from '../ledger/notice.ts'
import { microOf, rubles } from '../money.ts'
import { wireChannel } from '../notices/channels.ts'
import type { Channel } from '../store/notices/notice-rows.ts'
import type { AccountNotices } from './notice-contract.ts'
import { adminRoute, notFound, param, recordEvent, type AdminCall, type AdminPorts } from './ports.ts'
import { recordId } from './records.ts'

/** Who is told about an account, and below which balance. Its people choose the receivers: each confirms its address. */
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
  ]
}

async function accountId(ports: AdminPorts, call: AdminCall): Promise<string> {
  const given = param(call, 'id')
  const id = await recordId(ports, 'account', given)
  if (id === null || (await ports.store.accounts.get(id)) === null) throw notFound('Account', given)
  return id
}

/** The path of a customer's webhook may hold a secret of theirs. */
function shownTarget({ type, target }: Channel): string {
  return type === 'webhook' && URL.canParse(target) ? `${new URL(target).origin}/…` : target
}

async function noticesOf({ store, catalog }: AdminPorts, id: string): Promise<AccountNotices> {
  const [channels, threshold] = await Promise.all([store.notices.channels(id), store.notices.lowBalance(id)])
  const lowMicro = threshold?.lowMicro ?? null
  return {
    channels: channels.map((channel) => ({
      ...wireChannel(channel),
      target: shownTarget(channel),
      confirmed: channel.confirmed,
    })),
    low_balance: lowMicro === null ? null : rubles(lowMicro),
    service_low_balance: rubles(serviceLowBalance(catalog.current().settings)),
  }
}
