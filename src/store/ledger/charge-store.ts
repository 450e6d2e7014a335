import type { Micro } from '../../base/money.ts'
import { big, integer, readBeside, text, textOrNull, type Database, type Row } from '../database.ts'

/** The charges of an account on a day for one model, key, provider and condition of the price. */
export interface ChargedDay {
  readonly accountId: string
  readonly accountName: string
  readonly day: string
  readonly keyId: string
  readonly keyName: string | null
  readonly model: string
  /** Empty = no provider answered. */
  readonly provider: string
  /** Empty = the plain price. */
  readonly condition: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly chargedMicro: Micro
  readonly providerCostMicro: Micro
  readonly insuredMicro: Micro
}

/** An entry by which the operator corrected a balance. */
export interface AdjustmentRow {
  readonly id: bigint
  readonly accountId: string
  readonly accountName: string
  readonly atMs: number
  readonly reason: string
  /** Added to the balance. */
  readonly amountMicro: Micro
}

export interface ChargePage {
  /** null = of every account. */
  readonly accountId: string | null
  /** Days, both included. */
  readonly from: string
  readonly to: string
  /** The last row of the page before; null = from the start. */
  readonly after: ChargedDay | null
  readonly limit: number
}

const PLACE = 'u.account_id, u.day, u.key_id, u.model, u.provider, u.condition'

/** Charges by day, and adjustments, page by page in a fixed order, however many there are. */
export class ChargeStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async days({ accountId, from, to, after, limit }: ChargePage): Promise<readonly ChargedDay[]> {
    const place =
      after === null ? null : [after.accountId, after.day, after.keyId, after.model, after.provider, after.condition]
    const parts = [
      'u.day >= ?',
      'u.day <= ?',
      ...(accountId === null ? [] : ['u.account_id = ?']),
      ...(place === null ? [] : [`(${PLACE}) > (?,?,?,?,?,?)`]),
    ]
    const rows = await readBeside(
      this.#database,
      `SELECT ${PLACE}, u.requests, u.input_tokens, u.output_tokens, u.revenue, u.provider_cost, u.insured, a.name AS account_name, k.name AS key_name
        FROM usage_day u JOIN account a ON a.id = u.account_id LEFT JOIN api_key k ON k.id = u.key_id
        WHERE ${parts.join(' AND ')}
        ORDER BY ${PLACE} LIMIT ?`,
      [from, to, ...(accountId === null ? [] : [accountId]), ...(place ?? []), BigInt(limit)],
    )
    return rows.map(readDay)
  }

  /** In the order of accounts and ids. */
  async adjustments(page: {
    readonly accountId: string | null
    /** Unix ms; `toMs` is not included. */
    readonly fromMs: number
    readonly toMs: number
    readonly after: AdjustmentRow | null
    readonly limit: number
  }): Promise<readonly AdjustmentRow[]> {
    const { accountId, fromMs, toMs, after, limit } = page
    const parts = [
      // The first condition is that of the index.
      "e.kind <> 'charge'",
      "e.kind = 'adjustment'",
      'e.created_at >= ?',
      'e.created_at < ?',
      ...(accountId === null ? [] : ['e.account_id = ?']),
      ...(after === null ? [] : ['(e.account_id, e.id) > (?,?)']),
    ]
    const rows = await readBeside(
      this.#database,
      `SELECT e.id, e.account_id, e.debit, e.amount, e.ref, e.reason, e.created_at, a.name AS account_name
        FROM entry e JOIN account a ON a.id = e.account_id
        WHERE ${parts.join(' AND ')}
        ORDER BY e.account_id, e.id LIMIT ?`,
      [
        BigInt(fromMs),
        BigInt(toMs),
        ...(accountId === null ? [] : [accountId]),
        ...(after === null ? [] : [after.accountId, after.id]),
        BigInt(limit),
      ],
    )
    return rows.map((row) => ({
      id: big(row, 'id'),
      accountId: text(row, 'account_id'),
      accountName: text(row, 'account_name'),
      atMs: integer(row, 'created_at'),
      reason: textOrNull(row, 'reason') ?? text(row, 'ref'),
      amountMicro: text(row, 'debit').startsWith('account:') ? -big(row, 'amount') : big(row, 'amount'),
    }))
  }
}

function readDay(row: Row): ChargedDay {
  return {
    accountId: text(row, 'account_id'),
    accountName: text(row, 'account_name'),
    day: text(row, 'day'),
    keyId: text(row, 'key_id'),
    keyName: textOrNull(row, 'key_name'),
    model: text(row, 'model'),
    provider: text(row, 'provider'),
    condition: text(row, 'condition'),
    requests: integer(row, 'requests'),
    inputTokens: integer(row, 'input_tokens'),
    outputTokens: integer(row, 'output_tokens'),
    chargedMicro: big(row, 'revenue'),
    providerCostMicro: big(row, 'provider_cost'),
    insuredMicro: big(row, 'insured'),
  }
}
