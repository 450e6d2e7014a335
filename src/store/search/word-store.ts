import { setImmediate } from 'node:timers/promises'
import { askedWords, wordsOf } from '../../base/search-words.ts'
import { StoreUnavailableError } from '../../ledger/ledger-store.ts'
import { EXTERNAL_IDS } from '../accounts/external-id-store.ts'
import { big, text, textOrNull, type Database, type Sql } from '../database.ts'
import type { PageQuery } from '../page.ts'
import { jsonField, listedIds, listedRows, ROW_LOCK } from '../dialect.ts'

/** Records that are found by words. */
type FoundKind = 'account' | 'api_key' | 'console_user'

/** A write of a batch takes some milliseconds. */
const BATCH_ROWS = 200n
/** The most batches for which a search waits. */
const DUE_BATCHES = 20
/** A word that more records have is not where a search begins. */
const RARE_ROWS = 5_000n
/** After every word that begins with the same letters. */
const LAST = '\u{10FFFF}'

const { account: ACCOUNT_NAME, key: KEY_NAME, user: USER_NAME } = EXTERNAL_IDS
/** The texts of a record whose words find it. */
const TEXTS: Readonly<Record<FoundKind, string>> = {
  account: `SELECT id, name, email AS more, ${ACCOUNT_NAME} AS external_id FROM account`,
  api_key: `SELECT id, name, label AS more, ${KEY_NAME} AS external_id FROM api_key k`,
  console_user: `SELECT id, name, email AS more, ${USER_NAME} AS external_id FROM console_user u`,
}

/** The conditions of a query by words, as a `PageQuery` takes them. */
export type FoundBy = Required<Pick<PageQuery<never, never>, 'conditions' | 'values' | 'common'>>

const EVERYTHING: FoundBy = { conditions: [], values: [], common: null }
const NOTHING: FoundBy = { conditions: ['1 = 0'], values: [], common: null }

/**
 * The words of names, e-mails and ids, for searches that read no list from its beginning to its end. Letters are folded
 * in code, since SQLite knows the cases of ASCII only. Triggers note each record whose texts change, whoever changes
 * them, and the next search reads it again. Records that are older than the table follow in batches.
 */
export class WordStore {
  readonly #database: Database
  #running: Promise<void> | null = null
  #stopped = false

  constructor(database: Database) {
    this.#database = database
  }

  /** The conditions that find records by words; `column` has their id. */
  async finding(kind: FoundKind, column: string, query: string | null): Promise<FoundBy> {
    if (query === null || query.trim() === '') return EVERYTHING
    const words = askedWords(query)
    if (words.length === 0) return NOTHING
    await this.#catchUp()
    const counted = []
    for (const word of words) {
      const [row = {}] = await this.#database.all(
        'SELECT COUNT(*) AS found FROM (SELECT 1 FROM search_word WHERE kind = ? AND word >= ? AND word < ? LIMIT ?) AS begun',
        [kind, word, word + LAST, RARE_ROWS],
      )
      counted.push({ values: [kind, word, word + LAST], found: big(row, 'found') })
    }
    const sorted = counted.toSorted((one, other) => Number(one.found - other.found))
    const common = sorted[0]?.found === RARE_ROWS
    // A count, since PostgreSQL turns EXISTS into a join, which collects every record of the word for one page.
    const conditions = sorted.map((_word, index) =>
      index === 0 && !common
        ? `${column} IN (SELECT object_id FROM search_word WHERE kind = ? AND word >= ? AND word < ?)`
        : `(SELECT COUNT(*) FROM search_word WHERE kind = ? AND object_id = ${column} AND word >= ? AND word < ?) > 0`,
    )
    return { conditions, values: sorted.flatMap(({ values }) => values), common: common ? this.#database : null }
  }

  /** What changed before a search is found by it, unless very much has changed or others write it for too long. */
  async #catchUp(): Promise<void> {
    try {
      for (let batch = 0; batch < DUE_BATCHES; batch += 1) if (!(await this.#writeBatch('due'))) return
    } catch (thrown) {
      // If the database is away, the search itself says so.
      if (!(thrown instanceof StoreUnavailableError)) throw thrown
    }
    this.fill()
  }

  /** Writes the words of all records in the background. What a process leaves goes on at the next start or search. */
  fill(): void {
    this.#running ??= this.#fill()
      .catch(() => undefined)
      .finally(() => {
        this.#running = null
      })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #fill(): Promise<void> {
    // Requests come between two batches.
    while (!this.#stopped && (await this.#writeBatch('all'))) await setImmediate()
  }

  /** false = there is nothing to write. */
  async #writeBatch(which: 'due' | 'all'): Promise<boolean> {
    const looks = ['SELECT 1 FROM (SELECT kind FROM search_due LIMIT 1) AS due']
    if (which === 'all') looks.push('SELECT 1 FROM search_fill WHERE place IS NOT NULL')
    if ((await this.#database.all(looks.join(' UNION ALL '))).length === 0) return false
    await this.#database.transaction(
      async (sql) => {
        // One writer at a time, so that the older state of a record is not written last.
        const places = await sql.all(`SELECT kind, place FROM search_fill ORDER BY kind${ROW_LOCK}`)
        const due = await sql.all(
          'DELETE FROM search_due WHERE id <= (SELECT MAX(id) FROM (SELECT id FROM search_due ORDER BY id LIMIT ?) AS oldest) RETURNING kind, object_id',
          [BATCH_ROWS],
        )
        for (const row of places) {
          // The rows are those that the migration has made.
          const kind = text(row, 'kind') as FoundKind
          const ids = due.filter((one) => text(one, 'kind') === kind).map((one) => text(one, 'object_id'))
          if (ids.length > 0) await this.#write(sql, kind, ids)
        }
        if (due.length > 0 || which === 'due') return
        const next = places.find((row) => textOrNull(row, 'place') !== null)
        if (next !== undefined) await this.#writeNext(sql, text(next, 'kind') as FoundKind, text(next, 'place'))
      },
      { purpose: 'note' },
    )
    return true
  }

  async #writeNext(sql: Sql, kind: FoundKind, place: string): Promise<void> {
    const rows = await sql.all(`SELECT id FROM ${kind} WHERE id > ? ORDER BY id LIMIT ?`, [place, BATCH_ROWS])
    const ids = rows.map((row) => text(row, 'id'))
    if (ids.length > 0) await this.#write(sql, kind, ids)
    await sql.run('UPDATE search_fill SET place = ? WHERE kind = ?', [ids.at(-1) ?? null, kind])
  }

  async #write(sql: Sql, kind: FoundKind, ids: readonly string[]): Promise<void> {
    const { dialect } = this.#database
    const [select, condition, column] = [TEXTS[kind], listedIds(dialect), listedIds(dialect, 'object_id')]
    await sql.run(`DELETE FROM search_word WHERE kind = ? AND ${column}`, [kind, JSON.stringify(ids)])
    const rows = await sql.all(`${select} WHERE ${condition}`, [JSON.stringify(ids)])
    const found = rows.flatMap((row) => {
      const id = text(row, 'id')
      const words = wordsOf(id, [text(row, 'name'), textOrNull(row, 'more'), textOrNull(row, 'external_id')])
      return words.map((word) => ({ word, id }))
    })
    const [table, field] = [listedRows(dialect), (name: string) => jsonField(dialect, 'value', name)]
    await sql.run(
      `INSERT INTO search_word (kind, word, object_id) SELECT CAST(? AS TEXT), ${field('word')}, ${field('id')} FROM ${table}`,
      [kind, JSON.stringify(found)],
    )
  }
}
