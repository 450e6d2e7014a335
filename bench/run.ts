import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startTollgate } from '../test/harness/server.ts'

const ROUNDS = 5
const CHAT = { kind: 'chat', clients: 32, count: 4_000 }
const STREAM = { kind: 'stream', clients: 200, count: 800 }
const CHUNKS = 100
const run = promisify(execFile)
const here = import.meta.dirname
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** CPU-µs that a process and all its descendants have used so far. */
function cpuMicros(pid: number): number {
  let ticks = 0
  for (const id of tree(pid)) {
    const fields = readFileSync(`/proc/${id}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return (ticks / ticksPerSecond) * 1_000_000
}

function tree(pid: number): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number))
  return [pid, ...children.flatMap(tree)]
}

async function line(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (data: Buffer) => resolve(data.toString().trim()))
    child.once('exit', (code) => reject(new Error(`ended with ${code}`)))
  })
}

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0))
    })
  })
}

async function startNginx(upstreamPort: number): Promise<{ readonly url: string; readonly child: ChildProcess; readonly directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const port = await freePort()
  writeFileSync(
    join(directory, 'nginx.conf'),
    `daemon off; master_process on; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log;
events { worker_connections 4096; }
http { access_log off; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
upstream provider { server 127.0.0.1:${upstreamPort}; keepalive 512; }
server { listen 127.0.0.1:${port}; keepalive_requests 1000000; location / { proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
  )
  const child = spawn('nginx', ['-p', directory, '-c', join(directory, 'nginx.conf')], { stdio: 'ignore' })
  await new Promise((resolve) => setTimeout(resolve, 500))
  return { url: `http://127.0.0.1:${port}`, child, directory }
}

async function measure(url: string, key: string, pid: number, load: typeof CHAT): Promise<number> {
  const before = cpuMicros(pid)
  const { stdout } = await run(process.execPath, [join(here, 'load.ts'), url, key, load.kind, String(load.clients), String(load.count)])
  const { failed } = JSON.parse(stdout)
  if (failed > 0) throw new Error(`${failed} of ${load.count} requests failed at ${url}`)
  return (cpuMicros(pid) - before) / load.count
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}

const upstream = spawn(process.execPath, [join(here, 'upstream.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
const upstreamPort = Number(await line(upstream))
const nginx = await startNginx(upstreamPort)
const tollgate = await startTollgate({
  catalog: `
rate_limit: { requests: 100000, window: 1 }
providers: { fake: { name: Fake, adapter: openai, base_url: "http://127.0.0.1:${upstreamPort}/v1", api_key: k } }
models:
  - { id: test/bench, type: chat, context_length: 128000, aliases: [bench], endpoints: [{ provider: fake, model: bench, price: { currency: RUB, prompt: 15, completion: 60 } }] }
`,
})
try {
  // A limit that is never reached, so that its check is part of the path.
  const { key } = await tollgate.createAccount({ balance: 1_000_000, key: { limit: 900_000, limit_reset: 'monthly' } })
  const sides = [{ name: 'nginx', url: nginx.url, pid: nginx.child.pid ?? 0 }, { name: 'tollgate', url: tollgate.url, pid: tollgate.pid }]
  const figures = new Map<string, number[]>()
  for (const side of sides) await measure(side.url, key, side.pid, { ...CHAT, count: 2_000 })
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const load of [CHAT, STREAM]) {
      for (const side of sides) {
        const name = `${side.name} ${load.kind}`
        figures.set(name, [...(figures.get(name) ?? []), await measure(side.url, key, side.pid, load)])
      }
    }
  }
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  if (audit.body.violations !== 0) throw new Error(`audit: ${audit.text}`)
  const of = (name: string): number => median(figures.get(name) ?? [])
  const row = (title: string, kind: string, part: number): string =>
    `| ${title} | ${(of(`nginx ${kind}`) / part).toFixed(1)} | ${(of(`tollgate ${kind}`) / part).toFixed(1)} | ${(of(`tollgate ${kind}`) / of(`nginx ${kind}`)).toFixed(1)}× |`
  process.stdout.write(
    [
      `${cpus().length} cores, Node ${process.versions.node}, ${ROUNDS} interleaved rounds, medians, CPU-µs of the whole process tree`, '',
      '| what | nginx | tollgate | ratio |', '|---|---|---|---|',
      row(`chat, not streamed (${CHAT.clients} clients)`, 'chat', 1), row(`chat streamed, ${CHUNKS} chunks over a second (${STREAM.clients} clients)`, 'stream', 1), row('one chunk of it', 'stream', CHUNKS), '',
    ].join('\n'),
  )
} finally {
  await tollgate.stop()
  nginx.child.kill('SIGTERM')
  upstream.kill('SIGTERM')
  rmSync(nginx.directory, { recursive: true, force: true })
}
