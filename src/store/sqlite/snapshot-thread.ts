import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { SnapshotAnswer, SnapshotQuestion } from './snapshot.ts'
import { thrownMessage } from '../../base/text.ts'

/** The thread of `SqliteSnapshot`: reads in one transaction until it receives null. */
const database = new DatabaseSync(String(workerData), { readBigInts: true, readOnly: true })
// Charges, holds and log rows that refer to one another are spread over the file, so the cache is large.
database.exec('PRAGMA busy_timeout=2000; PRAGMA cache_size=-65536; BEGIN')

function answer({ text, values }: SnapshotQuestion): SnapshotAnswer {
  try {
    return { rows: database.prepare(text).all(...values) }
  } catch (thrown) {
    return { error: thrownMessage(thrown) }
  }
}

parentPort?.on('message', (question: SnapshotQuestion | null) => {
  if (question !== null) return parentPort?.postMessage(answer(question))
  database.close()
  parentPort?.close()
})
parentPort?.postMessage({ rows: [] } satisfies SnapshotAnswer)
