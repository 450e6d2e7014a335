import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** Passes for one question: each takes what was committed during the one before it. */
const PASSES_MAX = 4

/** The thread of `WalCheckpoints`: moves committed pages into the database's file until it receives null. */
const database = new DatabaseSync(String(workerData))
database.exec('PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=0')
// Never waits for a writer or reader, and makes none wait.
const move = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')

function moveAll(): void {
  try {
    for (let passes = 0; passes < PASSES_MAX; passes += 1) {
      const { busy, log, checkpointed } = move.get() ?? {}
      // SQLite begins its log anew only when all of it is moved.
      if (busy !== 0 || log === checkpointed) return
    }
  } catch {
    // As on a full disk: nothing is lost, the pages stay in the log.
  }
}

parentPort?.on('message', (question: 'move' | null) => {
  if (question !== null) {
    moveAll()
    return parentPort?.postMessage(null)
  }
  database.close()
  parentPort?.close()
})
