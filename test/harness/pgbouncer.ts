import { spawn } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, missing, stopped } from './program.ts'
import { asOwner, ownedFolder, ready, serverOwner } from './postgres.ts'

const BINARY = '/usr/sbin/pgbouncer'
/** Fewer connections than the nodes would open in all. */
const POOL = 8

/** A PgBouncer in transaction mode in front of a PostgreSQL. */
export interface PgBouncer {
  /** The URL for the setting DATABASE_URL; `ignore` = through a pooler with `ignore_startup_parameters`. */
  url(database: string, ignore?: boolean): string
  stop(): Promise<void>
}

/**
 * Starts a PgBouncer for the server at `url`. Returns null, with a message, if none is installed; under CI that is a
 * failure.
 */
export async function startPgBouncer(url: string): Promise<PgBouncer | null> {
  if (!existsSync(BINARY)) return missing('no PgBouncer', 'pgbouncer')
  const { hostname, port, username } = new URL(url)
  const owner = await serverOwner()
  const directory = ownedFolder(owner)
  const started = await Promise.all(
    ['', 'ignore_startup_parameters = options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout'].map(
      async (more) => {
        const listens = await freePort()
        const file = join(directory, `${listens}.ini`)
        writeFileSync(
          file,
          [
            '[databases]',
            `* = host=${hostname} port=${port} user=${username}`,
            '[pgbouncer]',
            'listen_addr = 127.0.0.1',
            `listen_port = ${listens}`,
            'unix_socket_dir =',
            'auth_type = any',
            'pool_mode = transaction',
            `default_pool_size = ${POOL}`,
            more,
          ].join('\n'),
        )
        const child = spawn(...asOwner(owner, BINARY, [file]), { cwd: directory, stdio: 'ignore' })
        await ready(`postgres://${username}@127.0.0.1:${listens}/postgres`, child)
        return { child, listens }
      },
    ),
  )
  return {
    url: (database, ignore = false) =>
      `postgres://${username}@127.0.0.1:${started[ignore ? 1 : 0]?.listens ?? 0}/${database}`,
    stop: async () => {
      await Promise.all(started.map(({ child }) => stopped(child, 'SIGKILL')))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
