import { readFileSync, rmSync, existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** V8's figures of a process's memory, bytes. */
export interface Inside {
  readonly heapUsed: number
  readonly heapTotal: number
  readonly external: number
  readonly arrayBuffers: number
  readonly spaces: readonly { readonly name: string; readonly bytes: number; readonly usedBytes: number }[]
}

/** The system's figures: resident bytes by kind of mapping. */
export interface Outside {
  readonly resident: number
  /** The program, its libraries, and files that the process has mapped. */
  readonly files: number
  /** The heap that malloc grows by brk(2). */
  readonly mainHeap: number
  /** Heaps of malloc for other threads: each begins at a multiple of 64 MiB. */
  readonly threadHeaps: number
  /** Everything else: V8's heap, large buffers, stacks. */
  readonly other: number
}

export interface Memory extends Inside, Outside {}

const ARENA_BYTES = 0x4_00_00_00n
const ANSWER_MS = 30_000

/** Both views of a process that was started with bench/memory-probe.ts and that file. */
export async function memoryOf(pid: number, file: string, { collected = false } = {}): Promise<Memory> {
  rmSync(file, { force: true })
  process.kill(pid, collected ? 'SIGUSR2' : 'SIGPWR')
  for (const untilMs = performance.now() + ANSWER_MS; performance.now() < untilMs; await delay(20)) {
    const told = existsSync(file) ? readFileSync(file, 'utf8') : ''
    // bench/memory-probe.ts wrote it in one piece.
    if (told.endsWith('}')) return { ...(JSON.parse(told) as Inside), ...outsideOf(pid) }
  }
  throw new Error(`Process ${pid} did not say anything of its memory.`)
}

function outsideOf(pid: number): Outside {
  const sums = { resident: 0, files: 0, mainHeap: 0, threadHeaps: 0, other: 0 }
  let kind: keyof Outside = 'other'
  let arenaEnd = 0n
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'latin1').split('\n')) {
    const mapping = /^([\da-f]+)-([\da-f]+) \S+ \S+ \S+ \d+ *(.*)$/.exec(line)
    if (mapping !== null) {
      const [, begin = '', , path = ''] = mapping
      const at = BigInt(`0x${begin}`)
      if (path === '' && at % ARENA_BYTES === 0n) arenaEnd = at + ARENA_BYTES
      kind = path.startsWith('/') ? 'files' : path === '[heap]' ? 'mainHeap' : at < arenaEnd ? 'threadHeaps' : 'other'
    }
    const bytes = Number(/^Rss: +(\d+) kB$/.exec(line)?.[1] ?? 0) * 1_024
    sums[kind] += bytes
    sums.resident += bytes
  }
  return sums
}
