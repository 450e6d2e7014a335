import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Database, Row, Sql, SqlValue } from '../../src/store/database.ts'
import { withoutLocks } from '../../src/store/dialect.ts'
import { migrate } from '../../src/store/migrations.ts'

export class DiskFullError extends Error {
  override readonly name = 'DiskFullError'
}

/**
 * The state that survives every crash: the project's own schema in memory. A universe runs inside one transaction that
 * is rolled back at its end, so that the next one starts with empty tables without making them again.
 */
export class Disk {
  readonly #database = new DatabaseSync(':memory:', { readBigInts: true, enableForeignKeyConstraints: true })
  readonly #statements = new Map<string, StatementSync>()
  #depth = 0

  static async open(): Promise<Disk> {
    const disk = new Disk()
    await migrate(disk.#asDatabase())
    return disk
  }

  begin(): void {
    this.#depth = 0
    this.#database.exec('BEGIN')
  }

  rollBack(): void {
    this.#database.exec('ROLLBACK')
  }

  prepare(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      statement = this.#database.prepare(withoutLocks(text))
      this.#statements.set(text, statement)
    }
    return statement
  }

  get isTransaction(): boolean {
    return this.#depth > 0
  }

  /** All or nothing, at one instant of virtual time. */
  atomically<T>(work: () => T): T {
    if (this.#depth > 0) return work()
    this.enter()
    try {
      const result = work()
      this.leave(true)
      return result
    } catch (thrown) {
      this.leave(false)
      throw thrown
    }
  }

  enter(): void {
    this.#depth += 1
    this.prepare('SAVEPOINT universe').run()
  }

  leave(keep: boolean): void {
    if (!keep) this.prepare('ROLLBACK TO universe').run()
    this.prepare('RELEASE universe').run()
    this.#depth -= 1
  }

  all(text: string, values: readonly SqlValue[] = []): readonly Row[] {
    return this.prepare(text).all(...values)
  }

  run(text: string, values: readonly SqlValue[] = []): number {
    return Number(this.prepare(text).run(...values).changes)
  }

  #asDatabase(): Database {
    const sql: Sql = {
      all: async (text, values) => this.all(text, values),
      run: async (text, values) => this.run(text, values),
    }
    return {
      ...sql,
      dialect: 'sqlite',
      coldWrites: null,
      transaction: (work) => work(sql),
      close: async () => undefined,
    }
  }
}
