import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** Passes for one message: each moves what was committed during the one before. */
const PASSES_MAX = 4

/** The thread of `WalCheckpoints`: moves committed pages into the database's file until it receives null. */
const database = new DatabaseSync(String(workerData))
database.exec('PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=0')
// Neither waits for a writer or reader, nor makes one wait.
const move = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')

function moveAll(): void {
  try {
    for (let passes = 0; passes < PASSES_MAX; passes += 1) {
      const { busy, log, checkpointed } = move.get() ?? {}
      // SQLite starts its log anew only when all of it has been moved.
      if (busy !== 0 || log === checkpointed) return
    }
  } catch {
    // The disk is full, for example: nothing is lost, since the pages stay in the log.
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
