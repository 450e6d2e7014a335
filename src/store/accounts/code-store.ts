import type { Micro } from '../../base/money.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { bigOrNull, big, bit, integer, integerOrNull, text, textOrNull, type Database, type Row } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { EXTERNAL_IDS, nameRecord } from './external-id-store.ts'
import { postWithin } from '../ledger/entry-store.ts'
import { countRows, CREATED_AT, readPage, ROW_ID, type Order, type Page, type PageRange } from '../page.ts'
import { changeRow } from '../sealed-row.ts'

export interface CodeRecord {
  readonly id: string
  /** The id that a client gave it. */
  readonly externalId: string | null
  readonly label: string
  readonly amountMicro: Micro
  readonly usesMax: number
  readonly uses: number
  readonly expiresAtMs: number | null
  readonly note: string | null
  readonly disabled: boolean
  readonly createdBy: string
  readonly createdAtMs: number
}

export type RedeemOutcome =
  | { readonly status: 'redeemed'; readonly amountMicro: Micro; readonly balanceMicro: Micro; readonly codeId: string }
  | { readonly status: 'unknown' | 'used_by_account' }

export type CodePatch = Partial<Pick<CodeRecord, 'externalId' | 'usesMax' | 'expiresAtMs' | 'note' | 'disabled'>>

const COLUMNS = 'id, label, amount, uses_max, uses, expires_at, note, disabled, created_by, created_at'
const EXTERNAL_ID = EXTERNAL_IDS.redeem_code
const SELECT = `SELECT ${COLUMNS}, ${EXTERNAL_ID} AS external_id FROM redeem_code`

function readCode(row: Row): CodeRecord {
  return {
    id: text(row, 'id'),
    externalId: textOrNull(row, 'external_id'),
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

/** Codes that are worth money. An account's ledger entry shows that it has used one. */
export class CodeStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /** Throws ExternalIdTakenError. */
  create(codes: readonly (Omit<CodeRecord, 'uses'> & { readonly digest: Buffer })[]): Promise<void> {
    return this.#database.transaction(async (sql) => {
      await countRows(sql, this.#seal, 'redeem_code', BigInt(codes.length))
      for (const code of codes) {
        if (code.externalId !== null) await nameRecord(sql, 'redeem_code', code.id, code.externalId)
        await sql.run(
          'INSERT INTO redeem_code (id, digest, label, amount, uses_max, expires_at, note, disabled, created_by, created_at, seal) VALUES (?,?,?,?,?,?,?,?,?,?,?)',
          [
            code.id,
            code.digest,
            code.label,
            code.amountMicro,
            BigInt(code.usesMax),
            code.expiresAtMs === null ? null : BigInt(code.expiresAtMs),
            code.note,
            bit(code.disabled),
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
              bit(code.disabled),
              code.expiresAtMs,
            ]),
          ],
        )
      }
    })
  }

  list(range: PageRange, order: Order<'created_at'> = '-created_at'): Promise<Page<CodeRecord>> {
    return readPage(
      this.#database,
      { select: SELECT, from: 'redeem_code', order, columns: { created_at: CREATED_AT }, id: ROW_ID, read: readCode },
      range,
    )
  }

  async get(id: string): Promise<CodeRecord | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE id = ?`, [id])
    return row === undefined ? null : readCode(row)
  }

  /**
   * `decide` says the changes by the code as it is; what it throws keeps all as it was. null = there is none. Throws
   * ExternalIdTakenError.
   */
  update(id: string, decide: (current: CodeRecord) => CodePatch): Promise<CodeRecord | null> {
    return this.#database.transaction(async (sql) => {
      const [row] = await sql.all(`${SELECT} WHERE id = ?${ROW_LOCK}`, [id])
      if (row === undefined) return null
      const current = readCode(row)
      const patch = decide(current)
      if (Object.keys(patch).length === 0) return current
      const after = { ...current, ...patch }
      await changeRow(sql, this.#seal, 'redeem_code', id, {
        uses_max: BigInt(after.usesMax),
        expires_at: after.expiresAtMs === null ? null : BigInt(after.expiresAtMs),
        note: after.note,
        disabled: bit(after.disabled),
      })
      if (patch.externalId !== undefined) await nameRecord(sql, 'redeem_code', id, patch.externalId)
      return after
    })
  }

  /** One use and one ledger entry, in one commit. */
  redeem(request: {
    readonly digest: Buffer
    readonly accountId: string
    readonly actor: string
    readonly atMs: number
  }): Promise<RedeemOutcome> {
    const { digest, accountId, actor, atMs } = request
    return this.#database.transaction(async (sql): Promise<RedeemOutcome> => {
      const [row] = await sql.all(`${SELECT} WHERE digest = ?${ROW_LOCK}`, [digest])
      if (row === undefined) return { status: 'unknown' }
      const code = readCode(row)
      const reference = `code:${code.id}:${accountId}`
      const [used] = await sql.all(`SELECT id FROM entry WHERE kind = 'topup' AND ref = ?`, [reference])
      if (used !== undefined) return { status: 'used_by_account' }
      const expiresAt = bigOrNull(row, 'expires_at')
      if (code.disabled || code.uses >= code.usesMax || (expiresAt !== null && expiresAt <= BigInt(atMs)))
        return { status: 'unknown' }
      await sql.run('UPDATE redeem_code SET uses = uses + 1 WHERE id = ?', [code.id])
      const posted = await postWithin(sql, this.#seal, {
        accountId,
        kind: 'topup',
        amountMicro: code.amountMicro,
        reason: `code ${code.label}`,
        reference,
        actor,
        atMs,
      })
      if (posted.status !== 'created')
        throw new Error(`A code was redeemed and its entry was not made: ${posted.status}.`)
      return { status: 'redeemed', amountMicro: code.amountMicro, balanceMicro: posted.balanceMicro, codeId: code.id }
    })
  }
}
