import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { percentile } from '../test/harness/figures.ts'
import { treeUsage } from './process-tree.ts'

/** `npm run bench:start -- [--starts N]`: the time from the command to the ready line, with an empty data folder. */
const COMMAND = join(import.meta.dirname, '../bin/tollgate.js')
const READY = /Tollgate ready on /
const READY_MS_MAX = 20_000

interface Start {
  readonly readyMs: number
  readonly cpuMs: number
  readonly residentBytes: number
}

const { values } = parseArgs({ options: { starts: { type: 'string', default: '10' } } })
const count = Number(values.starts)
if (!Number.isInteger(count) || count < 1) {
  process.stderr.write('usage: npm run bench:start -- [--starts N]\n')
  process.exit(2)
}

async function started(): Promise<Start> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-start-'))
  const startedMs = performance.now()
  const child = spawn(process.execPath, [COMMAND, 'start'], {
    cwd: directory,
    env: { ...process.env, PORT: '0', DATA_DIR: join(directory, 'data') },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  // Ends a start that hangs, and shows its output.
  const stop = setTimeout(() => child.kill('SIGKILL'), READY_MS_MAX)
  try {
    let told = ''
    for await (const text of child.stdout.setEncoding('utf8')) {
      told += String(text)
      if (!READY.test(told)) continue
      const readyMs = performance.now() - startedMs
      const { cpuMicros, residentBytes } = treeUsage(child.pid ?? 0)
      return { readyMs, cpuMs: cpuMicros / 1_000, residentBytes }
    }
    throw new Error(`It ended before it was ready:\n${told}`)
  } finally {
    clearTimeout(stop)
    child.kill('SIGKILL')
    await ended
    rmSync(directory, { recursive: true, force: true })
  }
}

const median = (numbers: readonly number[]): number => percentile(numbers, 0.5)

// The first start builds what is missing and fills the compile cache.
await started()
const starts: Start[] = []
for (let index = 0; index < count; index += 1) starts.push(await started())
process.stdout.write(
  `${count} starts, medians: ready after ${median(starts.map(({ readyMs }) => readyMs)).toFixed(0)} ms and ${median(
    starts.map(({ cpuMs }) => cpuMs),
  ).toFixed(0)} ms of CPU, ${(median(starts.map(({ residentBytes }) => residentBytes)) / 1_000_000).toFixed(0)} MB\n`,
)
