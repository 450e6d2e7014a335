import type { Micro } from '../../base/money.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import type { Database } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { EXTERNAL_IDS, nameRecord } from './external-id-store.ts'
import { postWithin } from '../ledger/entry-store.ts'
import { conditionsOf, countRows, CREATED_AT, readPage, type Order, type Page, type PageRange } from '../page.ts'
import { changeRow, column, insertSealed, Rows, type RecordOf } from '../rows.ts'

const CODES = new Rows('redeem_code', {
  id: column.text('id'),
  /** The id that a client gave the code. */
  externalId: column.textOrNull('external_id', EXTERNAL_IDS.redeem_code),
  label: column.text('label'),
  amountMicro: column.big('amount'),
  usesMax: column.integer('uses_max'),
  uses: column.integer('uses'),
  expiresAtMs: column.integerOrNull('expires_at'),
  note: column.textOrNull('note'),
  disabled: column.flag('disabled'),
  createdBy: column.text('created_by'),
  createdAtMs: column.integer('created_at'),
})
export type CodeRecord = RecordOf<typeof CODES>

export type RedeemOutcome =
  | { readonly status: 'redeemed'; readonly amountMicro: Micro; readonly balanceMicro: Micro; readonly codeId: string }
  | { readonly status: 'unknown' | 'used_by_account' }

export type CodePatch = Partial<Pick<CodeRecord, 'externalId' | 'usesMax' | 'expiresAtMs' | 'note' | 'disabled'>>

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
        await insertSealed(sql, this.#seal, 'redeem_code', { ...CODES.cells(code), digest: code.digest })
      }
    })
  }

  list({
    id = null,
    order,
    ...range
  }: PageRange & { readonly id?: string | null; readonly order?: Order<'created_at'> | null }): Promise<
    Page<CodeRecord>
  > {
    const query = conditionsOf([['id = ?', id ?? undefined]])
    return readPage(
      this.#database,
      { rows: CODES, ...query, order: order ?? '-created_at', columns: { created_at: CREATED_AT } },
      range,
    )
  }

  get(id: string): Promise<CodeRecord | null> {
    return CODES.one(this.#database, 'WHERE id = ?', [id])
  }

  /**
   * `decide` returns the changes for the code's current state; if it throws, nothing changes. null = there is no such
   * code. Throws ExternalIdTakenError.
   */
  update(id: string, decide: (current: CodeRecord) => CodePatch): Promise<CodeRecord | null> {
    return this.#database.transaction(async (sql) => {
      const current = await CODES.one(sql, `WHERE id = ?${ROW_LOCK}`, [id])
      if (current === null) return null
      const patch = decide(current)
      if (Object.keys(patch).length === 0) return current
      await changeRow(sql, this.#seal, 'redeem_code', id, CODES.cells(patch))
      if (patch.externalId !== undefined) await nameRecord(sql, 'redeem_code', id, patch.externalId)
      return { ...current, ...patch }
    })
  }

  /** Writes one use and one ledger entry in one commit. */
  redeem(request: {
    readonly digest: Buffer
    readonly accountId: string
    readonly actor: string
    readonly atMs: number
  }): Promise<RedeemOutcome> {
    const { digest, accountId, actor, atMs } = request
    return this.#database.transaction(async (sql): Promise<RedeemOutcome> => {
      const code = await CODES.one(sql, `WHERE digest = ?${ROW_LOCK}`, [digest])
      if (code === null) return { status: 'unknown' }
      const reference = `code:${code.id}:${accountId}`
      const [used] = await sql.all(`SELECT id FROM entry WHERE kind = 'topup' AND ref = ?`, [reference])
      if (used !== undefined) return { status: 'used_by_account' }
      const { expiresAtMs } = code
      if (code.disabled || code.uses >= code.usesMax || (expiresAtMs !== null && expiresAtMs <= atMs))
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
