import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const SQLITE_BUSY = 5

/** A process's lock on a directory: a lock on a file, which the system releases even after kill -9. */
export interface DirectoryLock {
  close(): void
}

/** null when another process has it. */
export function takeLock(directory: string): DirectoryLock | null {
  const lock = new DatabaseSync(join(directory, 'lock.db'))
  try {
    lock.exec('PRAGMA locking_mode=EXCLUSIVE; PRAGMA busy_timeout=0; BEGIN EXCLUSIVE')
    return lock
  } catch (thrown) {
    lock.close()
    if (thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY) return null
    throw thrown
  }
}
