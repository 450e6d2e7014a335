import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../test/harness/program.ts'
import { onCore } from './pinning.ts'
import { stopChild, type Server } from './servers.ts'

/** Where the gateways are installed, once: 700 MB, nearly all of it LiteLLM. */
const CACHE = join(import.meta.dirname, '../node_modules/.cache/peers')
const PYTHON = join(CACHE, 'python/bin/python')
const MODELS = ['plain', 'burst', 'paced'] as const
/** LiteLLM imports for this long. */
const START_MS = 120_000

interface Peer {
  /** As in its registry, in the version of November 2026. */
  readonly package: string
  readonly registry: 'npm' | 'pypi'
  /** The command that serves at a port; `directory` is its own. */
  command(upstream: string, port: number, directory: string): readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Where it says the address below which its API is; absent = it takes the given port. */
  readonly address?: RegExp
  readonly model: (upstream: string) => string
  headers?(upstream: string): Readonly<Record<string, string>>
}

/** The loads go through each in its plainest form: no keys, no log, no database. */
const PEERS: readonly Peer[] = [
  {
    package: 'tensorzero@2026.6.0',
    registry: 'pypi',
    address: /^ready (\S+)\/v1$/m,
    model: (name) => `tensorzero::model_name::${name}`,
    command: (upstream, _port, directory) => {
      const models = MODELS.map(
        (name) => `[models.${name}]
routing = ["fake"]
[models.${name}.providers.fake]
type = "openai"
model_name = "${name}"
api_base = "${upstream}/v1"
api_key_location = "none"
`,
      )
      const config = join(directory, 'tensorzero.toml')
      writeFileSync(config, `[gateway]\nobservability.enabled = false\n${models.join('')}`)
      // The package has the whole gateway, which its client starts in a process of Python that only waits.
      const code = `import sys, threading, tensorzero
gateway = tensorzero._start_http_gateway(config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False)
print('ready', gateway.base_url, flush=True)
threading.Event().wait()`
      return [PYTHON, '-c', code, config]
    },
  },
  {
    package: '@portkey-ai/gateway@1.15.2',
    registry: 'npm',
    model: (name) => name,
    headers: (upstream) => ({ 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1` }),
    command: (_upstream, port) => [
      process.execPath,
      join(CACHE, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
      `--port=${port}`,
      '--headless',
    ],
    env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
  },
  {
    package: 'litellm[proxy]@1.106.12',
    registry: 'pypi',
    model: (name) => name,
    command: (upstream, port, directory) => {
      const config = join(directory, 'litellm.yaml')
      const models = MODELS.map(
        (name) =>
          `  - { model_name: ${name}, litellm_params: { model: openai/${name}, api_base: "${upstream}/v1", api_key: none } }\n`,
      )
      writeFileSync(config, `model_list:\n${models.join('')}litellm_settings: { telemetry: false }\n`)
      return [join(CACHE, 'python/bin/litellm'), '--config', config, '--host', '127.0.0.1', '--port', String(port)]
    },
    env: {
      LITELLM_LOG: 'ERROR',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      // Without keys, as the others.
      LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
    },
  },
]

/** The other gateways, from their registries, each started on the core that is measured. */
export async function startPeers(upstream: Server): Promise<readonly Server[]> {
  install()
  const started: Server[] = []
  for (const peer of PEERS) started.push(await start(peer, upstream))
  return started
}

function install(): void {
  mkdirSync(CACHE, { recursive: true })
  const stamp = join(CACHE, 'installed')
  const known = existsSync(stamp) ? readFileSync(stamp, 'utf8').split('\n') : []
  const missing = PEERS.filter((peer) => !known.includes(peer.package))
  for (const peer of missing) {
    process.stderr.write(`Installing ${peer.package} into a cache\n`)
    if (peer.registry === 'npm') run('npm', ['install', '--no-save', '--no-audit', '--no-fund', peer.package])
    else {
      if (!existsSync(PYTHON)) run('python3', ['-m', 'venv', 'python'])
      run(PYTHON, ['-m', 'pip', 'install', '--quiet', peer.package.replace('@', '==')])
    }
  }
  writeFileSync(stamp, [...known, ...missing.map((peer) => peer.package)].join('\n'))
}

function run(command: string, values: readonly string[]): void {
  const { status, error } = spawnSync(command, values, { cwd: CACHE, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${command} ${values.join(' ')} ended with ${status ?? String(error)}`)
}

async function start(peer: Peer, upstream: Server): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-peer-'))
  const port = await freePort()
  const [command = '', ...values] = peer.command(upstream.origin, port, directory)
  const log = join(directory, 'log')
  const output = openSync(log, 'w')
  const child = spawn(...onCore('measured', command, values), {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: directory, ...peer.env },
    stdio: ['ignore', output, output],
  })
  const headers = peer.headers?.(upstream.origin) ?? {}
  const server = {
    name: peer.package.replace(/\[\w+\]/, '').replace(/@(?=\d)/, ' '),
    origin: `http://127.0.0.1:${port}`,
    pids: [child.pid ?? 0],
    keys: () => Promise.resolve(['none']),
    model: peer.model,
    isOther: true,
    headers,
    complaints: () => readFileSync(log, 'utf8').slice(-2_000),
    stop: async () => {
      await stopChild(child)
      rmSync(directory, { recursive: true, force: true })
    },
  }
  const body = JSON.stringify({ model: peer.model('plain'), messages: [{ role: 'user', content: 'Hello' }] })
  for (const untilMs = Date.now() + START_MS; Date.now() < untilMs && child.exitCode === null; await delay(100)) {
    server.origin = peer.address?.exec(readFileSync(log, 'utf8'))?.[1] ?? server.origin
    const answer = await fetch(`${server.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer none', ...headers },
      body,
    }).catch(() => null)
    if (answer?.status === 200) return server
  }
  throw new Error(`${server.name} did not answer:\n${server.complaints()}`)
}
