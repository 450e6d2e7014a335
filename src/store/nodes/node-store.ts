import { big, integer, text, type Database } from '../database.ts'
import { DAY_MS } from '../../base/time.ts'

/** An address that may not try keys for a while. */
export interface SharedBlock {
  /** As `ipKey` writes it. */
  readonly ip: string
  readonly leftMs: number
  /** Consecutive blocks, each within a day of the one before; 0 = an administrator has lifted it. */
  readonly blocks: number
}

/** The state that a node reads with each heartbeat. */
export interface NodeView {
  /** Unix ms of the database's clock, which all nodes share. */
  readonly nowMs: number
  /** Live nodes, this one included. */
  readonly nodes: number
  /**
   * Whether this is the oldest live node. Two nodes may believe so for some seconds, so a leader's work must be
   * harmless when done twice.
   */
  readonly leads: boolean
  /** Blocks that changed since the last heartbeat. */
  readonly blocks: readonly SharedBlock[]
}

/** A node that has not reported for this long is not counted and does not lead. */
const LIVE_MS = 10_000
/** The age at which rows of nodes and blocks are removed. */
const FORGET_MS = DAY_MS
/** Changes as old as this are read again, since a transaction may have committed after a later one was read. */
const OVERLAP_MS = 10_000
const DB_NOW = '(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint'

/** The nodes that share a PostgreSQL database, by its clock. */
export class NodeStore {
  readonly #database: Database
  #readUntilMs = 0

  constructor(database: Database) {
    this.#database = database
  }

  /** Resolves when the database has answered on a connection reserved for charges. */
  async reach(): Promise<void> {
    await this.#database.transaction((sql) => sql.all('SELECT 1 AS one'), { purpose: 'charge' })
  }

  /** Records that the node is alive, and returns the state of the others. */
  async beat(id: string): Promise<NodeView> {
    await this.#database.run(
      `INSERT INTO node (id, started_at, seen_at) VALUES (?, ${DB_NOW}, ${DB_NOW}) ON CONFLICT (id) DO UPDATE SET seen_at = EXCLUDED.seen_at`,
      [id],
    )
    const live = await this.#database.all(
      `SELECT id, ${DB_NOW} AS now FROM node WHERE seen_at > ${DB_NOW} - ? ORDER BY started_at, id`,
      [BigInt(LIVE_MS)],
    )
    const [oldest] = live
    const nowMs = oldest === undefined ? 0 : integer(oldest, 'now')
    const leads = oldest !== undefined && text(oldest, 'id') === id
    if (leads) await this.#forget(nowMs)
    return { nowMs, nodes: Math.max(1, live.length), leads, blocks: await this.#blocks(nowMs) }
  }

  async leave(id: string): Promise<void> {
    await this.#database.run('DELETE FROM node WHERE id = ?', [id])
  }

  async block({ ip, leftMs, blocks }: SharedBlock): Promise<void> {
    await this.#database.run(
      `INSERT INTO ip_block (ip, until, blocks, changed_at) VALUES (?, ${DB_NOW} + ?, ?, ${DB_NOW})
       ON CONFLICT (ip) DO UPDATE SET until = GREATEST(ip_block.until, EXCLUDED.until), blocks = GREATEST(ip_block.blocks, EXCLUDED.blocks), changed_at = EXCLUDED.changed_at`,
      [ip, BigInt(Math.ceil(leftMs)), BigInt(blocks)],
    )
  }

  /** Ends a block on all nodes; earlier blocks of the address no longer count. */
  async unblock(ip: string): Promise<void> {
    await this.#database.run(`UPDATE ip_block SET until = ${DB_NOW}, blocks = 0, changed_at = ${DB_NOW} WHERE ip = ?`, [
      ip,
    ])
  }

  async #blocks(nowMs: number): Promise<readonly SharedBlock[]> {
    const rows = await this.#database.all(
      'SELECT ip, until, blocks FROM ip_block WHERE changed_at > ? AND (until > ? OR blocks = 0)',
      [BigInt(this.#readUntilMs - OVERLAP_MS), BigInt(nowMs)],
    )
    this.#readUntilMs = nowMs
    return rows.map((row) => ({
      ip: text(row, 'ip'),
      leftMs: Math.max(0, Number(big(row, 'until')) - nowMs),
      blocks: integer(row, 'blocks'),
    }))
  }

  async #forget(nowMs: number): Promise<void> {
    await this.#database.run('DELETE FROM node WHERE seen_at < ?', [BigInt(nowMs - FORGET_MS)])
    await this.#database.run('DELETE FROM ip_block WHERE until < ?', [BigInt(nowMs - FORGET_MS)])
  }
}
