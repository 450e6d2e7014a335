import assert from 'node:assert/strict'
import pg from 'pg'

/** Locks that wait for each other: of rows (pgrowlocks), of tables and of our own (pg_locks). */
const CONFLICTS: Readonly<Record<string, readonly string[]>> = {
  'key share': ['update'],
  share: ['update', 'no key update'],
  'no key update': ['update', 'no key update', 'share'],
  update: ['update', 'no key update', 'share', 'key share'],
  RowExclusiveLock: ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock'],
  RowShareLock: ['ExclusiveLock'],
  ShareLock: ['RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock'],
  ShareRowExclusiveLock: ['RowExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock'],
  ExclusiveLock: ['RowShareLock', 'RowExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock'],
}
/** Databases that are looked at at once. */
const OBSERVERS_MAX = 20
/** Times that one course of a transaction is looked at. */
const LOOKS = 4
const DDL = /^\s*(?:CREATE|ALTER|DROP|TRUNCATE)\b/i
const WRITES = /^\s*(?:INSERT|UPDATE|DELETE|WITH)\b/i
/** On a busy machine the look at each statement makes others wait longer than the store lets them. */
const PATIENT = "SET LOCAL lock_timeout = '60s'"

/** Names are locked in their order, see sign-in-store.ts. */
const HELD = `SELECT CASE locktype WHEN 'advisory' THEN CASE WHEN classid::int8 << 32 | objid::int8 IN (7465617204, 7465617205) THEN 'advisory ' || objid ELSE 'advisory of names' END ELSE 'table ' || relation::regclass END AS what, mode, CASE WHEN locktype = 'relation' AND (SELECT relkind FROM pg_class WHERE oid = relation) = 'r' THEN relation::regclass::text END AS "table"
  FROM pg_locks WHERE pid = $1 AND granted AND locktype IN ('relation', 'advisory') AND mode <> 'AccessShareLock'
    AND (locktype = 'advisory' OR (SELECT relkind FROM pg_class WHERE oid = relation) IN ('r', 'p')) ORDER BY 1`

type Query = (this: pg.Client, ...given: readonly unknown[]) => unknown
/** `row account: no key update` */
type Lock = `${string}: ${string}`

/** A lock that a transaction waited for while it held another. */
interface Pair {
  readonly from: Lock
  readonly to: Lock
  /** What it held then of tables, each of which is locked as a whole. */
  readonly tables: readonly Lock[]
  readonly texts: readonly string[]
}

interface Course {
  /** null = not in a transaction. */
  texts: string[] | null
  held: Set<Lock>
  skipped: boolean
  /** A statement of it was not looked at again. */
  isGuessed: boolean
  last: Promise<unknown>
}

/**
 * Watches the locks that each transaction of this process takes, statement by statement, and in which order. Statements
 * that are sent together run one after another, and one without a transaction gets one.
 */
export class LockWatch {
  readonly #original = pg.Client.prototype.query as Query
  readonly #courses = new WeakMap<pg.Client, Course>()
  readonly #observers = new Map<string, Promise<pg.Client>>()
  readonly #looks = new Map<string, readonly (readonly Lock[])[]>()
  /** Statements that show each pair of locks. */
  readonly #pairs = new Map<string, Pair>()
  readonly written = new Set<string>()

  start(): void {
    const watched = (client: pg.Client, ...given: readonly unknown[]): unknown => {
      const text = typeof given[0] === 'string' ? given[0] : (given[0] as { text?: unknown } | undefined)?.text
      const last = given.at(-1)
      // The pool's own calls have a callback.
      if (typeof text !== 'string' || typeof last === 'function') return Reflect.apply(this.#original, client, given)
      return this.#watched(client, text, given)
    }
    pg.Client.prototype.query = function query(this: pg.Client, ...given: readonly unknown[]): unknown {
      return watched(this, ...given)
    } as typeof pg.Client.prototype.query
  }

  async stop(): Promise<void> {
    pg.Client.prototype.query = this.#original as typeof pg.Client.prototype.query
    for (const observer of this.#observers.values()) await (await observer).end().catch(() => undefined)
  }

  /** Fails when locks of two transactions, or of more, could wait for each other in a ring. */
  assertOneOrder(): void {
    const pairs = [...this.#pairs.values()]
    const next = pairs.map((one) => pairs.flatMap((other, index) => (canWait(one, other) ? [index] : [])))
    const ring = ringOf(next)
    const shown = ring.flatMap((index) => {
      const pair = pairs[index]
      return pair === undefined ? [] : [`${pair.from} → ${pair.to}\n    ${pair.texts.join('\n    ')}`]
    })
    assert.equal(ring.length, 0, `these transactions can wait for each other:\n${shown.join('\n')}`)
  }

  #watched(client: pg.Client, text: string, given: readonly unknown[]): Promise<unknown> {
    const course = this.#courses.get(client) ?? {
      texts: null,
      held: new Set(),
      skipped: false,
      isGuessed: false,
      last: Promise.resolve(),
    }
    this.#courses.set(client, course)
    const done = course.last.then(async () => {
      const ask = (...query: readonly unknown[]) => Reflect.apply(this.#original, client, query) as Promise<unknown>
      if (text.startsWith('BEGIN'))
        Object.assign(course, { texts: [], held: new Set(), skipped: false, isGuessed: false })
      if (/^(?:COMMIT|ROLLBACK)/.test(text)) course.texts = null
      const alone = course.texts === null && WRITES.test(text)
      if (course.texts === null && !alone) return ask(...given)
      if (alone) {
        Object.assign(course, { texts: [], held: new Set(), skipped: false, isGuessed: false })
        await ask('BEGIN')
        await ask(PATIENT)
      }
      try {
        const answer = await ask(...given)
        if (text.startsWith('BEGIN')) await ask(PATIENT)
        await this.#look(client, course, text)
        if (alone) await ask('COMMIT')
        return answer
      } catch (thrown) {
        if (alone) await ask('ROLLBACK').catch(() => undefined)
        throw thrown
      } finally {
        if (alone) course.texts = null
      }
    })
    course.last = done.catch(() => undefined)
    return done
  }

  async #look(client: pg.Client, course: Course, text: string): Promise<void> {
    if (course.texts === null) return
    course.texts.push(text.replaceAll(/\s+/g, ' ').slice(0, 160))
    course.skipped ||= DDL.test(text)
    const name = course.texts.join('\n')
    if (course.skipped) return
    const seen = this.#looks.get(name) ?? []
    const isKnown = seen.length >= LOOKS
    course.isGuessed ||= isKnown
    const now = isKnown ? seen.flat() : await this.#locks(client)
    if (!isKnown) this.#looks.set(name, [...seen, now])
    const before = [...course.held]
    const added = now.filter((lock) => !course.held.has(lock) && !before.some((held) => covers(held, lock)))
    const tables = before.filter((lock) => lock.startsWith('table '))
    // Of one statement nothing tells the order: either may come first, but a table is locked before its rows. An earlier statement may have taken more locks
    // this time than when it was looked at.
    for (const to of added)
      for (const from of course.isGuessed ? before : [...before, ...added])
        if (whatOf(from) !== whatOf(to) && !(added.includes(from) && to.startsWith('table ')))
          this.#pairs.set([from, to, ...tables].join(' '), { from, to, tables, texts: [...course.texts] })
    for (const lock of added) course.held.add(lock)
  }

  async #locks(client: pg.Client): Promise<readonly Lock[]> {
    const observer = await this.#observer(client)
    // The driver's types lack it.
    const pid = (client as unknown as { readonly processID: number }).processID
    const ask = async (text: string, values: readonly unknown[]): Promise<readonly Record<string, string>[]> =>
      ((await Reflect.apply(this.#original, observer, [text, values])) as pg.QueryResult<Record<string, string>>).rows
    const held = await ask(HELD, [pid])
    const locks: Lock[] = held.map(({ what = '', mode = '' }): Lock => `${what}: ${mode}`)
    const tables = new Set(held.flatMap(({ table }) => (table === null || table === undefined ? [] : [table])))
    for (const table of tables) {
      if (held.some((row) => row['table'] === table && row['mode'] === 'RowExclusiveLock')) this.written.add(table)
      if (held.some((row) => row['table'] === table && row['mode'] === 'AccessExclusiveLock')) continue
      const rows = await ask('SELECT DISTINCT unnest(modes) AS mode FROM pgrowlocks($1) WHERE $2 = ANY(pids)', [
        table,
        pid,
      ])
      for (const { mode = '' } of rows) locks.push(`row ${table}: ${mode.toLowerCase().replace(/^for /, '')}`)
    }
    return locks
  }

  #observer(client: pg.Client): Promise<pg.Client> {
    const { host, port, user, database = '' } = client
    const known = this.#observers.get(database)
    if (known !== undefined) return known
    const opened = (async () => {
      const observer = new pg.Client({ host, port, user, database })
      observer.on('error', () => undefined)
      await observer.connect()
      await Reflect.apply(this.#original, observer, ['CREATE EXTENSION IF NOT EXISTS pgrowlocks'])
      return observer
    })()
    this.#observers.set(database, opened)
    // The tests use their databases one after another, and the server has room for a hundred connections.
    const [[name, oldest] = ['', null]] = this.#observers
    if (oldest !== null && this.#observers.size > OBSERVERS_MAX) {
      this.#observers.delete(name)
      void oldest.then((observer) => observer.end()).catch(() => undefined)
    }
    return opened
  }
}

function whatOf(lock: Lock): string {
  return lock.slice(0, lock.indexOf(': '))
}

/** A table is locked as a whole, so its weaker lock waits for nobody. */
function covers(held: Lock, lock: Lock): boolean {
  return (
    held.startsWith('table ') &&
    whatOf(held) === whatOf(lock) &&
    (CONFLICTS[modeOf(lock)] ?? []).every((mode) => CONFLICTS[modeOf(held)]?.includes(mode))
  )
}

function modeOf(lock: Lock): string {
  return lock.slice(lock.indexOf(': ') + 2)
}

/** Two transactions that hold locks of one table which exclude each other are never at work together. */
function canWait({ to, tables }: Pair, other: Pair): boolean {
  return waits(to, other.from) && !tables.some((held) => other.tables.some((lock) => waits(lock, held)))
}

function waits(wanted: Lock, held: Lock): boolean {
  return whatOf(wanted) === whatOf(held) && (CONFLICTS[modeOf(wanted)] ?? []).includes(modeOf(held))
}

/** The shortest ring of a graph; none = empty. */
function ringOf(next: readonly (readonly number[])[]): readonly number[] {
  let shortest: readonly number[] = []
  for (const start of next.keys()) {
    const from = new Map<number, number>()
    const queue = [start]
    for (const at of queue)
      for (const to of next[at] ?? []) {
        if (from.has(to)) continue
        from.set(to, at)
        queue.push(to)
      }
    if (!from.has(start)) continue
    const ring = [start]
    for (let at = from.get(start); at !== undefined && at !== start; at = from.get(at)) ring.unshift(at)
    if (shortest.length === 0 || ring.length < shortest.length) shortest = ring
  }
  return shortest
}
