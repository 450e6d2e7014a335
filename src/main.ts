import cluster from 'node:cluster'
import { existsSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { hostname, totalmem } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { digestOf, generateKey, labelOf } from './access/api-key.ts'
import { createApp, type App, type AppLog, type AppOptions } from './app/app.ts'
import { openCore } from './app/core.ts'
import { Interrupts } from './app/interrupts.ts'
import type { Machine } from './app/load.ts'
import { type Config, readConfig, readSecretFile, withEnvFile, withSecretFiles } from './app/config.ts'
import { terminalLine } from './app/terminal-line.ts'
import { CatalogError } from './catalog/catalog-check.ts'
import { fetchDataSet } from './catalog/feeds/data-set-fetch.ts'
import { missingSdkPackages } from './catalog/sdk-package.ts'
import { runCommand } from './cli/run-command.ts'
import { OperatorError } from './base/errors.ts'
import { newWrappingKey, parseWrappingKeys } from './ledger/key-wrap.ts'
import { systemClock, type Clock } from './base/clock.ts'
import { makeFolder } from './base/folder.ts'
import { randomIds } from './base/ids.ts'
import { gauge } from './base/prometheus.ts'
import { MICRO_PER_RUB } from './base/money.ts'
import { watchLoop } from './nodes/loop-watch.ts'
import { ParentLink, type ToWorker, WORKER_ROLE, WorkerGroup } from './nodes/workers.ts'
import { KNOWN_ADAPTERS } from './protocols/index.ts'
import { openTelemetry } from './telemetry/open-telemetry.ts'
import { diskFault } from './store/sqlite/disk-fault.ts'
import { openFailure } from './store/open.ts'
import { StoreUnavailableError } from './ledger/ledger-store.ts'
import { ownValue } from './base/own-value.ts'
import { thrownMessage } from './base/text.ts'

const DELAY_RESOLUTION_MS = 20
const DEMO_BALANCE_RUB = 100n
/** A server that listens on every address is reached at this one; browsers refuse the others. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
const DEFAULT_CATALOGUE = './tollgate.yaml'
const EXIT_BAD_INPUT = 2
/** The exit code that shells report after Ctrl-C. */
const EXIT_INTERRUPTED = 130

type RequestListener = NonNullable<AppOptions['listeners']>[number]

interface ListenerOptions {
  readonly target: Config['traces']
  readonly version: string
  /** The name that distinguishes this process. */
  readonly instance: string
  readonly clock: Clock
  readonly notice: AppLog['notice']
}

/** The parts that get each request after its end, as the log does. */
const LISTENERS: Readonly<Record<string, (options: ListenerOptions) => Promise<RequestListener>>> = {
  telemetry: openTelemetry,
}

type Environment = ReturnType<typeof withSecretFiles>

function environment(): Environment {
  return withSecretFiles(withEnvFile(process.env, existsSync('.env') ? envFile() : null), readSecretFile)
}

function envFile(): string {
  try {
    return readFileSync('.env', 'utf8')
  } catch (thrown) {
    throw new OperatorError(`.env: cannot be read: ${diskFault(thrown) ?? thrownMessage(thrown)}`, { cause: thrown })
  }
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return manifest !== null && typeof manifest === 'object' && 'version' in manifest ? String(manifest.version) : '0.0.0'
}

/** The buffer for log lines while a reader is slow or the disk is full; lines beyond it are dropped. */
const LOG_BYTES_MAX = 4 * 1_048_576
/** Lines are written together, after this many characters or this time. An error is written at once. */
const LOG_WRITE_CHARS = 49_152
const LOG_WRITE_MS = 200
/** The numbers of pino's levels. */
const INFO = 30
const ERROR = 50

const PROBES: ReadonlySet<unknown> = new Set(['/healthz', '/readyz', '/metrics'])
/**
 * A loop that stands still for this long will probably never turn again. With workers the parent acts sooner, because
 * the other workers continue to serve.
 */
const LOOP_STILL_MS = 30_000

interface ProcessLog extends AppLog {
  /** The number of log lines that were dropped. */
  dropped(): number
}

/** One JSON line per request on stdout; a terminal gets readable lines. */
function createLog(config: Config): ProcessLog {
  const destination = pino.destination({ dest: 1, sync: false, maxLength: LOG_BYTES_MAX })
  const logger = pino({ level: config.logLevel, base: null, messageKey: 'message' }, destination)
  // Lines wait here instead of in the destination's own buffer, which is measured again with each line.
  let waiting = ''
  const writeWaiting = (): void => {
    const lines = waiting
    waiting = ''
    if (lines !== '') destination.write(lines)
  }
  setInterval(writeWaiting, LOG_WRITE_MS).unref()
  // This runs before the destination's own listener, which writes out all that it has been given.
  process.prependListener('exit', writeWaiting)
  const atOnce = (write: () => void): void => {
    writeWaiting()
    write()
  }
  const readable = process.stdout.isTTY
  let failedMs = 0
  let dropped = 0
  let told = 0
  destination.on('drop', (lines: string) => {
    dropped += lines.split('\n').length - 1
  })
  // A full disk must not end the process: the line is written again with the next one.
  destination.on('error', () => undefined)
  destination.on('drain', () => {
    if (dropped === told) return
    logger.warn(`${dropped - told} log lines were dropped, the log took no more`)
    told = dropped
  })
  return {
    dropped: () => dropped,
    line: (fields, failed) => {
      // Balancers and monitors ask every second: their lines would be most of the log.
      if (!failed && PROBES.has(fields['route']) && config.logLevel !== 'debug') return
      if (readable) process.stdout.write(`${terminalLine(fields, new Date())}\n`)
      else if (logger.isLevelEnabled(failed ? 'error' : 'info')) {
        const nowMs = Date.now()
        // The same text as pino's, in a third of the time.
        waiting += `{"level":${failed ? ERROR : INFO},"time":${nowMs},${JSON.stringify(fields).slice(1)}\n`
        // The first error is written at once, those that follow it together: a node that refuses many requests has no
        // time for a write each.
        const isFirst = failed && Math.abs(nowMs - failedMs) >= LOG_WRITE_MS
        if (isFirst) failedMs = nowMs
        if (isFirst || waiting.length >= LOG_WRITE_CHARS) writeWaiting()
      }
    },
    notice: (message) => {
      if (readable) process.stdout.write(`${message}\n`)
      else atOnce(() => logger.warn(message))
    },
    bug: (thrown, requestId) =>
      atOnce(() =>
        logger.error({
          request_id: requestId,
          bug: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
        }),
      ),
  }
}

/** The first reading after the start has nothing to compare with. */
function machineOf(log: ProcessLog, parent: ParentLink | null): Machine {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  delay.enable()
  const memoryBytesMax = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
  let last = performance.eventLoopUtilization()
  let resident = 0
  const residentBytes = (): number => {
    try {
      resident = process.memoryUsage.rss()
    } catch {
      // The reading comes from a file. If file descriptors are exhausted, the last reading stays.
    }
    return resident
  }
  return {
    read: () => {
      const now = performance.eventLoopUtilization()
      const { utilization: utilisation } = performance.eventLoopUtilization(now, last)
      last = now
      const delayMs = Math.max(0, delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS)
      delay.reset()
      return { utilisation, delayMs, memory: residentBytes() / memoryBytesMax }
    },
    metrics: [
      gauge('tollgate_log_lines_dropped', 'Log lines that the log did not take, since the start.', log.dropped),
      gauge('process_resident_memory_bytes', 'Memory of the process.', residentBytes),
      {
        name: 'process_cpu_seconds_total',
        help: 'CPU time of the process.',
        type: 'counter',
        samples: () => [{ value: (process.cpuUsage().user + process.cpuUsage().system) / 1e6 }],
      },
      gauge(
        'process_start_time_seconds',
        'When the process began, Unix seconds.',
        () => Math.round(Date.now() / 1_000 - process.uptime()),
        'min',
      ),
    ],
    worker: String(process.pid),
    ...(parent === null ? {} : { others: parent }),
  }
}

async function wrappingKeys(config: Config): Promise<readonly Buffer[]> {
  if (config.kek !== null) return config.kek
  try {
    return await keptWrappingKey(config)
  } catch (thrown) {
    throw openFailure(thrown, config)
  }
}

async function keptWrappingKey(config: Config): Promise<readonly Buffer[]> {
  const path = join(config.dataDir, 'kek')
  if (!existsSync(path)) {
    makeFolder(config.dataDir)
    // No link is followed, and a key that another starting process has written stays.
    await writeFile(path, `${newWrappingKey().toString('base64')}\n`, { mode: 0o600, flag: 'wx' }).catch(
      (thrown: unknown) => {
        if (!existsSync(path)) throw thrown
      },
    )
  }
  const keys = parseWrappingKeys((await readFile(path, 'utf8')).trim())
  if (keys === null) throw new OperatorError(`${path}: is not base64 of 32 bytes`)
  return keys
}

function cataloguePath(config: Config): string | null {
  if (config.configFile !== null) {
    if (!existsSync(config.configFile))
      throw new OperatorError(`TOLLGATE_CONFIG: there is no file ${config.configFile}`)
    return config.configFile
  }
  return existsSync(DEFAULT_CATALOGUE) ? DEFAULT_CATALOGUE : null
}

async function applyFile(app: App, path: string): Promise<void> {
  const content = await readFile(path, 'utf8').catch((thrown: unknown) => {
    throw new OperatorError(`TOLLGATE_CONFIG: ${path} cannot be read: ${diskFault(thrown) ?? String(thrown)}.`, {
      cause: thrown,
    })
  })
  const lines = await app.catalog.applyText(content, { dryRun: false, onlyNew: true, file: path })
  if (lines.length > 0)
    process.stdout.write(
      `Applied ${path}: ${lines.length} change${lines.length === 1 ? '' : 's'}, price version ${app.catalog.current().priceVersion}\n`,
    )
}

/** Logs the parts of the catalogue that cannot be sold, and the changes that this release would make. */
async function tellCatalogue(app: App): Promise<void> {
  const first = app.rateFeed.start()
  // The start waits only for the very first rates; later starts have the last good ones.
  if (app.catalog.notes().length > 0) await first
  for (const { message } of app.catalog.notes()) process.stdout.write(`${message}\n`)
  const { lines, held } = await app.catalog.updateBundle(true)
  const changes = lines.length + held.length
  if (changes > 0)
    process.stdout.write(
      `The bundled models of this release differ in ${changes} points from those in use: see tollgate catalog update\n`,
    )
}

/** An account with 100 RUB and a key, for a newcomer's first minutes; the key is shown only this once. */
async function createDemo(app: App): Promise<string> {
  const ids = randomIds()
  const atMs = Date.now()
  const account = await app.store.accounts.create({
    id: `acc_${ids.letters(16)}`,
    name: 'Demo',
    email: null,
    defaultModel: 'sandbox/chat',
    rateLimit: null,
    createdAtMs: atMs,
  })
  await app.store.entries.post({
    accountId: account.id,
    kind: 'topup',
    amountMicro: DEMO_BALANCE_RUB * MICRO_PER_RUB,
    reason: 'demo balance',
    reference: `demo-${account.id}`,
    actor: 'start',
    atMs,
  })
  const key = generateKey(ids)
  await app.store.keys.create({
    id: `key_${ids.letters(16)}`,
    accountId: account.id,
    name: 'demo',
    digest: digestOf(key),
    label: labelOf(key),
    limitMicro: null,
    limitReset: null,
    expiresAtMs: null,
    allowedModels: null,
    createdAtMs: atMs,
  })
  return key
}

async function greet(app: App, url: string, demoKey: string | null): Promise<void> {
  const token = await app.links.firstToken()
  if (token !== null)
    process.stdout.write(`Console   ${url}/  (set-up link, valid for 60 minutes: ${url}/setup?token=${token})\n`)
  if (demoKey === null) return
  process.stdout.write(`API key   ${demoKey}  (demo account with ${DEMO_BALANCE_RUB} RUB; shown this once)\n`)
  // The key has a line to itself, ready to be copied.
  process.stdout.write(
    `Try it\ncurl ${url}/v1/chat/completions -H 'Authorization: Bearer ${demoKey}' -H 'Content-Type: application/json' -d '{"model":"sandbox/chat","messages":[{"role":"user","content":"Hello"}]}'\n`,
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts the server; resolves when it has stopped. */
async function start({ env, problems: fileProblems }: Environment): Promise<number> {
  const { config, problems, unknown } = readConfig(env)
  const lines = [...fileProblems, ...problems]
  if (lines.length > 0) throw new OperatorError(lines.join('\n'))
  if (cluster.isPrimary) for (const line of unknown) process.stderr.write(`${line}\n`)
  if (config.workers > 1 && cluster.isPrimary) return runWorkers(config)
  const parent = cluster.isWorker ? linkToParent() : null
  const path = cataloguePath(config)
  const log = createLog(config)
  const builder = env['CONSOLE_BUILDER']
  const app = await createApp({
    consoleDir: fileURLToPath(new URL('../console/dist', import.meta.url)),
    consoleBuilding: () => builder !== undefined && isAlive(Number(builder)),
    config,
    version: version(),
    wrappingKeys: await wrappingKeys(config),
    env,
    log,
    listeners: await openListeners(config, log),
    machine: machineOf(log, parent),
  })
  // One-time messages and tasks belong to the first worker.
  const others = cluster.isWorker && env[WORKER_ROLE] === 'other'
  const newcomer = others ? false : await prepare(app, path, config)
  if (others) void app.rateFeed.start()
  const { address, port, family } = await app.edge.listen(config.host, config.port)
  const urlOf = (host: string): string => `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
  const url = urlOf(address)
  // Only now: if the server failed to listen, the account would exist but its key would be lost.
  if (!others)
    await greet(
      app,
      config.publicUrl ?? urlOf(ownValue(LOOPBACK, address) ?? address),
      newcomer ? await createDemo(app) : null,
    )
  // A debugger stops the loop too, so the watch is off with one.
  if (parent === null && !process.execArgv.some((option) => option.startsWith('--inspect')))
    watchLoop(LOOP_STILL_MS, log.notice)
  // Registered before the ready line is printed: an earlier signal would end the process.
  const stopped = untilStopped(app, config, log)
  if (parent !== null) parent.ready(url)
  else process.stdout.write(`Tollgate ready on ${url}\n`)
  return stopped
}

/** This worker's connection to its parent. */
function linkToParent(): ParentLink {
  const link = new ParentLink({
    clock: systemClock,
    worker: String(process.pid),
    send: (message) => {
      if (process.connected) process.send?.(message)
    },
  })
  // Only the parent has the other end.
  process.on('message', (message) => link.heard(message as ToWorker))
  return link
}

function openListeners({ traces: target }: Config, { notice }: AppLog): Promise<readonly RequestListener[]> {
  const instance = `${hostname()}:${process.pid}`
  const options = { target, version: version(), instance, clock: systemClock, notice }
  return Promise.all(Object.values(LISTENERS).map((open) => open(options)))
}

/** Runs the workers of this machine behind one port; each of them runs `start` again. */
function runWorkers({ workers: count }: Config): Promise<number> {
  const group = new WorkerGroup({ count, clock: systemClock, say: (line) => process.stdout.write(`${line}\n`) })
  process.on('SIGTERM', () => group.stop())
  process.on('SIGINT', () => (group.stopping ? group.signal('SIGINT') : group.stop()))
  process.on('SIGHUP', () => group.reload())
  return group.run()
}

/**
 * Applies the catalogue file and logs what cannot be sold. Returns whether a newcomer needs a demo account: never with
 * a catalogue file or several nodes, which were set up on purpose.
 */
async function prepare(app: App, path: string | null, config: Config): Promise<boolean> {
  const fresh = (await app.store.accounts.list({ query: null, limit: 1, offset: 0 })).total === 0
  if (path !== null) await applyFile(app, path)
  const missing = missingSdkPackages(app.catalog.current().providers.values())
  if (missing.length > 0) throw new OperatorError(missing.join('\n'))
  await tellCatalogue(app)
  if (app.recovered > 0)
    process.stdout.write(
      `Gave back ${app.recovered} hold${app.recovered === 1 ? '' : 's'} of a process that had died\n`,
    )
  return fresh && path === null && config.databaseUrl === null
}

/** A faulty file changes nothing, and the server continues; a file that has appeared since the start is read too. */
async function reload(app: App, config: Config): Promise<void> {
  try {
    const path = cataloguePath(config)
    if (path === null)
      process.stderr.write(
        `SIGHUP: there is no ${DEFAULT_CATALOGUE} and TOLLGATE_CONFIG is not set, nothing to apply\n`,
      )
    else await applyFile(app, path)
  } catch (thrown) {
    const inForce = `the catalogue of before stays in force (price version ${app.catalog.current().priceVersion})`
    process.stderr.write(`SIGHUP: the catalogue file was not applied, ${inForce}: ${thrownMessage(thrown)}\n`)
  }
}

function untilStopped(app: App, config: Config, log: AppLog): Promise<number> {
  process.on('SIGHUP', () => void reload(app, config))
  return new Promise((resolve) => {
    const interrupts = new Interrupts({
      app,
      clock: systemClock,
      say: (line) => process.stdout.write(`${line}\n`),
      exit: () => process.exit(EXIT_INTERRUPTED),
    })
    const stopped = (): void => {
      app.stop().then(
        () => resolve(0),
        (thrown: unknown) => {
          log.bug(thrown, '')
          resolve(1)
        },
      )
    }
    process.on('SIGTERM', () => interrupts.terminate(stopped))
    process.on('SIGINT', () => interrupts.interrupt(stopped))
  })
}

/** A failed start is reported as one clear line, without a stack. */
function report(thrown: unknown): never {
  const known =
    thrown instanceof OperatorError || thrown instanceof CatalogError || thrown instanceof StoreUnavailableError
  const message = thrown instanceof Error ? (known ? thrown.message : (thrown.stack ?? thrown.message)) : String(thrown)
  process.stderr.write(`${message}\n`)
  process.exit(known ? EXIT_BAD_INPUT : 1)
}

async function main(): Promise<void> {
  // The output has no reader, or the disk is full: this is no reason to end.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  const settings = environment()
  const { env } = settings
  const code = await runCommand(process.argv.slice(2), {
    version: version(),
    env,
    secretFileProblems: settings.problems,
    stdout: (text) => process.stdout.write(`${text}\n`),
    stderr: (text) => process.stderr.write(`${text}\n`),
    clock: systemClock,
    ids: randomIds(),
    adapters: KNOWN_ADAPTERS,
    open: async (config) => openCore({ config, wrappingKeys: await wrappingKeys(config), env }),
    fetchLists: fetchDataSet,
    start: () => start(settings),
  })
  process.exit(code)
}

main().catch(report)
