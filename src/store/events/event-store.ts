import type { EventAction } from '../../ledger/event-action.ts'
import { noticeOfEvent, RATES_HELD } from '../../ledger/notice.ts'
import { CLEAR_SUBJECT, INSERT_NOTICE, noticeValues } from '../notices/notice-store.ts'
import { likePrefix } from '../accounts/account-store.ts'
import { sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import { text, type Database } from '../database.ts'
import { lockTable } from '../dialect.ts'
import { column, insertRow, Rows, type RecordOf } from '../rows.ts'
import { chainHash } from '../../ledger/hash-chain.ts'
import { conditionsOf, readPage, type Order, type Page, type PageRange, type TimeRange } from '../page.ts'

const FIELDS = {
  id: column.integer('id'),
  atMs: column.integer('at'),
  actor: column.text('actor'),
  ip: column.textOrNull('ip'),
  action: column.text('action'),
  object: column.text('object'),
  before: column.textOrNull('before'),
  after: column.textOrNull('after'),
}
const EVENTS = new Rows('event', FIELDS)
/** Events with the hash that links each to the one before. */
export const CHAINED_EVENTS = new Rows('event', { ...FIELDS, hash: column.text('hash') })
export type EventRecord = RecordOf<typeof EVENTS>

/** An event that is read may be of an older release; one that is written is of this release. */
export type NewEvent = Omit<EventRecord, 'id' | 'action'> & { readonly action: EventAction }

/** `action` matches as a prefix. */
export interface EventFilter extends TimeRange {
  readonly actor?: string
  readonly action?: string
  readonly object?: string
}

export function eventHash(previous: string, event: Omit<EventRecord, 'id'>): string {
  return chainHash(previous, [
    String(event.atMs),
    event.actor,
    event.ip,
    event.action,
    event.object,
    event.before,
    event.after,
  ])
}

/** The schema creates this row. */
export const EVENT_HEAD = `SELECT ${sealedSelect('event_head')} FROM event_head WHERE id = 1`

/** The append-only audit log; each row is chained to the previous one by its hash. */
export class EventStore {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /**
   * With `after`, appends only if no event of the same object and action prefix has a higher id. false = one has, and
   * nothing is written.
   */
  append(event: NewEvent, after?: { readonly action: string; readonly id: number }): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      await lockTable(this.#database, sql, 'event')
      if (after !== undefined) {
        const newer = String.raw`SELECT id FROM event WHERE object = ? AND action LIKE ? ESCAPE '\' AND id > ? LIMIT 1`
        const found = await sql.all(newer, [event.object, likePrefix(after.action), BigInt(after.id)])
        if (found.length > 0) return false
      }
      // The signed head is used instead of the newest row: if that row was removed, the next one must not continue the
      // chain.
      const [head = {}] = await sql.all(EVENT_HEAD)
      const [newest] = this.#seal.holds('event_head', head)
        ? [head]
        : await sql.all('SELECT hash FROM event ORDER BY id DESC LIMIT 1')
      const hash = eventHash(newest === undefined ? '' : text(newest, 'hash'), event)
      await sql.run('UPDATE event_head SET hash = ?, seal = ? WHERE id = 1', [
        hash,
        this.#seal.again('event_head', head, { hash }),
      ])
      await insertRow(sql, 'event', { ...EVENTS.cells(event), hash })
      const notice = noticeOfEvent(event)
      if (notice !== null) await sql.run(INSERT_NOTICE, noticeValues(notice))
      if (event.action === 'rates.mended') await sql.run(CLEAR_SUBJECT, [RATES_HELD])
      return true
    })
  }

  /**
   * The newest first, or the oldest. The times of events do not always grow with their ids: a clock that was wrong for
   * a minute must not hide what came after it.
   */
  list(range: PageRange, filter: EventFilter = {}, order: Order<'at'> = '-at'): Promise<Page<EventRecord>> {
    const id = { sql: 'id', is: 'number' } as const
    const { actor, action, object, fromMs, toMs } = filter
    const found = conditionsOf([
      ['at >= ?', fromMs === undefined ? undefined : BigInt(fromMs)],
      ['at < ?', toMs === undefined ? undefined : BigInt(toMs)],
      ['actor = ?', actor],
      [String.raw`action LIKE ? ESCAPE '\'`, action === undefined ? undefined : likePrefix(action)],
      ['object = ?', object],
    ])
    return readPage(this.#database, { rows: EVENTS, ...found, order, columns: { at: id }, id }, range)
  }

  /** The newest event with one of these actions. */
  async newest(actions: readonly string[]): Promise<EventRecord | null> {
    let newest: EventRecord | null = null
    for (const action of actions) {
      const found = await EVENTS.one(this.#database, 'WHERE action = ? ORDER BY id DESC LIMIT 1', [action])
      if (found !== null && (newest === null || found.id > newest.id)) newest = found
    }
    return newest
  }
}
