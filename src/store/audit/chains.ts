import { big, integer, text, textOrNull, type Row, type Sql } from '../database.ts'
import { CHAINED_EVENTS, eventHash } from '../events/event-store.ts'
import { entryHash } from '../../ledger/hash-chain.ts'

const PAGE_ROWS = 1_000n

/** Follows the hash chains of entries and events from their first row, page by page so that memory stays flat (I16). */
export async function brokenChains(sql: Sql, violationsMax: number): Promise<readonly string[]> {
  return [...(await brokenEntries(sql)), ...(await brokenEvents(sql))].slice(0, violationsMax)
}

async function brokenEntries(sql: Sql): Promise<readonly string[]> {
  const violations: string[] = []
  let [account, id, previous, head] = ['', 0n, '', '']
  const closeAccount = (): void => {
    if (previous !== head) violations.push(`account ${account}: its newest entries are missing`)
  }
  for (;;) {
    const rows = await nextEntries(sql, account, id)
    for (const row of rows) {
      if (text(row, 'account_id') !== account) {
        closeAccount()
        account = text(row, 'account_id')
        previous = ''
        head = text(row, 'entry_head')
      }
      id = big(row, 'id')
      if (entryHash(previous, chained(row)) !== text(row, 'hash')) violations.push(`entry ${id}`)
      previous = text(row, 'hash')
    }
    if (rows.length === 0) break
  }
  closeAccount()
  return violations
}

const ENTRIES = `SELECT e.id AS id, debit, credit, amount, kind, ref, account_id, reason, actor, e.created_at AS created_at, hash, entry_head
  FROM entry e JOIN account a ON a.id = e.account_id`

/**
 * The rest of the account, else the next accounts. In a single condition SQLite would read all earlier rows again at
 * each page.
 */
async function nextEntries(sql: Sql, account: string, id: bigint): Promise<readonly Row[]> {
  const rest = await sql.all(`${ENTRIES} WHERE e.account_id = ? AND e.id > ? ORDER BY e.id LIMIT ?`, [
    account,
    id,
    PAGE_ROWS,
  ])
  return rest.length > 0
    ? rest
    : sql.all(`${ENTRIES} WHERE e.account_id > ? ORDER BY e.account_id, e.id LIMIT ?`, [account, PAGE_ROWS])
}

function chained(row: Row): Parameters<typeof entryHash>[1] {
  return {
    debit: text(row, 'debit'),
    credit: text(row, 'credit'),
    amountMicro: big(row, 'amount'),
    kind: text(row, 'kind'),
    reference: text(row, 'ref'),
    accountId: text(row, 'account_id'),
    reason: textOrNull(row, 'reason'),
    actor: textOrNull(row, 'actor'),
    atMs: integer(row, 'created_at'),
  }
}

async function brokenEvents(sql: Sql): Promise<readonly string[]> {
  const violations: string[] = []
  let [id, previous] = [0, '']
  for (;;) {
    const events = await CHAINED_EVENTS.all(sql, 'WHERE id > ? ORDER BY id LIMIT ?', [BigInt(id), PAGE_ROWS])
    for (const { hash, ...event } of events) {
      id = event.id
      if (eventHash(previous, event) !== hash) violations.push(`event ${id}`)
      previous = hash
    }
    if (events.length < Number(PAGE_ROWS)) return violations
  }
}
