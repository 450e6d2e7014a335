import type { BookSeal } from './book-seal.ts'
import {
  bigOrNull,
  big,
  bit,
  integer,
  integerOrNull,
  text,
  textOrNull,
  type Database,
  type Row,
  type SqlValue,
} from './database.ts'
import type { CodeRecord, CodeStore, RedeemOutcome } from './console-records.ts'
import { postWithin } from './entry-store.ts'
import type { Page } from './store.ts'

const SELECT =
  'SELECT id, label, amount, uses_max, uses, expires_at, note, disabled, created_by, created_at FROM redeem_code'

function readCode(row: Row): CodeRecord {
  return {
    id: text(row, 'id'),
    label: text(row, 'label'),
    amountMicro: big(row, 'amount'),
    usesMax: integer(row, 'uses_max'),
    uses: integer(row, 'uses'),
    expiresAtMs: integerOrNull(row, 'expires_at'),
    note: textOrNull(row, 'note'),
    disabled: big(row, 'disabled') !== 0n,
    createdBy: text(row, 'created_by'),
    createdAtMs: integer(row, 'created_at'),
  }
}

/** Codes that are worth money. That an account used one is told by its ledger entry. */
export class SqlCodes implements CodeStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  create(codes: Parameters<CodeStore['create']>[0]): Promise<void> {
    return this.#database.transaction(async (sql) => {
      for (const code of codes) {
        await sql.run(
          'INSERT INTO redeem_code (id, digest, label, amount, uses_max, expires_at, note, created_by, created_at, seal) VALUES (?,?,?,?,?,?,?,?,?,?)',
          [
            code.id,
            code.digest,
            code.label,
            code.amountMicro,
            BigInt(code.usesMax),
            code.expiresAtMs === null ? null : BigInt(code.expiresAtMs),
            code.note,
            code.createdBy,
            BigInt(code.createdAtMs),
            this.#seal.of('redeem_code', [
              code.id,
              code.digest,
              code.label,
              code.amountMicro,
              code.usesMax,
              code.createdBy,
              code.createdAtMs,
            ]),
          ],
        )
      }
    })
  }

  async list(limit: number, offset: number): Promise<Page<CodeRecord>> {
    const [count] = await this.#database.all('SELECT COUNT(*) AS total FROM redeem_code')
    const rows = await this.#database.all(`${SELECT} ORDER BY created_at DESC, id LIMIT ? OFFSET ?`, [
      BigInt(limit),
      BigInt(offset),
    ])
    return { data: rows.map(readCode), total: count === undefined ? 0 : integer(count, 'total') }
  }

  async get(id: string): Promise<CodeRecord | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE id = ?`, [id])
    return row === undefined ? null : readCode(row)
  }

  async update(
    id: string,
    patch: { readonly disabled?: boolean; readonly note?: string | null },
  ): Promise<CodeRecord | null> {
    const values: SqlValue[] = []
    const sets = [
      ...(patch.disabled === undefined ? [] : ['disabled = ?']),
      ...(patch.note === undefined ? [] : ['note = ?']),
    ]
    if (patch.disabled !== undefined) values.push(bit(patch.disabled))
    if (patch.note !== undefined) values.push(patch.note)
    if (sets.length > 0)
      await this.#database.run(`UPDATE redeem_code SET ${sets.join(', ')} WHERE id = ?`, [...values, id])
    return this.get(id)
  }

  redeem(request: Parameters<CodeStore['redeem']>[0]): Promise<RedeemOutcome> {
    const { digest, accountId, actor, atMs } = request
    return this.#database.transaction(async (sql): Promise<RedeemOutcome> => {
      const lock = this.#database.dialect === 'postgres' ? ' FOR UPDATE' : ''
      const [row] = await sql.all(`${SELECT} WHERE digest = ?${lock}`, [digest])
      if (row === undefined) return { status: 'unknown' }
      const code = readCode(row)
      const reference = `code:${code.id}:${accountId}`
      const [used] = await sql.all(`SELECT id FROM entry WHERE kind = 'topup' AND ref = ?`, [reference])
      if (used !== undefined) return { status: 'used_by_account' }
      const expiresAt = bigOrNull(row, 'expires_at')
      if (code.disabled || code.uses >= code.usesMax || (expiresAt !== null && expiresAt <= BigInt(atMs)))
        return { status: 'unknown' }
      await sql.run('UPDATE redeem_code SET uses = uses + 1 WHERE id = ?', [code.id])
      const posted = await postWithin(
        sql,
        { dialect: this.#database.dialect, seal: this.#seal },
        {
          accountId,
          kind: 'topup',
          amountMicro: code.amountMicro,
          reason: `code ${code.label}`,
          reference,
          actor,
          atMs,
        },
      )
      if (posted.status !== 'created')
        throw new Error(`A code was redeemed and its entry was not made: ${posted.status}.`)
      return { status: 'redeemed', amountMicro: code.amountMicro, balanceMicro: posted.balanceMicro, codeId: code.id }
    })
  }
}
