import { createHash } from 'node:crypto'
import { reasonError } from '../base/refusals.ts'
import { rubles } from '../base/money.ts'
import { recordEvent, type CabinetPorts, type Visit } from './ports.ts'
import { takeTurn } from './turns.ts'

/** Redeems a code; each account can redeem it once. */
export async function redeemCode(
  ports: CabinetPorts,
  { call, user, accountId }: Visit,
  code: string,
): Promise<{ readonly amount: number; readonly balance: number }> {
  takeTurn(ports.redemptions, accountId, 'codes')
  const digest = createHash('sha256').update(readable(code)).digest()
  const outcome = await ports.store.codes.redeem({ digest, accountId, actor: user.email, atMs: ports.clock.now() })
  switch (outcome.status) {
    case 'unknown':
      throw reasonError('not_found', 'code_unknown', {}, 'code: is unknown, used up or expired')
    case 'used_by_account':
      throw reasonError('conflict', 'code_used', {}, 'code: this account has used it already')
    case 'redeemed': {
      const body = { amount: rubles(outcome.amountMicro), balance: rubles(outcome.balanceMicro) }
      await recordEvent(ports, user.email, call.clientIp, 'code.redeem', outcome.codeId, {
        account: accountId,
        amount: body.amount,
      })
      return body
    }
  }
}

/** Reads letters that look like digits as digits: codes have no such letters. */
function readable(code: string): string {
  return code.replaceAll(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}
