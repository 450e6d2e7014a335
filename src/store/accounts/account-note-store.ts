import type { Database } from '../database.ts'
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

  /** false = the author has no such note on the account. */
  async remove({ id, accountId, author }: Pick<AccountNoteRecord, 'id' | 'accountId' | 'author'>): Promise<boolean> {
    const removed = 'DELETE FROM account_note WHERE id = ? AND account_id = ? AND author = ?'
    return (await this.#database.run(removed, [id, accountId, author])) === 1
  }
}
