import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freshenConsole } from '../bin/console-fresh.js'
import { percentile } from '../test/harness/figures.ts'
import { treeUsage } from './process-tree.ts'

/**
 * `npm run bench:start -- [--starts N]`: the time from the command to the ready line and to the first answer, with an
 * empty data folder; then the same for the first start of a clone, whose console is not built and whose code was never
 * compiled.
 */
const ROOT = join(import.meta.dirname, '..')
const READY = /Tollgate ready on (\S+)/
const KEY = /sk-tg-\S+/
const READY_MS_MAX = 60_000
/** What a start needs of a clone, without what is built. */
const PARTS = ['bin', 'src', 'scripts', 'console', 'package.json', 'package-lock.json', 'tsconfig.json']

interface Start {
  readonly readyMs: number
  readonly answeredMs: number
  readonly cpuMs: number
  readonly residentBytes: number
}

const { values } = parseArgs({ options: { starts: { type: 'string', default: '10' } } })
const count = Number(values.starts)
if (!Number.isInteger(count) || count < 1) {
  process.stderr.write('usage: npm run bench:start -- [--starts N]\n')
  process.exit(2)
}

async function started(root: string, env: Readonly<Record<string, string>> = {}): Promise<Start> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-start-'))
  const startedMs = performance.now()
  const child = spawn(process.execPath, [join(root, 'bin/tollgate.js'), 'start'], {
    cwd: directory,
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  // Ends a start that hangs, and shows its output.
  const stop = setTimeout(() => child.kill('SIGKILL'), READY_MS_MAX)
  try {
    let told = ''
    let ready: Omit<Start, 'answeredMs'> | null = null
    for await (const text of child.stdout.setEncoding('utf8')) {
      told += String(text)
      const [url, key] = [READY.exec(told)?.[1], KEY.exec(told)?.[0]]
      if (url === undefined) continue
      if (ready === null) {
        const { cpuMicros, residentBytes } = treeUsage(child.pid ?? 0)
        ready = { readyMs: performance.now() - startedMs, cpuMs: cpuMicros / 1_000, residentBytes }
      }
      if (key === undefined) continue
      await answer(url, key)
      return { ...ready, answeredMs: performance.now() - startedMs }
    }
    throw new Error(`It ended before it was ready:\n${told}`)
  } finally {
    clearTimeout(stop)
    // A build beside it ends with it.
    child.kill('SIGTERM')
    await ended
    rmSync(directory, { recursive: true, force: true })
  }
}

async function answer(url: string, key: string): Promise<void> {
  const { status } = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  if (status !== 200) throw new Error(`The first answer was ${status}.`)
}

async function firstOfClone(): Promise<Start> {
  const clone = mkdtempSync(join(tmpdir(), 'tollgate-bench-clone-'))
  const isSource = (path: string): boolean =>
    !path.startsWith(join(ROOT, 'console/dist')) && !path.includes('/node_modules/')
  for (const part of PARTS) cpSync(join(ROOT, part), join(clone, part), { recursive: true, filter: isSource })
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  try {
    return await started(clone, { NODE_DISABLE_COMPILE_CACHE: '1' })
  } finally {
    rmSync(clone, { recursive: true, force: true })
  }
}

function told(what: string, starts: readonly Start[]): string {
  const median = (of: (start: Start) => number): string => percentile(starts.map(of), 0.5).toFixed(0)
  return `${what}, medians of ${starts.length}: ready after ${median(({ readyMs }) => readyMs)} ms, first answer after ${median(({ answeredMs }) => answeredMs)} ms; when ready ${median(({ cpuMs }) => cpuMs)} ms of CPU and ${median(({ residentBytes }) => residentBytes / 1_000_000)} MB\n`
}

// The first start fills the compile cache.
freshenConsole()
await started(ROOT)
const [starts, firsts]: [Start[], Start[]] = [[], []]
for (let index = 0; index < count; index += 1) starts.push(await started(ROOT))
for (let index = 0; index < Math.ceil(count / 3); index += 1) firsts.push(await firstOfClone())
process.stdout.write(told('starts', starts) + told('first starts of a clone, the build beside it included', firsts))
