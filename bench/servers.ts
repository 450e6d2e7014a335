import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { freePort } from '../test/harness/program.ts'
import { onCore, type Core } from './pinning.ts'

export const START_MS = 20_000
const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx']

export interface Server {
  readonly name: string
  /** With the path below which its API is, if it has one. */
  readonly origin: string
  /** What each request has besides. */
  readonly headers?: Readonly<Record<string, string>>
  /** A program of others: a load that it cannot answer leaves it out. */
  readonly isOther?: boolean
  /** The processes whose CPU time is counted, each with the processes that it has started. */
  readonly pids: readonly number[]
  /** Keys, each of another account. */
  keys(accounts: number): Promise<readonly string[]>
  /** What a request calls one of the upstream's models on this server. */
  model(upstream: string): string
  /** Log lines that are not ordinary, to explain a load that failed. */
  complaints(): string
  stop(): Promise<void>
}

/** The fake provider, in a separate process. */
export function startUpstream(): Promise<Server> {
  return startScript('upstream', 'other', 'upstream.ts')
}

/** A proxy in Node that does no work (bench/bare.ts). */
export function startBare(kind: 'raw' | 'http', upstream: Server): Promise<Server> {
  const name = kind === 'raw' ? 'raw sockets, no work' : 'node:http + undici, no work'
  return startScript(name, 'measured', 'bare.ts', kind, upstream.origin)
}

async function startScript(name: string, core: Core, file: string, ...values: readonly string[]): Promise<Server> {
  const child = spawn(...onCore(core, process.execPath, [join(import.meta.dirname, file), ...values]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))
  child.once('exit', (code) => reject(new Error(`${file} ended with ${code}.`)))
  const port = Number((await promise).split(' ')[1])
  return plainServer(name, `http://127.0.0.1:${port}`, child, () => stopChild(child))
}

/** A server without keys that passes on the names of models. */
function plainServer(name: string, origin: string, child: ChildProcess, stop: () => Promise<void>): Server {
  return {
    name,
    origin,
    pids: [child.pid ?? 0],
    keys: () => Promise.resolve(['none']),
    model: (upstream) => upstream,
    complaints: () => '',
    stop,
  }
}

/** nginx as a plain reverse proxy with keep-alive connections on both sides; everything is compared with it. */
export async function startNginx(upstream: Server): Promise<Server> {
  const binary = NGINX.find((path) => existsSync(path))
  if (binary === undefined) throw new Error('nginx is not installed: apt-get install nginx')
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-nginx-'))
  const port = await freePort()
  const file = join(directory, 'nginx.conf')
  writeFileSync(file, nginxConfig(directory, port, new URL(upstream.origin).host))
  const values = ['-c', file, '-p', directory, '-e', join(directory, 'error.log')]
  const child = spawn(...onCore('measured', binary, values), { stdio: ['ignore', 'inherit', 'inherit'] })
  const origin = `http://127.0.0.1:${port}`
  await answering(`${origin}/`, child)
  return plainServer(`nginx ${nginxVersion(binary)}`, origin, child, async () => {
    await stopChild(child)
    rmSync(directory, { recursive: true, force: true })
  })
}

function nginxVersion(binary: string): string {
  return /nginx\/([\d.]+)/.exec(spawnSync(binary, ['-v'], { encoding: 'utf8' }).stderr)?.[1] ?? ''
}

function nginxConfig(directory: string, port: number, upstream: string): string {
  return `
daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log warn;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  client_body_buffer_size 256k;
  # A large answer waits in the sockets and not on the disk, as in Tollgate.
  proxy_max_temp_file_size 0;
  client_max_body_size 10m;
  keepalive_timeout 75s;
  keepalive_requests 1000000;
  upstream provider { server ${upstream}; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (const untilMs = Date.now() + START_MS; Date.now() < untilMs && child.exitCode === null; await delay(20)) {
    const answer = await request(url).catch(() => null)
    if (answer === null) continue
    await answer.body.dump()
    return
  }
  throw new Error(`${url} did not answer.`)
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await promise
  clearTimeout(timer)
}
