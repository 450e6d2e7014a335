import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { load, orderOf } from './load-process.ts'
import { memoryOf, type Memory } from './memory.ts'
import { scenarioOf } from './scenarios.ts'
import { startUpstream } from './servers.ts'
import { startTollgate } from './tollgate.ts'

/** `npm run bench:soak`: what a node's memory is used for after an hour of mixed light load. */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, rate: { type: 'string', default: '80' } },
})
const minutes = Number(values.minutes)
const rate = Number(values.rate)
if (!(minutes >= 1 && minutes <= 1_440) || !(rate > 0 && rate <= 1_000)) {
  process.stderr.write('usage: npm run bench:soak -- [--minutes N] [--rate REQUESTS_A_SECOND]\n')
  process.exit(2)
}

const ACCOUNTS = 500
const MINUTE_MS = 60_000
/** The number of rows of the table, without the last ones. */
const ROWS = 12
/** The pause after the load, in which allowances, timers and idle sockets end. */
const REST_MS = 15_000
/** The share of each kind of request. */
const MIX: Readonly<Record<string, number>> = {
  'chat, 1 kB answer': 0.4,
  'chat, cached prompt and reasoning': 0.08,
  'chat, 100 kB prompt': 0.08,
  'chat, Russian prompt of 30,000 characters': 0.03,
  'stream of 100 chunks, at once': 0.15,
  'stream of 100 chunks, at once, translated': 0.1,
  'stream of 100 chunks, over a second': 0.12,
  'speech of 400 kB in 100 chunks': 0.035,
  'embeddings of 2,048 inputs': 0.005,
}

const HEADER = `| When | resident MB | program and files | malloc, main heap | malloc, threads | other | V8 heap | of it used | external | array buffers |
|---|---|---|---|---|---|---|---|---|---|`

const directory = mkdtempSync(join(tmpdir(), 'tollgate-soak-'))
const file = join(directory, 'memory.json')
const probe = pathToFileURL(join(import.meta.dirname, 'memory-probe.ts'))
probe.searchParams.set('file', file)
const upstream = await startUpstream()
try {
  const root = join(import.meta.dirname, '..')
  const nodeOptions = [`--import=${probe.href}`]
  // One address may not open so many sockets unless it is a trusted proxy.
  const env = { TRUSTED_PROXIES: '127.0.0.1' }
  const server = await startTollgate(upstream, { name: 'Tollgate', root, nodeOptions, env })
  try {
    const [pid = 0] = server.pids
    const keys = await server.keys(ACCOUNTS)
    const rows: (readonly [when: string, memory: Memory])[] = [['start', await memoryOf(pid, file)]]
    let isOver = false
    const loads = Promise.all(
      Object.entries(MIX).map(([name, share]) => {
        const order = {
          ...orderOf(server, scenarioOf(name), keys, minutes * 60),
          clients: 64,
          perSecond: rate * share,
          mayRefuse: true,
        }
        return load(order).then((result) => ({ name, result }))
      }),
    ).finally(() => (isOver = true))
    for (let minute = 1; !isOver; minute += 1) {
      await Promise.race([loads, delay(MINUTE_MS)])
      if (isOver) break
      const memory = await memoryOf(pid, file)
      if (minute % Math.ceil(minutes / ROWS) === 0 || minute === 1) rows.push([`${minute} min`, memory])
      process.stderr.write(`${line(`${minute} min`, memory)}\n`)
    }
    for (const { name, result } of await loads)
      process.stderr.write(
        `${name}: ${result.requests} requests, p50 ${result.p50Ms.toFixed(1)} ms, p99 ${result.p99Ms.toFixed(1)} ms, ${result.wrong} wrong, ${result.refused} refused, ${result.unsent} not sent ${result.firstWrong ?? ''}\n`,
      )
    await delay(REST_MS)
    rows.push(['at rest', await memoryOf(pid, file)])
    const collected = await memoryOf(pid, file, { collected: true })
    rows.push(['collected', collected])
    if (trimmed(pid)) rows.push(['malloc_trim', await memoryOf(pid, file)])
    const spaces = collected.spaces.map(
      ({ name, bytes, usedBytes }) => `| ${name} | ${megabytes(bytes)} | ${megabytes(usedBytes)} |`,
    )
    process.stdout.write(
      `${[HEADER, ...rows.map(([when, memory]) => line(when, memory)), '', '| V8 space, collected | MB | used |', '|---|---|---|', ...spaces].join('\n')}\n`,
    )
  } finally {
    await server.stop()
  }
} finally {
  await upstream.stop()
  rmSync(directory, { recursive: true, force: true })
}

function line(when: string, memory: Memory): string {
  const { resident, files, mainHeap, threadHeaps, other, heapTotal, heapUsed, external, arrayBuffers } = memory
  const cells = [resident, files, mainHeap, threadHeaps, other, heapTotal, heapUsed, external, arrayBuffers]
  return `| ${[when, ...cells.map(megabytes)].join(' | ')} |`
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}

/** Whether a debugger could make malloc return free memory to the system; malloc's own figures go to standard error. */
function trimmed(pid: number): boolean {
  const calls = ['call (void)malloc_stats()', 'call (int)malloc_trim(0)'].flatMap((call) => ['-ex', call])
  return spawnSync('gdb', ['-p', String(pid), '-batch', ...calls], { stdio: 'ignore' }).status === 0
}
