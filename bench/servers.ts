import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { program } from '../bin/program.js'

const START_MS = 20_000
const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx']

export interface Server {
  readonly name: string
  readonly origin: string
  readonly pid: number
  readonly keys: readonly string[]
  /** The name under which a request asks for one of the upstream's models. */
  model(upstream: string): string
  stop(): Promise<void>
}

/** The fake provider in a process of its own. */
export async function startUpstream(): Promise<Server> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'upstream.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))
  child.once('exit', (code) => reject(new Error(`The fake provider ended with ${code}.`)))
  const port = Number((await promise).split(' ')[1])
  return {
    name: 'upstream',
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    keys: ['none'],
    model: (upstream) => upstream,
    stop: () => stopChild(child),
  }
}

/**
 * nginx as a plain reverse proxy with kept-alive connections on both sides: the floor that everything is compared to.
 */
export async function startNginx(upstream: Server): Promise<Server> {
  const binary = NGINX.find((path) => existsSync(path))
  if (binary === undefined) throw new Error('nginx is not installed: apt-get install nginx')
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-nginx-'))
  const port = await freePort()
  const file = join(directory, 'nginx.conf')
  writeFileSync(file, nginxConfig(directory, port, new URL(upstream.origin).host))
  const child = spawn(binary, ['-c', file, '-p', directory, '-e', join(directory, 'error.log')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const origin = `http://127.0.0.1:${port}`
  await answering(`${origin}/`, child)
  return {
    name: `nginx ${nginxVersion(binary)}`,
    origin,
    pid: child.pid ?? 0,
    keys: ['none'],
    model: (name) => name,
    stop: async () => {
      await stopChild(child)
      rmSync(directory, { recursive: true, force: true })
    },
  }
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

/**
 * Tollgate as an operator runs it: keys, limits, holds, settles, usage log and request log on, in the embedded store.
 */
export async function startTollgate(
  upstream: Server,
  accounts: number,
  nodeOptions: readonly string[],
): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const adminToken = randomBytes(24).toString('hex')
  const config = join(directory, 'tollgate.yaml')
  const log = join(directory, 'log')
  writeFileSync(config, catalogue(upstream.origin))
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_DATA: join(directory, 'data'),
    TOLLGATE_CONFIG: config,
    TOLLGATE_ADMIN_TOKEN: adminToken,
  }
  // A file, not a pipe: reading a line per request would cost the bench more than it measures.
  const child = spawn(process.execPath, [...nodeOptions, program(), 'start'], {
    cwd: directory,
    env,
    stdio: ['ignore', openSync(log, 'w'), 'inherit'],
  })
  const origin = await readyOrigin(log, child)
  const keys: string[] = []
  for (let index = 0; index < accounts; index += 1) keys.push(await createKey(origin, adminToken, index))
  return {
    name: 'Tollgate',
    origin,
    pid: child.pid ?? 0,
    keys,
    model: (name) => `bench/${name}`,
    stop: async () => {
      const audit = await admin(origin, adminToken, 'GET', '/admin/v1/audit')
      await stopChild(child)
      rmSync(directory, { recursive: true, force: true })
      if (audit['violations'] !== 0)
        throw new Error(`The audit after the load found violations: ${JSON.stringify(audit)}`)
    },
  }
}

function catalogue(upstream: string): string {
  const models = Object.entries({ plain: 'fake', burst: 'fake', paced: 'fake', translated: 'anthropic' }).map(
    ([name, provider]) => `  - id: bench/${name}
    type: chat
    context_length: 128000
    max_completion_tokens: 16384
    tokenizer: o200k_base
    endpoints: [{ provider: ${provider}, model: ${name}, price: { currency: USD, prompt: 0.15, completion: 0.60 } }]
`,
  )
  const voice = `  - { id: bench/voice, type: tts, endpoints: [{ provider: fake, model: voice, price: { currency: USD, characters: 15 } }] }
`
  const vectors = `  - { id: bench/vectors, type: embeddings, context_length: 8192, tokenizer: o200k_base, endpoints: [{ provider: fake, model: vectors, price: { currency: USD, prompt: 0.02 } }] }
`
  return `rates: { USD: 92.50 }
markup: 1.20
rate_limit: { requests: 100000, window: 10 }
providers:
  fake: { name: Fake, adapter: openai, base_url: "${upstream}/v1", api_key: sk-bench, cancel_stops_billing: true }
  anthropic: { name: Translated, adapter: anthropic, base_url: "${upstream}/v1", api_key: sk-bench, cancel_stops_billing: true }
models:
${models.join('')}${vectors}${voice}`
}

async function createKey(origin: string, token: string, index: number): Promise<string> {
  const account = await admin(origin, token, 'POST', '/admin/v1/accounts', { name: `bench ${index}` })
  await admin(origin, token, 'POST', `/admin/v1/accounts/${account['id']}/ledger`, {
    kind: 'topup',
    amount: 1_000_000,
    reason: 'bench',
    reference: `bench-${index}`,
  })
  // A monthly limit, so that spending is counted as well.
  const key = await admin(origin, token, 'POST', `/admin/v1/accounts/${account['id']}/keys`, {
    name: 'bench',
    limit: 1_000_000,
    limit_reset: 'monthly',
  })
  return String(key['key'])
}

async function admin(
  origin: string,
  token: string,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const answer = await request(`${origin}${path}`, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`)
  // The admin API answers objects.
  return JSON.parse(text) as Record<string, unknown>
}

async function readyOrigin(log: string, child: ChildProcess): Promise<string> {
  for (const untilMs = Date.now() + START_MS; Date.now() < untilMs && child.exitCode === null; await delay(20)) {
    const ready = /Tollgate ready on (http:\/\/\S+)/.exec(readFileSync(log, 'utf8'))
    if (ready?.[1] !== undefined) return ready[1]
  }
  throw new Error(`Tollgate did not become ready:\n${readFileSync(log, 'utf8')}`)
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

async function freePort(): Promise<number> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', () => resolve())
  await promise
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo
  const closed = Promise.withResolvers<void>()
  server.close(() => closed.resolve())
  await closed.promise
  return port
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await promise
  clearTimeout(timer)
}
