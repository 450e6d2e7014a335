import { ALLOWANCE_PREFIX } from '../../ledger/ledger-store.ts'
import type { Database } from '../database.ts'

const IS_ALLOWANCE = `hold.state = 'open' AND hold.id LIKE '${ALLOWANCE_PREFIX}%'`

/** The index that the sums below read, and nothing else is in it. */
export const ALLOWANCE_INDEX = `CREATE INDEX hold_allowance ON hold (account_id, key_id) WHERE ${IS_ALLOWANCE}`

const OF_ACCOUNT = `COALESCE((SELECT SUM(hold.amount) FROM hold WHERE hold.account_id = account.id AND ${IS_ALLOWANCE}), 0)`
const OF_KEY = `COALESCE((SELECT SUM(hold.amount) FROM hold WHERE hold.account_id = api_key.account_id AND hold.key_id = api_key.id AND ${IS_ALLOWANCE}), 0)`

/**
 * The column `set_aside`: what nodes hold for requests to come of the account or key that is read. Whoever looks finds
 * it available, since no request has it yet.
 */
export function setAside(dialect: Database['dialect'], owner: 'account' | 'api_key'): string {
  if (dialect === 'sqlite') return '0 AS set_aside'
  return owner === 'account' ? `${OF_ACCOUNT} AS set_aside` : `${OF_KEY} AS set_aside`
}
