import { text, type Database } from '../database.ts'
import { CREATED_AT, readPage, type Page, type PageRange } from '../page.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'

const NOTES = new Rows('account_note', {
  id: column.text('id'),
  accountId: column.text('account_id'),
  /** The actor of the audit log who wrote it. */
  author: column.text('author'),
  text: column.text('text'),
  createdAtMs: column.integer('created_at'),
})
export type AccountNoteRecord = RecordOf<typeof NOTES>

/** What operators write down about accounts. */
export class AccountNoteStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async add(note: AccountNoteRecord): Promise<void> {
    await insertRow(this.#database, 'account_note', NOTES.cells(note))
  }

  /** Newest first. */
  list(accountId: string, range: PageRange): Promise<Page<AccountNoteRecord>> {
    return readPage(
      this.#database,
      {
        rows: NOTES,
        conditions: ['account_id = ?'],
        values: [accountId],
        order: '-created_at',
        columns: { created_at: CREATED_AT },
      },
      range,
    )
  }

  /** Returns who wrote it; null = the account has no such note, or none of `author` (null = of anybody). */
  async remove({
    id,
    accountId,
    author,
  }: Pick<AccountNoteRecord, 'id' | 'accountId'> & { readonly author: string | null }): Promise<string | null> {
    const removed =
      'DELETE FROM account_note WHERE id = ? AND account_id = ? AND author = COALESCE(?, author) RETURNING author'
    const [row] = await this.#database.transaction((sql) => sql.all(removed, [id, accountId, author]))
    return row === undefined ? null : text(row, 'author')
  }
}
