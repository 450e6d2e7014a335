import { OperatorError } from '../errors.ts'
import { text, type Database } from './database.ts'

/** The database may lose what it has acknowledged, so no money may be in it. */
export class UnsafeCommitError extends OperatorError {
  override readonly name = 'UnsafeCommitError'
}

/**
 * Refuses a PostgreSQL that acknowledges commits before they are on the disk. What counts is what holds for our own
 * connections: it may be set for the server, the database, the role or in the address.
 */
export async function refuseUnsafeCommits(database: Pick<Database, 'all'>): Promise<void> {
  const [row] = await database.all(`SELECT setting, source FROM pg_settings WHERE name = 'synchronous_commit'`)
  if (row === undefined || text(row, 'setting') !== 'off') return
  const setBy = text(row, 'source')
  throw new UnsafeCommitError(
    `PostgreSQL has synchronous_commit=off for this connection (set by: ${setBy}), so a crash of the database may lose charges that customers were told of. Set it to on, for the role if not for the server, and start again.`,
  )
}
