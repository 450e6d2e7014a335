import type { PaymentRecord, PaymentStore } from './console-records.ts'
import type { BookSeal } from './book-seal.ts'
import { big, integer, integerOrNull, text, textOrNull, type Database, type Row, type SqlValue } from './database.ts'
import { postWithin } from './entry-store.ts'
import type { Page } from './store.ts'

const SELECT = 'SELECT id, account_id, method, amount, currency, state, payment_id, confirmation_url, created_at, paid_at FROM payment_order'

function readPayment(row: Row): PaymentRecord {
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    method: text(row, 'method'),
    amountMicro: big(row, 'amount'),
    currency: text(row, 'currency'),
    // A CHECK of the schema bounds it.
    state: text(row, 'state') as PaymentRecord['state'],
    paymentId: textOrNull(row, 'payment_id'),
    confirmationUrl: textOrNull(row, 'confirmation_url'),
    createdAtMs: integer(row, 'created_at'),
    paidAtMs: integerOrNull(row, 'paid_at'),
  }
}

/** Orders to pay: ours until the provider's own word makes one of them money. */
export class SqlPayments implements PaymentStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  async create(order: Parameters<PaymentStore['create']>[0]): Promise<void> {
    await this.#database.run(`INSERT INTO payment_order (id, account_id, method, amount, currency, state, created_at, seal) VALUES (?,?,?,?,?,'pending',?,?)`, [
      order.id, order.accountId, order.method, order.amountMicro, order.currency, BigInt(order.createdAtMs),
      this.#seal.of('payment_order', [order.id, order.accountId, order.method, order.amountMicro, order.currency, order.createdAtMs]),
    ])
  }

  async begin(id: string, paymentId: string, confirmationUrl: string | null): Promise<void> {
    await this.#database.run('UPDATE payment_order SET payment_id = ?, confirmation_url = ? WHERE id = ? AND payment_id IS NULL', [paymentId, confirmationUrl, id])
  }

  async get(id: string): Promise<PaymentRecord | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE id = ?`, [id])
    return row === undefined ? null : readPayment(row)
  }

  async list(filter: Parameters<PaymentStore['list']>[0]): Promise<Page<PaymentRecord>> {
    const values: SqlValue[] = []
    const parts = ['1 = 1']
    if (filter.accountId !== null) {
      parts.push('account_id = ?')
      values.push(filter.accountId)
    }
    const [count] = await this.#database.all(`SELECT COUNT(*) AS total FROM payment_order WHERE ${parts.join(' AND ')}`, values)
    if (filter.beforeMs !== null) {
      parts.push('created_at < ?')
      values.push(BigInt(filter.beforeMs))
    }
    const rows = await this.#database.all(`${SELECT} WHERE ${parts.join(' AND ')} ORDER BY created_at DESC, id LIMIT ? OFFSET ?`, [...values, BigInt(filter.limit), BigInt(filter.offset)])
    return { data: rows.map(readPayment), total: count === undefined ? 0 : integer(count, 'total') }
  }

  pay(request: Parameters<PaymentStore['pay']>[0]): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      const [row] = await sql.all(`${SELECT} WHERE id = ?`, [request.id])
      if (row === undefined) return false
      const order = readPayment(row)
      // An order that was given up here may be paid there after all: the money came, so it is booked.
      const moved = await sql.run(`UPDATE payment_order SET state = 'paid', paid_at = ?, confirmation_url = NULL WHERE id = ? AND payment_id = ? AND state <> 'paid'`, [BigInt(request.atMs), order.id, request.paymentId])
      if (moved === 0) return false
      const posted = await postWithin(sql, { dialect: this.#database.dialect, seal: this.#seal }, {
        accountId: order.accountId, kind: 'topup', amountMicro: order.amountMicro, reason: `payment ${order.method}`, reference: `${order.method}:${request.paymentId}`, actor: order.method, atMs: request.atMs,
      })
      if (posted.status !== 'created') throw new Error(`Order ${order.id} was paid and its entry was not made: ${posted.status}.`)
      return true
    })
  }

  async cancel(id: string): Promise<void> {
    await this.#database.run(`UPDATE payment_order SET state = 'cancelled', confirmation_url = NULL WHERE id = ? AND state = 'pending'`, [id])
  }
}
