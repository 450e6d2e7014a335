import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promote, signUp, type Customer } from './console-world.ts'
import { fillEmbeddedLists } from './full-ledger.ts'
import { fillEmbeddedLog, ROW_STEP_MS, type FullLog } from './full-log.ts'
import { startTollgate, type Tollgate } from './server.ts'

export interface FullLists {
  readonly entries: number
  readonly accounts: number
}

export interface LogWorld {
  readonly tollgate: Tollgate
  readonly customer: Customer
  readonly operator: Customer
  readonly log: FullLog
  /** The account with the long ledger; null = there is none. */
  readonly ledger: string | null
}

/**
 * A server on a store whose log has so many rows, half of them the customer's; the last row is current. `lists`: with
 * another account's ledger and accounts beside.
 */
export async function startLogWorld(
  rows: number,
  told?: (rows: number) => void,
  lists: FullLists | null = null,
): Promise<LogWorld> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-log-'))
  const env = { TOLLGATE_LOG_LEVEL: 'error' }
  const first = await startTollgate({ dataDir, env })
  const customer = await signUp(first, 'ann@example.com', { balance: 0 })
  const billed = lists === null ? null : await signUp(first, 'bob@example.com', { balance: 0 })
  const operator = await promote(first, await signUp(first, 'root@example.com', { balance: 0 }))
  await first.kill('SIGTERM')
  const log: FullLog = { rows, large: customer.accountId, startMs: Date.now() - rows * ROW_STEP_MS }
  fillEmbeddedLog(dataDir, log, { there: true, ...(told === undefined ? {} : { told }) })
  const ledger = billed?.accountId ?? null
  if (lists !== null && ledger !== null) fillEmbeddedLists(dataDir, ledger, lists, log.startMs)
  // Rows without charges violate the audit.
  const tollgate = await startTollgate({ dataDir, env, audited: false })
  const at = (who: Customer): Customer => ({ ...who, headers: { ...who.headers, origin: tollgate.url } })
  return { tollgate, customer: at(customer), operator: at(operator), log, ledger }
}
