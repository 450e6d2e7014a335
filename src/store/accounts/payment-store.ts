import type { Micro } from '../../base/money.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { big, text, type Database } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { postWithin } from '../ledger/entry-store.ts'
import { conditionsOf, countRows, CREATED_AT, readPage, type Order, type Page, type PageRange } from '../page.ts'
import { changeRow, column, insertSealed, Rows, type Cells, type RecordOf, type RowCondition } from '../rows.ts'

/** The earliest time for asking about an order: a minute after it was made. */
const FIRST_CHECK_MS = 60_000
const REFUNDS = 'FROM payment_refund r WHERE r.order_id = payment_order.id'

const ORDERS = new Rows('payment_order', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  method: column.text('method'),
  amountMicro: column.big('amount'),
  currency: column.text('currency'),
  state: column.text<'pending' | 'paid' | 'cancelled'>('state'),
  /** The provider's own id of the payment. */
  paymentId: column.textOrNull('payment_id'),
  confirmationUrl: column.textOrNull('confirmation_url'),
  createdAtMs: column.integer('created_at'),
  paidAtMs: column.integerOrNull('paid_at'),
  /** How often we asked the provider about it. */
  checks: column.integer('checks'),
  /** The refunded amount, and the part of it that the account no longer had. */
  refundedMicro: column.big('refunded', `CAST((SELECT COALESCE(SUM(r.amount), 0) ${REFUNDS}) AS BIGINT)`),
  refundMissingMicro: column.big(
    'refund_missing',
    `CAST((SELECT COALESCE(SUM(r.amount - r.booked), 0) ${REFUNDS}) AS BIGINT)`,
  ),
})
export type PaymentRecord = RecordOf<typeof ORDERS>

/** `booked`: the amount was taken from the balance, at most all of it; `known`: it was booked before. */
export type RefundOutcome =
  | { readonly status: 'booked'; readonly bookedMicro: Micro }
  | { readonly status: 'known' }
  | { readonly status: 'refused'; readonly why: string }

/** Payment orders. The provider's confirmation turns an order into a top-up. */
export class PaymentStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  async create(
    order: Pick<PaymentRecord, 'id' | 'accountId' | 'method' | 'amountMicro' | 'currency' | 'createdAtMs'>,
  ): Promise<void> {
    await this.#database.transaction(async (sql) => {
      await countRows(sql, this.#seal, 'payment_order')
      await insertSealed(sql, this.#seal, 'payment_order', {
        ...ORDERS.cells({ ...order, state: 'pending' }),
        due_at: BigInt(order.createdAtMs + FIRST_CHECK_MS),
      })
    })
  }

  /** Records the payment that the provider made for the order. */
  async begin(id: string, paymentId: string, confirmationUrl: string | null): Promise<void> {
    const change = { payment_id: paymentId, confirmation_url: confirmationUrl }
    await this.#change(id, change, { where: 'payment_id IS NULL' })
  }

  #change(id: string, change: Cells, condition: RowCondition): Promise<number> {
    return this.#database.transaction((sql) => changeRow(sql, this.#seal, 'payment_order', id, change, condition))
  }

  get(id: string): Promise<PaymentRecord | null> {
    return ORDERS.one(this.#database, 'WHERE id = ?', [id])
  }

  /** The newest first if no order is given. */
  list(
    filter: {
      readonly accountId: string | null
      readonly id?: string | null
      readonly order?: Order<'created_at'> | null
    } & PageRange,
  ): Promise<Page<PaymentRecord>> {
    const { accountId, id = null, order } = filter
    return readPage(
      this.#database,
      {
        rows: ORDERS,
        ...conditionsOf([
          ['account_id = ?', accountId ?? undefined],
          ['id = ?', id ?? undefined],
        ]),
        order: order ?? '-created_at',
        columns: { created_at: CREATED_AT },
      },
      filter,
    )
  }

  /**
   * Marks an order paid and writes one ledger entry with the payment id as its reference, in one commit. false = it was
   * no longer pending with this payment id.
   */
  pay(request: { readonly id: string; readonly paymentId: string; readonly atMs: number }): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      const order = await ORDERS.one(sql, 'WHERE id = ?', [request.id])
      if (order === null) return false
      // An order that was given up may still be paid at the provider: the money has come, so it is booked.
      const moved = await changeRow(
        sql,
        this.#seal,
        'payment_order',
        order.id,
        { state: 'paid', paid_at: BigInt(request.atMs), confirmation_url: null },
        { where: `payment_id = ? AND state <> 'paid'`, values: [request.paymentId] },
      )
      if (moved === 0) return false
      const posted = await postWithin(sql, this.#seal, {
        accountId: order.accountId,
        kind: 'topup',
        amountMicro: order.amountMicro,
        reason: `payment ${order.method}`,
        reference: `${order.method}:${request.paymentId}`,
        actor: order.method,
        atMs: request.atMs,
      })
      if (posted.status !== 'created')
        throw new Error(`Order ${order.id} was paid and its entry was not made: ${posted.status}.`)
      return true
    })
  }

  /** false = the order was no longer pending. */
  async cancel(id: string): Promise<boolean> {
    const change = { state: 'cancelled', confirmation_url: null }
    return (await this.#change(id, change, { where: `state = 'pending'` })) === 1
  }

  findByPayment(method: string, paymentId: string): Promise<PaymentRecord | null> {
    return ORDERS.one(this.#database, 'WHERE method = ? AND payment_id = ?', [method, paymentId])
  }

  /** The orders that entries of the account book or give back, by the reference of the entry. */
  async ofEntries(
    accountId: string,
    entries: readonly { readonly kind: string; readonly reference: string }[],
  ): Promise<ReadonlyMap<string, string>> {
    const references = entries.flatMap(({ kind, reference }) =>
      kind !== 'charge' && reference.includes(':') ? [reference] : [],
    )
    if (references.length === 0) return new Map()
    const marks = references.map(() => '?').join(', ')
    const rows = await this.#database.all(
      `SELECT method || ':' || payment_id AS reference, id FROM payment_order WHERE account_id = ? AND method || ':' || payment_id IN (${marks})
        UNION ALL SELECT id, order_id FROM payment_refund WHERE account_id = ? AND id IN (${marks})`,
      [accountId, ...references, accountId, ...references],
    )
    return new Map(rows.map((row) => [text(row, 'reference'), text(row, 'id')]))
  }

  /** Pending orders about which the provider must be asked now, the longest due first. */
  due(nowMs: number, limit: number): Promise<readonly PaymentRecord[]> {
    return ORDERS.all(this.#database, `WHERE state = 'pending' AND due_at <= ? ORDER BY due_at LIMIT ?`, [
      BigInt(nowMs),
      BigInt(limit),
    ])
  }

  /** Claims the next question about an order; false = another node has it, or the order is no longer pending. */
  async claim(id: string, checks: number, nextMs: number): Promise<boolean> {
    return (
      (await this.#database.run(
        `UPDATE payment_order SET checks = checks + 1, due_at = ? WHERE id = ? AND checks = ? AND state = 'pending'`,
        [BigInt(nextMs), id, BigInt(checks)],
      )) === 1
    )
  }

  /** Books a provider's refund in one commit, with one ledger entry for the part that the account still has. */
  refund({
    orderId,
    refundId,
    amountMicro,
    atMs,
    lowBalanceMicro,
  }: {
    readonly orderId: string
    readonly refundId: string
    readonly amountMicro: Micro
    readonly atMs: number
    /** The same as for an entry. */
    readonly lowBalanceMicro: Micro
  }): Promise<RefundOutcome> {
    return this.#database.transaction(async (sql): Promise<RefundOutcome> => {
      // The order is locked first, as when it is paid, so that refunds of one order wait for each other.
      await sql.all(`SELECT id FROM payment_order WHERE id = ?${ROW_LOCK}`, [orderId])
      const order = await ORDERS.one(sql, 'WHERE id = ?', [orderId])
      if (order === null) return { status: 'refused', why: 'there is no such order' }
      const id = `${order.method}:${refundId}`
      if ((await sql.all('SELECT 1 AS one FROM payment_refund WHERE id = ?', [id])).length > 0)
        return { status: 'known' }
      if (order.state !== 'paid') return { status: 'refused', why: 'the order is not paid' }
      if (order.refundedMicro + amountMicro > order.amountMicro)
        return { status: 'refused', why: 'more is given back than was paid' }
      const [account] = await sql.all(`SELECT available FROM account WHERE id = ?${ROW_LOCK}`, [order.accountId])
      const available = account === undefined ? 0n : big(account, 'available')
      const bookedMicro = available < amountMicro ? available : amountMicro
      await countRows(sql, this.#seal, 'payment_refund')
      await insertSealed(sql, this.#seal, 'payment_refund', {
        id,
        order_id: order.id,
        account_id: order.accountId,
        amount: amountMicro,
        booked: bookedMicro,
        at: BigInt(atMs),
      })
      if (bookedMicro === 0n) return { status: 'booked', bookedMicro }
      const posted = await postWithin(sql, this.#seal, {
        accountId: order.accountId,
        kind: 'refund',
        amountMicro: bookedMicro,
        reason: `refund ${order.method}`,
        reference: id,
        actor: order.method,
        atMs,
        lowBalanceMicro,
      })
      // The exception also rolls the row back.
      if (posted.status !== 'created')
        throw new Error(`Refund ${refundId} of order ${order.id} was not booked: ${posted.status}.`)
      return { status: 'booked', bookedMicro }
    })
  }
}
