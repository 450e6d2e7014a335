import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import type { LoopWatchOrder } from './loop-watch.ts'

const LOOKS = 20
const STDERR = 2

// The data that watchLoop gave.
const { beats, limitMs } = workerData as LoopWatchOrder
const count = new Int32Array(beats)
let last = Atomics.load(count, 0)
let still = 0

// The thread counts looks instead of time: while the process is stopped, or the machine sleeps, this thread does not
// look either.
setInterval(() => {
  const now = Atomics.load(count, 0)
  still = now === last ? still + 1 : 0
  last = now
  if (still < LOOKS) return
  try {
    writeSync(STDERR, `The event loop has not turned for ${limitMs / 1_000} s: the process ends, to be started anew\n`)
  } finally {
    // `exit` here would end only this thread, and the other thread cannot react to a signal.
    process.kill(process.pid, 'SIGKILL')
  }
}, limitMs / LOOKS)
