import { constants, existsSync } from 'node:fs'
import { copyFile, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../base/errors.ts'
import { makeFolder } from '../base/folder.ts'
import { readRowJournal } from './sqlite/row-journal.ts'
import { leftRows, newMark } from './sqlite/journaled-rows.ts'
import { SELECT_POSITION, SET_POSITION } from './sqlite/table-writes.ts'
import { runAll } from './sqlite/pending-rows.ts'
import { thrownMessage } from '../base/text.ts'

/**
 * All pages are copied in one step: a step is a snapshot, and with several steps a write to the store would restart the
 * copy.
 */
const PAGES_PER_STEP = 2 ** 31 - 1
const DATABASE = 'tollgate.db'
const FILES = 'files'

export interface BackupReport {
  /** The bytes of the database and the stored files. */
  readonly bytes: number
  readonly files: number
  /** Stored files that were removed between the snapshot and their copying; their rows are not in the copy either. */
  readonly missing: number
}

/** Thrown if the copy could not be made; the message says what the operator can do. */
export class BackupError extends OperatorError {
  override readonly name = 'BackupError'
}

/**
 * Copies the embedded store into a new directory while the server runs. The directory gets its name last, so a
 * directory with the name is complete.
 */
export async function backupStore(dataDir: string, directory: string): Promise<BackupReport> {
  const source = join(dataDir, DATABASE)
  const target = resolve(directory)
  if (!existsSync(source)) throw new BackupError(`There is no store in ${dataDir}. Is TOLLGATE_DATA right?`)
  if (existsSync(target) && (await readdir(target).catch(() => [''])).length > 0)
    throw new BackupError(`${directory} is there already: name a new directory`)
  const part = `${target}.part`
  try {
    await rm(part, { recursive: true, force: true })
    makeFolder(join(part, FILES))
    // The journal is read before the database: rows that are no longer in it are in their tables by then.
    const journal = readRowJournal(dataDir)
    await copyDatabase(source, join(part, DATABASE))
    addJournaled(join(part, DATABASE), journal)
    const files = await copyFiles(join(dataDir, FILES), part)
    await syncAll(part)
    const bytes = files.bytes + (await stat(join(part, DATABASE))).size
    await rename(part, target)
    await sync(dirname(target))
    return { bytes, files: files.copied, missing: files.missing }
  } catch (thrown) {
    await rm(part, { recursive: true, force: true }).catch(() => undefined)
    throw new BackupError(`The backup could not be written: ${thrownMessage(thrown)}`, { cause: thrown })
  }
}

async function copyDatabase(source: string, target: string): Promise<void> {
  const database = new DatabaseSync(source)
  try {
    database.exec('PRAGMA busy_timeout=5000; PRAGMA query_only=1')
    await backup(database, target, { rate: PAGES_PER_STEP })
  } finally {
    database.close()
  }
  const copy = new DatabaseSync(target)
  try {
    // Merges the contents of the original's WAL into the one file.
    copy.exec('PRAGMA journal_mode=DELETE')
    const [result] = copy.prepare('PRAGMA quick_check(1)').all()
    const said = Object.values(result ?? {})[0]
    if (said !== 'ok') throw new Error(`the copy is broken: ${String(said)}`)
  } finally {
    copy.close()
  }
}

/** The copy has no journal, so rows that wait in the original's journal are written to their tables. */
function addJournaled(path: string, journal: Buffer): void {
  const copy = new DatabaseSync(path, { readBigInts: true })
  try {
    const known = copy.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'row_journal'").get()
    if (known === undefined) return
    copy.exec('BEGIN')
    const { rows, position } = leftRows(journal, copy.prepare(SELECT_POSITION).get() ?? {})
    runAll(rows.write((text, values) => void copy.prepare(text).run(...values)))
    // The mark is a new one: the journal of the original does not belong to this copy.
    copy.prepare(SET_POSITION).run(position, BigInt(newMark()))
    copy.exec('COMMIT')
  } finally {
    copy.close()
  }
}

/** Copies the files that the snapshot names. */
async function copyFiles(
  from: string,
  part: string,
): Promise<{ readonly copied: number; readonly missing: number; readonly bytes: number }> {
  const copy = new DatabaseSync(join(part, DATABASE))
  let [copied, missing, bytes] = [0, 0, 0]
  try {
    for (const row of copy.prepare('SELECT content, bytes FROM stored_file').all()) {
      const content = String(row['content'])
      const target = join(part, FILES, content)
      const there = await copyFile(join(from, content), target, constants.COPYFILE_FICLONE).then(() => true, isMissing)
      if (there) {
        copied += 1
        bytes += Number(row['bytes'])
      } else {
        missing += 1
        copy.prepare('DELETE FROM stored_file WHERE content = ?').run(content)
      }
    }
  } finally {
    copy.close()
  }
  return { copied, missing, bytes }
}

function isMissing(thrown: unknown): false {
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return false
  throw thrown
}

async function syncAll(part: string): Promise<void> {
  await sync(join(part, DATABASE))
  for (const name of await readdir(join(part, FILES))) await sync(join(part, FILES, name))
  await sync(join(part, FILES))
  await sync(part)
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
