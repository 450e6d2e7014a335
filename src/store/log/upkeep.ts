import { sealedSelect, type BookSeal } from '../audit/book-seal.ts'
import { big, integer, text, type Database, type Sql } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import type { Clock } from '../../base/clock.ts'
import type { EntryStore } from '../ledger/entry-store.ts'
import { addSums, sumColumns } from '../ledger/sums.ts'
import { DAY_MS } from '../../base/time.ts'
import { thrownMessage } from '../../base/text.ts'

/** Rows of one step, which locks their accounts for a few milliseconds. */
const STEP_ROWS = 500n
/** Rows of one partition of the usage log on PostgreSQL: about 3 GB with its indexes, dropped whole when it expires. */
const PART_ROWS = 5_000_000n
/** Empty partitions that are made in advance. */
const PARTS_AHEAD = 2n
/** An arbitrary advisory lock number that no other program uses in this database. One node at a time does this work. */
const UPKEEP_LOCK = 7_465_617_205n

/** Keeps the usage log bounded and, on PostgreSQL, provides partitions. Two nodes may do so at once. */
export class LogUpkeep {
  readonly #database: Database
  readonly #seal: BookSeal

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#seal = seal
  }

  /**
   * Removes a bounded number of rows that ended before `beforeMs`, oldest first, and returns their number, 0 when none
   * is left. The newest row stays.
   */
  async removeSome(beforeMs: number): Promise<number> {
    const part = await this.#removePart(beforeMs)
    return part > 0 ? part : this.#removeRows(beforeMs)
  }

  /** Removes some names of end users whose rows are gone, oldest first, and returns their number. */
  removeEndUsers(): Promise<number> {
    return this.#database.run(
      `DELETE FROM generation_end_user WHERE ended_at < (SELECT before_at FROM log_kept)
        AND ended_at <= (SELECT MAX(ended_at) FROM (SELECT ended_at FROM generation_end_user ORDER BY ended_at LIMIT ?) AS oldest)`,
      [STEP_ROWS],
    )
  }

  /** Makes the partitions that new rows need. */
  async makeRoom(): Promise<void> {
    if (this.#database.dialect === 'sqlite') return
    await this.#database.transaction(
      async (sql) => {
        await begin(sql)
        const [newest] = await sql.all('SELECT last_value FROM generation_number')
        const needed = (big(newest ?? {}, 'last_value') / PART_ROWS + PARTS_AHEAD) * PART_ROWS
        const bounds = (await parts(sql)).map(({ below }) => below)
        let bound = bounds.reduce((most, below) => (below > most ? below : most), PART_ROWS)
        for (; bound <= needed; bound += PART_ROWS)
          for (const statement of partStatements(bound)) await sql.run(statement)
      },
      { purpose: 'migration' },
    )
  }

  /** Rows are removed in the order of their numbers, which grow with time, up to the first that must stay. */
  async #removeRows(beforeMs: number): Promise<number> {
    const rows = await this.#database.all(
      'SELECT id, account_id, ended_at FROM generation WHERE id < (SELECT MAX(id) FROM generation) ORDER BY id LIMIT ?',
      [STEP_ROWS],
    )
    const kept = rows.findIndex((row) => integer(row, 'ended_at') >= beforeMs)
    const old = kept === -1 ? rows : rows.slice(0, kept)
    const last = old.at(-1)
    if (last === undefined) return 0
    const accounts = [...new Set(old.map((row) => text(row, 'account_id')))].toSorted()
    return this.#database.transaction(async (sql) => {
      // The removal of a partition locks the sums of days before the accounts, so the two must not run at the same
      // time.
      if (this.#database.dialect === 'postgres') await begin(sql)
      for (const account of accounts) await sql.all(`SELECT id FROM account WHERE id = ?${ROW_LOCK}`, [account])
      // They are counted while they are removed, since another node may have removed some meanwhile.
      await sql.run(addRemoved('generation', 'WHERE g.id <= ?'), [big(last, 'id')])
      const gone = await sql.all('DELETE FROM generation WHERE id <= ? RETURNING account_id', [big(last, 'id')])
      const counts = new Map<string, bigint>()
      for (const row of gone) counts.set(text(row, 'account_id'), (counts.get(text(row, 'account_id')) ?? 0n) + 1n)
      await this.#drop(sql, counts, beforeMs)
      return old.length
    })
  }

  /** Drops a partition with only old rows, after one read for the sums. */
  async #removePart(beforeMs: number): Promise<number> {
    if (this.#database.dialect === 'sqlite') return 0
    return this.#database.transaction(
      async (sql) => {
        await begin(sql)
        const [newest] = await sql.all('SELECT MAX(id) AS id FROM generation')
        const newestId = newest?.['id']
        const [oldest] = (await parts(sql)).toSorted((one, other) => (one.below < other.below ? -1 : 1))
        if (oldest === undefined || typeof newestId !== 'bigint' || oldest.below > newestId) return 0
        const { table } = oldest
        // The newest row first: it shows whether all rows are old without a read of the partition.
        const [young] = await sql.all(
          `SELECT 1 AS young FROM (SELECT ended_at FROM ${table} ORDER BY id DESC LIMIT 1) AS newest WHERE ended_at >= ?`,
          [BigInt(beforeMs)],
        )
        if (young !== undefined) return 0
        const [late] = await sql.all(`SELECT 1 AS late FROM ${table} WHERE ended_at >= ? LIMIT 1`, [BigInt(beforeMs)])
        if (late !== undefined) return 0
        const counts = new Map(
          (
            await sql.all(`SELECT account_id, COUNT(*) AS rows FROM ${table} GROUP BY account_id ORDER BY account_id`)
          ).map((row) => [text(row, 'account_id'), big(row, 'rows')]),
        )
        await sql.run(addRemoved(table, ''))
        await this.#drop(sql, counts, beforeMs)
        await sql.run(`DROP TABLE ${table}`)
        return Math.max(
          1,
          [...counts.values()].reduce((sum, count) => sum + Number(count), 0),
        )
      },
      { purpose: 'migration' },
    )
  }

  /** Accounts in the common order; each account's seal covers the number of its removed rows. */
  async #drop(sql: Sql, counts: ReadonlyMap<string, bigint>, beforeMs: number): Promise<void> {
    for (const accountId of [...counts.keys()].toSorted()) {
      const [account] = await sql.all(`SELECT ${sealedSelect('account')} FROM account WHERE id = ?${ROW_LOCK}`, [
        accountId,
      ])
      if (account === undefined) continue
      const dropped = big(account, 'log_dropped') + (counts.get(accountId) ?? 0n)
      await sql.run('UPDATE account SET log_dropped = ?, seal = ? WHERE id = ?', [
        dropped,
        this.#seal.again('account', account, { log_dropped: dropped }),
        accountId,
      ])
    }
    const [kept] = await sql.all(`SELECT ${sealedSelect('log_kept')} FROM log_kept WHERE id = 1${ROW_LOCK}`)
    if (kept === undefined || big(kept, 'before_at') >= BigInt(beforeMs)) return
    await sql.run('UPDATE log_kept SET before_at = ?, seal = ? WHERE id = 1', [
      BigInt(beforeMs),
      this.#seal.again('log_kept', kept, { before_at: BigInt(beforeMs) }),
    ])
  }
}

/**
 * Removed rows stay in the books as sums by day: without them a day's total could not be distinguished from a falsified
 * one.
 */
function addRemoved(table: string, where: string): string {
  const sums = sumColumns('removed_day')
    .filter(({ type }) => type === 'int8')
    .map(({ column }) => (column === 'requests' ? 'COUNT(*)' : `SUM(g.${column === 'revenue' ? 'cost' : column})`))
  return addSums(
    'removed_day',
    `SELECT g.account_id, h.day, g.key_id, g.model, COALESCE(g.provider, ''), ${sums.join(', ')} FROM ${table} g JOIN hold h ON h.id = g.generation_id ${where}
    GROUP BY g.account_id, h.day, g.key_id, g.model, COALESCE(g.provider, '')`,
  )
}

/** The statements for one more partition, from that number on. Only our own integers are put into the text. */
function partStatements(first: bigint): readonly string[] {
  const table = `generation_${first}`
  const beyond = first + PART_ROWS
  return [
    `CREATE TABLE ${table} PARTITION OF generation FOR VALUES FROM (${first}) TO (${beyond})`,
    // A unique index over all partitions would have to contain the row number; an index of one partition need not.
    `CREATE UNIQUE INDEX ${table}_generation ON ${table} (generation_id)`,
    `CREATE UNIQUE INDEX ${table}_seq ON ${table} (account_id, seq)`,
  ]
}

/**
 * One node at a time. Adding and removing partitions locks the whole log, for which a migration waits only briefly
 * before it tries again.
 */
async function begin(sql: Sql): Promise<void> {
  await sql.run('SELECT pg_advisory_xact_lock(?)', [UPKEEP_LOCK])
}

interface LogPartition {
  readonly table: string
  /** The first number after the partition. */
  readonly below: bigint
}

async function parts(sql: Sql): Promise<readonly LogPartition[]> {
  const rows =
    await sql.all(`SELECT c.relname AS name, (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \\(''*(\\d+)''*\\)'))[1]::int8 AS below
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'generation'::regclass`)
  return rows.flatMap((row) =>
    typeof row['below'] === 'bigint' ? [{ table: text(row, 'name'), below: big(row, 'below') }] : [],
  )
}

const EVERY_MS = 60 * 60_000
/** After a failure, such as a partition that an audit is reading. */
const AGAIN_MS = 60_000
/** The pause between two steps, so that charges are not delayed. */
const STEP_PAUSE_MS = 20

export interface LogKeeperPorts {
  readonly upkeep: LogUpkeep
  readonly entries: Pick<EntryStore, 'fillMarks'>
  readonly clock: Clock
  /** null = rows are never removed. */
  readonly retentionDays: number | null
  readonly log: (message: string) => void
}

/**
 * Removes expired rows of the usage log, makes room for new ones, and marks long ledgers: at the start and every hour.
 */
export class LogKeeper {
  readonly #ports: LogKeeperPorts
  #cancel: () => void = () => undefined
  #endPause: () => void = () => undefined
  #running: Promise<void> | null = null
  #stopped = false

  constructor(ports: LogKeeperPorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#stopped) return
    this.#running ??= this.#keep().finally(() => {
      this.#running = null
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    this.#endPause()
    await this.#running
  }

  async #keep(): Promise<void> {
    const { upkeep, entries, clock, retentionDays, log } = this.#ports
    let nextMs = EVERY_MS
    try {
      await upkeep.makeRoom()
      for (let after = await entries.fillMarks(''); after !== null && !this.#stopped;) {
        await this.#pause()
        after = await entries.fillMarks(after)
      }
      if (retentionDays !== null) await this.#remove(clock.now() - retentionDays * DAY_MS)
    } catch (thrown) {
      nextMs = AGAIN_MS
      log(`Usage log: its upkeep is tried again in a minute: ${thrownMessage(thrown)}`)
    }
    if (!this.#stopped) this.#cancel = clock.after(nextMs, () => this.start())
  }

  async #remove(beforeMs: number): Promise<void> {
    const { upkeep } = this.#ports
    for (const remove of [() => upkeep.removeSome(beforeMs), () => upkeep.removeEndUsers()])
      for (let removed = 1; removed > 0 && !this.#stopped;) {
        removed = await remove()
        await this.#pause()
      }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#ports.clock.after(STEP_PAUSE_MS, resolve)
      this.#endPause = () => {
        cancel()
        resolve()
      }
    })
  }
}
