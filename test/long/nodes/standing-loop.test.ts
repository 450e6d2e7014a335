import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { request } from 'undici'
import type { MetricReading } from '../../../src/base/prometheus.ts'

// Real processes whose event loop is blocked for ever, as an endless regular expression would block it.

interface Program {
  readonly child: ChildProcess
  readonly url: string
  readonly exited: Promise<unknown[]>
  output(): string
  /** Resolves when the output matches. */
  says(pattern: RegExp): Promise<void>
}

async function run(form: 'alone' | 'workers'): Promise<Program> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'standing-loop.ts'), form], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const heard = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      for (const look of heard) look()
    })
  }
  const says = (pattern: RegExp): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!pattern.test(output)) return
        heard.delete(look)
        resolve()
      }
      heard.add(look)
      look()
    })
  const exited = once(child, 'exit')
  // A failed test must not leave a blocked process behind.
  after(() => child.kill('SIGKILL'))
  await says(/ready/)
  return { child, url: /http:\/\/[\d.:]+/.exec(output)?.[0] ?? '', exited, output: () => output, says }
}

async function get(url: string): Promise<string> {
  const { body } = await request(url, { headersTimeout: 60_000 })
  return body.text()
}

/** Answers of any worker; a blocked one gives none. */
async function served(url: string): Promise<string> {
  const abort = new AbortController()
  const answer = await Promise.any(
    Array.from({ length: 3 }, () => request(url, { signal: abort.signal }).then(({ body }) => body.text())),
  )
  abort.abort()
  return answer
}

test('a single process whose event loop stands still logs it and ends, although it cannot react to SIGTERM', async () => {
  const program = await run('alone')
  assert.equal(await get(program.url), String(program.child.pid))
  await get(`${program.url}/stand-still`)
  program.child.kill('SIGTERM')
  assert.deepEqual(await program.exited, [null, 'SIGKILL'])
  assert.match(program.output(), /The event loop has not turned for 0\.5 s: the process ends/)
})

test('a worker whose loop stands still is killed and replaced, others serve on, counts stay, and SIGTERM ends one that stands still too', async () => {
  const program = await run('workers')
  await program.says(/Tollgate ready/)
  for (let count = 0; count < 10; count += 1) await get(program.url)
  const total = async (): Promise<readonly MetricReading[]> => JSON.parse(await served(`${program.url}/metrics`))
  const value = (all: readonly MetricReading[], name: string): number | undefined =>
    all.find((one) => one.name === name)?.samples[0]?.value
  const before = await total()
  assert.deepEqual([value(before, 'answered_total'), value(before, 'processes')], [10, 2])
  const victim = await get(`${program.url}/stand-still`)
  assert.notEqual(await served(program.url), victim)
  await program.says(new RegExp(`process ${victim}\\) has not answered for .* is killed`))
  await program.says(/A worker has ended \(SIGKILL\), another takes its place/)
  const pids = new Set<string>()
  while (pids.size < 2) pids.add(await served(program.url))
  assert.ok(!pids.has(victim))
  const after = await total()
  assert.ok((value(after, 'answered_total') ?? 0) > 10, 'what the one that ended had counted is not lost')
  assert.equal(value(after, 'processes'), 2)
  await get(`${program.url}/stand-still`)
  program.child.kill('SIGTERM')
  const [code] = await program.exited
  assert.equal(code, 1, 'one was killed')
  assert.match(program.output(), /has not answered for [^]*has not answered for/, 'not a parent that failed')
})

test('a worker that dies while it waits for the metrics of all takes only itself down', async () => {
  const program = await run('workers')
  await program.says(/Tollgate ready/)
  await assert.rejects(get(`${program.url}/ask-and-die`))
  await Promise.race([program.says(/A worker has ended \(SIGKILL\), another takes its place/), program.exited])
  const pids = new Set<string>()
  while (pids.size < 2 && program.child.exitCode === null) pids.add(await served(program.url))
  assert.equal(program.child.exitCode, null, program.output())
  program.child.kill('SIGTERM')
  assert.deepEqual(await program.exited, [0, null])
})
