import type { Database } from '../database.ts'
import { accountNameKey } from './account-store.ts'

/** Indexes of the orders that lists of the operator have. */
export function orderStatements(dialect: Database['dialect']): readonly string[] {
  const column = accountNameKey(dialect)
  return [
    'CREATE INDEX account_created ON account (created_at DESC, id)',
    `CREATE INDEX account_name ON account (${column}, id DESC)`,
    'CREATE INDEX redeem_code_created ON redeem_code (created_at DESC, id)',
    'CREATE INDEX payment_order_created ON payment_order (created_at DESC, id)',
    'CREATE INDEX console_user_created ON console_user (created_at DESC, id)',
  ]
}
