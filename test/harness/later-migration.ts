import { LATER, type Migration } from '../../src/store/migrations.ts'
import { migrate } from '../../src/store/migrations.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'

const STATEMENTS = ['ALTER TABLE api_key ADD COLUMN later BIGINT NOT NULL DEFAULT 7']

/**
 * A made-up migration of the next release, with which this program still works. Run as a program, this file migrates a
 * database.
 */
const NEXT: Migration = {
  version: LATER.length + 2,
  name: 'of the next release',
  least: 1,
  statements: { sqlite: STATEMENTS, postgres: STATEMENTS },
}

/** Migrates as a node of the next release does at its start. */
export async function migrateLater(url: string): Promise<void> {
  const database = new PostgresDatabase(url)
  try {
    await migrate(database, [...LATER, NEXT])
  } finally {
    await database.close()
  }
}

if (import.meta.main) await migrateLater(process.argv[2] ?? '')
