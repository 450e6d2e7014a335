import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { isBuilt } from '../bin/program.js'
import { onCore, type Core } from './pinning.ts'
import { START_MS, stopChild, type Server } from './servers.ts'

// A program that runs from its source also holds the memory of the compiler, so each one that is measured is built.
const OWN = join(import.meta.dirname, '..')
if (!isBuilt()) spawnSync(process.execPath, [join(OWN, 'scripts/build-server.ts')], { cwd: OWN, stdio: 'inherit' })

/** The number of accounts that are made at the same time. */
const AT_ONCE = 32
const COMPLAINTS_MAX = 5

export interface TollgateOptions {
  readonly name: string
  /** The folder of the program: that of this working tree or of another commit. */
  readonly root: string
  readonly nodeOptions?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Absent = the embedded store. */
  readonly postgres?: { readonly url: string; readonly pid: number; readonly workers: number }
  /** Absent = the core for the measured program; two workers get both cores. */
  readonly core?: Core
}

export interface TollgateServer extends Server {
  /** Keys of accounts whose holds the database decides, each of another account. */
  exactKeys(accounts: number): Promise<readonly string[]>
}

/** Tollgate as an operator runs it: keys, limits, holds, settles, usage log and request log on. */
export async function startTollgate(upstream: Server, options: TollgateOptions): Promise<TollgateServer> {
  const { name, root, nodeOptions = [], env: more = {}, postgres } = options
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const adminToken = randomBytes(24).toString('hex')
  const config = join(directory, 'tollgate.yaml')
  const log = join(directory, 'log')
  writeFileSync(config, catalogue(upstream.origin))
  const started = startOf(root)
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...started.env,
    ...more,
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_DATA: join(directory, 'data'),
    TOLLGATE_CONFIG: config,
    TOLLGATE_ADMIN_TOKEN: adminToken,
    ...(postgres === undefined
      ? {}
      : {
          DATABASE_URL: postgres.url,
          TOLLGATE_WORKERS: String(postgres.workers),
          TOLLGATE_KEK: randomBytes(32).toString('base64'),
        }),
  }
  // The log goes to a file, not to a pipe: reading a line for each request would cost more CPU than is measured.
  const command = [...nodeOptions, ...started.options, join(root, 'bin/tollgate.js'), 'start']
  // Two workers need both cores.
  const core = options.core ?? ((postgres?.workers ?? 1) > 1 ? 'any' : 'measured')
  const child = spawn(...onCore(core, process.execPath, command), {
    cwd: directory,
    env,
    stdio: ['ignore', openSync(log, 'w'), 'inherit'],
  })
  const origin = await readyOrigin(log, child)
  const made = { slice: [] as string[], exact: [] as string[] }
  const keysOf = async (accounts: number, policy: keyof typeof made): Promise<readonly string[]> => {
    const keys = made[policy]
    while (keys.length < accounts) {
      const next = Array.from({ length: Math.min(AT_ONCE, accounts - keys.length) }, (_value, index) =>
        createKey({ origin, token: adminToken }, `${policy}-${keys.length + index}`, policy === 'exact'),
      )
      keys.push(...(await Promise.all(next)))
    }
    return keys.slice(0, accounts)
  }
  return {
    name,
    origin,
    pids: [child.pid ?? 0, ...(postgres === undefined ? [] : [postgres.pid])],
    keys: (accounts) => keysOf(accounts, 'slice'),
    exactKeys: (accounts) => keysOf(accounts, 'exact'),
    model: (upstreamName) => `bench/${upstreamName}`,
    complaints: () => readFileSync(log, 'utf8').split('\n').filter(isComplaint).slice(0, COMPLAINTS_MAX).join('\n'),
    stop: async () => {
      const audit = await admin({ origin, token: adminToken }, 'GET', '/admin/v1/audit')
      await stopChild(child)
      rmSync(directory, { recursive: true, force: true })
      if (audit['violations'] !== 0)
        throw new Error(`The audit after the load found violations: ${JSON.stringify(audit)}`)
    },
  }
}

/** The options with which `npm start` runs Node. */
function startOf(root: string): {
  readonly options: readonly string[]
  readonly env: Readonly<Record<string, string>>
} {
  // The file has this form, or npm could not have run the bench.
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const start = scripts['start'] ?? ''
  const settings = [...start.matchAll(/(?:^| )([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  return { options: start.match(/--\S+/g) ?? [], env: Object.fromEntries(settings) }
}

function isComplaint(line: string): boolean {
  return /"level":"(?:warn|error|fatal)"|"level":[456]0/.test(line)
}

function catalogue(upstream: string): string {
  const models = Object.entries({
    plain: 'fake',
    reasoned: 'fake',
    burst: 'fake',
    paced: 'fake',
    responses: 'fake',
    translated: 'anthropic',
    gemini: 'gemini',
    cohere: 'cohere',
  }).map(
    ([name, provider]) => `  - id: bench/${name}
    type: chat
    context_length: 128000
    max_completion_tokens: 16384
    tokenizer: o200k_base
    endpoints: [{ provider: ${provider}, model: ${name}, price: { currency: USD, prompt: 0.15, completion: 0.60, input_cache_read: 0.03 }${name === 'responses' ? ', native_responses: true' : ''} }]
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
  gemini: { name: Gemini, adapter: gemini, base_url: "${upstream}/v1beta", api_key: sk-bench, cancel_stops_billing: true }
  cohere: { name: Cohere, adapter: cohere, base_url: "${upstream}", api_key: sk-bench, cancel_stops_billing: true }
models:
${models.join('')}${vectors}${voice}`
}

interface Operator {
  readonly origin: string
  readonly token: string
}

async function createKey(operator: Operator, name: string, isExact: boolean): Promise<string> {
  const account = await admin(operator, 'POST', '/admin/v1/accounts', { name: `bench ${name}` })
  if (isExact) await admin(operator, 'PATCH', `/admin/v1/accounts/${account['id']}`, { exact_holds: true })
  await admin(operator, 'POST', `/admin/v1/accounts/${account['id']}/ledger`, {
    kind: 'topup',
    amount: 1_000_000,
    reason: 'bench',
    reference: `bench-${name}`,
  })
  // The key has a monthly limit, so that its spending is counted too.
  const key = await admin(operator, 'POST', `/admin/v1/accounts/${account['id']}/keys`, {
    name: 'bench',
    limit: 1_000_000,
    limit_reset: 'monthly',
  })
  return String(key['key'])
}

async function admin(
  { origin, token }: Operator,
  method: 'GET' | 'PATCH' | 'POST',
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
  // The admin API returns objects.
  return JSON.parse(text) as Record<string, unknown>
}

async function readyOrigin(log: string, child: ChildProcess): Promise<string> {
  for (const untilMs = Date.now() + START_MS; Date.now() < untilMs && child.exitCode === null; await delay(20)) {
    const ready = /Tollgate ready on (http:\/\/\S+)/.exec(readFileSync(log, 'utf8'))
    if (ready?.[1] !== undefined) return ready[1]
  }
  throw new Error(`Tollgate did not become ready:\n${readFileSync(log, 'utf8')}`)
}
