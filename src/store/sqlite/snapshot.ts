import { Worker } from 'node:worker_threads'
import type { Row, SqlValue } from '../database.ts'

/** A query for the thread, which runs one at a time. */
export interface SnapshotQuestion {
  readonly text: string
  readonly values: readonly SqlValue[]
}

export type SnapshotAnswer = { readonly rows: readonly Row[] } | { readonly error: string }

/** A deferred transaction sees the state of its first read until its end. */
const FIRST_READ = 'SELECT COUNT(*) FROM sqlite_schema'

/**
 * One state of the file, read in another thread over another connection: a statement over millions of rows delays
 * neither money nor streams. Opening it takes tens of milliseconds, so it is for long reads.
 */
export class SqliteSnapshot {
  readonly #worker: Worker
  readonly #over: Promise<unknown>
  readonly #opened: Promise<unknown>
  /** The reason why no more queries are possible. */
  #ended: Error | null = null
  #waiting: { readonly resolve: (rows: readonly Row[]) => void; readonly reject: (error: Error) => void } | null = null

  constructor(path: string) {
    this.#worker = new Worker(new URL('./snapshot-thread.ts', import.meta.url), { workerData: path })
    this.#over = new Promise((resolve) => this.#worker.once('exit', resolve))
    // The thread sends one message before the first query.
    this.#opened = new Promise((resolve, reject) => (this.#waiting = { resolve, reject }))
    this.#worker.on('message', (answer: SnapshotAnswer) => {
      const waiting = this.#waiting
      this.#waiting = null
      if ('rows' in answer) waiting?.resolve(answer.rows)
      else waiting?.reject(new Error(answer.error))
    })
    this.#worker.on('error', (error: Error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(new Error('The thread that reads the store has ended.')))
  }

  /** Resolves when the connection is open, which takes far longer than `take`. */
  async opened(): Promise<void> {
    await this.#opened
  }

  /** From now on every query sees the file as it is now; without this call, as it is at the first query. */
  async take(): Promise<void> {
    await this.all(FIRST_READ, [])
  }

  /** One query runs at a time. */
  all(text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    if (this.#waiting !== null) throw new Error('A snapshot is asked one thing at a time.')
    if (this.#ended !== null) return Promise.reject(this.#ended)
    const question: SnapshotQuestion = { text, values }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#worker.postMessage(question)
    })
  }

  async close(): Promise<void> {
    this.#worker.postMessage(null)
    await this.#over
  }

  #fail(error: Error): void {
    this.#ended ??= error
    this.#waiting?.reject(error)
    this.#waiting = null
  }
}
