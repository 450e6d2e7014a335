import type { Micro } from '../../base/money.ts'
import { big, integer, readBeside, text, type Database } from '../database.ts'
import { column, Rows, type RecordOf } from '../rows.ts'
import { ownAmount, reasonOf } from './entry-store.ts'

const DAYS = new Rows(
  'usage_day',
  {
    accountId: column.text('account_id'),
    accountName: column.text('account_name', 'a.name'),
    day: column.text('day'),
    keyId: column.text('key_id'),
    keyName: column.textOrNull('key_name', 'k.name'),
    model: column.text('model'),
    /** Empty = no provider answered. */
    provider: column.text('provider'),
    /** Empty = the plain price. */
    condition: column.text('condition'),
    requests: column.integer('requests'),
    inputTokens: column.integer('input_tokens'),
    outputTokens: column.integer('output_tokens'),
    chargedMicro: column.big('revenue'),
    providerCostMicro: column.big('provider_cost'),
    insuredMicro: column.big('insured'),
  },
  { of: 'u' },
)
/** The charges of an account on a day for one model, key, provider and condition of the price. */
export type ChargedDay = RecordOf<typeof DAYS>

/** An entry by which the operator corrected a balance. */
export interface AdjustmentRow {
  readonly id: bigint
  readonly accountId: string
  readonly accountName: string
  readonly atMs: number
  readonly reason: string
  /** The amount added to the balance. */
  readonly amountMicro: Micro
}

export interface ChargePage {
  /** null = all accounts. */
  readonly accountId: string | null
  /** The first and last day, both included. */
  readonly from: string
  readonly to: string
  /** The last row of the page before; null = the page is the first. */
  readonly after: ChargedDay | null
  readonly limit: number
}

const PLACE = 'u.account_id, u.day, u.key_id, u.model, u.provider, u.condition'

/** Charges by day, and adjustments, page by page in a fixed order, whatever their number. */
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
      `SELECT ${DAYS.list} FROM ${DAYS.from} JOIN account a ON a.id = u.account_id LEFT JOIN api_key k ON k.id = u.key_id
        WHERE ${parts.join(' AND ')}
        ORDER BY ${PLACE} LIMIT ?`,
      [from, to, ...(accountId === null ? [] : [accountId]), ...(place ?? []), BigInt(limit)],
    )
    return rows.map((row) => DAYS.read(row))
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
      reason: reasonOf(row),
      amountMicro: ownAmount(row),
    }))
  }
}
