import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { foldStream } from '../harness/chat-fold.ts'
import { freePort } from '../harness/program.ts'
import { paced, until as untilIn } from '../harness/patience.ts'
import { startPostgres } from '../harness/postgres.ts'
import { MAIN, startTollgate } from '../harness/server.ts'
import { freshFolder, lasting } from '../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../..')
const KEK = Buffer.alloc(32, 'k').toString('base64')
const STREAM = 'Hello\nsandbox: words=100 gap_ms=3000'

const directory = freshFolder()

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A start that must end by itself. */
async function failedStart(env: Record<string, string>): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, 'start'], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'] ?? '',
      PORT: '0',
      TOLLGATE_DATA: join(directory, 'data'),
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compiled'),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
  const [code] = await once(child, 'close')
  return { code, ...said }
}

/** One sentence, no stack, exit 2. */
function assertSentence({ code, err }: Ended, expected: RegExp): void {
  assert.match(err, expected)
  assert.equal(err.trimEnd().split('\n').length, 1, err)
  assert.equal(code, 2)
}

test('a port that is taken: one sentence with the address, and the demo key is kept for the start that succeeds', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const dataDir = join(directory, 'busy')
  mkdirSync(dataDir)
  const ended = await failedStart({ PORT: String(port), TOLLGATE_DATA: dataDir })
  assertSentence(ended, new RegExp(`^tollgate: PORT: ${port} of 127\\.0\\.0\\.1 is taken by another program`))
  assert.doesNotMatch(ended.out, /sk-tg-/)
  other.close()
  const started = await startTollgate({ dataDir })
  assert.match(started.logs().join('\n'), /^API key +sk-tg-/m)
  await started.stop()
})

test('an address that is not of this machine, a folder that is a file and a database file that is none are one sentence each', async () => {
  assertSentence(
    await failedStart({ HOST: '203.0.113.7', TOLLGATE_DATA: join(directory, 'far') }),
    /^tollgate: HOST: 203\.0\.113\.7 is not an address of this machine\.$/m,
  )
  const file = join(directory, 'file')
  writeFileSync(file, 'x')
  assertSentence(
    await failedStart({ TOLLGATE_DATA: file }),
    /^tollgate: TOLLGATE_DATA: the folder \S+file cannot be used: there is a file of that name\.$/m,
  )
  assertSentence(
    await failedStart({ TOLLGATE_DATA: join(file, 'below') }),
    /^tollgate: TOLLGATE_DATA: the folder \S+below cannot be used: a part of the path is a file and not a folder\.$/m,
  )
  // Node's own search for the folder above never ends there.
  assertSentence(
    await failedStart({ TOLLGATE_DATA: '/proc/nobody' }),
    /^tollgate: TOLLGATE_DATA: the folder \/proc\/nobody cannot be used: /m,
  )
  const garbled = join(directory, 'garbled')
  mkdirSync(garbled)
  writeFileSync(join(garbled, 'tollgate.db'), 'not a database, and longer than the header of one'.repeat(100))
  assertSentence(await failedStart({ TOLLGATE_DATA: garbled }), /cannot be used: tollgate\.db is not a database\.$/m)
})

test('a database that is not there, refuses the password or lacks the name: each says which, without the password', async () => {
  const nobody = await freePort()
  const secret = 'not-the-password'
  const refused = await failedStart({
    DATABASE_URL: `postgres://u:${secret}@127.0.0.1:${nobody}/tollgate`,
    TOLLGATE_KEK: KEK,
  })
  assertSentence(
    refused,
    new RegExp(`^tollgate: DATABASE_URL: the database tollgate at 127\\.0\\.0\\.1:${nobody} refuses connections`),
  )
  const unknown = await failedStart({
    DATABASE_URL: `postgres://u:${secret}@nowhere.invalid/tollgate`,
    TOLLGATE_KEK: KEK,
  })
  assertSentence(unknown, /has a host name that does not resolve/)
  const postgres = await lasting(startPostgres())
  if (postgres === null) return
  const url = new URL(postgres.url)
  const missing = await failedStart({
    DATABASE_URL: Object.assign(new URL(url), { pathname: '/none' }).href,
    TOLLGATE_KEK: KEK,
  })
  assertSentence(
    missing,
    /the database none at \S+ does not exist there: create it first \(database "none" does not exist\)/,
  )
  for (const { err } of [refused, unknown, missing]) assert.doesNotMatch(err, new RegExp(secret))
})

test('a node of a cluster makes no demo account', async () => {
  const postgres = await lasting(startPostgres())
  if (postgres === null) return
  const node = await startTollgate({ env: { DATABASE_URL: postgres.url, TOLLGATE_KEK: KEK } })
  assert.doesNotMatch(node.logs().join('\n'), /sk-tg-/)
  assert.equal((await node.admin('GET', '/admin/v1/accounts')).body.total, 0)
  await node.stop()
})

test('SIGHUP: without a file it says so, with one that has come since the start it applies it', async () => {
  const tollgate = await lasting(startTollgate({}))
  process.kill(tollgate.pid, 'SIGHUP')
  await until(() => /SIGHUP: there is no \.\/tollgate\.yaml/.test(tollgate.errors()))
  writeFileSync(join(tollgate.dataDir, 'tollgate.yaml'), 'markup: 1.5\n')
  process.kill(tollgate.pid, 'SIGHUP')
  await until(
    () => /Applied \.\/tollgate\.yaml/.test(tollgate.logs().join('\n')),
    () => assert.equal(tollgate.errors().trimEnd().split('\n').length, 1, tollgate.errors()),
  )
})

test('SIGHUP: a refused file is logged, with the catalogue that stays in force', async () => {
  const tollgate = await lasting(startTollgate({}))
  for (const [content, mistake] of [
    ['markup: much\n', /markup/],
    ['markup: [1\n', /./],
  ] as const) {
    const before = tollgate.errors().length
    writeFileSync(join(tollgate.dataDir, 'tollgate.yaml'), content)
    process.kill(tollgate.pid, 'SIGHUP')
    const told =
      /SIGHUP: the catalogue file was not applied, the catalogue of before stays in force \(price version (\d+)\): (.+)/
    await until(() => told.test(tollgate.errors().slice(before)))
    const [, version, why = ''] = told.exec(tollgate.errors().slice(before)) ?? []
    assert.equal(Number(version), (await tollgate.admin('GET', '/admin/v1/catalog')).body.version ?? Number(version))
    assert.match(why, mistake)
  }
})

test('secrets in files: each file that gives none is a line of its own, and a good one is read without its line end', async () => {
  const path = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const broken = {
    TOLLGATE_KEK_FILE: join(directory, 'nowhere'),
    TOLLGATE_ADMIN_TOKEN_FILE: path('blank', '\n'),
    OPENAI_API_KEY_FILE: directory,
    VALKEY_URL_FILE: '/dev/zero',
    TELEGRAM_BOT_TOKEN_FILE: path('bot', 'not-a-token-but-secret\n'),
    DATABASE_URL: 'postgres://u@127.0.0.1/t',
    DATABASE_URL_FILE: path('database', 'postgres://u@127.0.0.1/t\n'),
  }
  const { code, err } = await failedStart(broken)
  assert.equal(code, 2)
  assert.deepEqual(err.trimEnd().split('\n').toSorted(), [
    'DATABASE_URL_FILE: is set beside DATABASE_URL: unset one of them',
    `OPENAI_API_KEY_FILE: ${directory} cannot be read: it is a folder and not a file`,
    'TELEGRAM_BOT_TOKEN_FILE: must be a token as BotFather gives it, such as 123456:ABC-DEF…',
    `TOLLGATE_ADMIN_TOKEN_FILE: ${join(directory, 'blank')} is empty`,
    'VALKEY_URL_FILE: /dev/zero has more than 65536 bytes, which no secret has',
    `tollgate: TOLLGATE_KEK_FILE: ${join(directory, 'nowhere')} cannot be read: it does not exist`,
  ])
  const tollgate = await startTollgate({
    env: { TOLLGATE_KEK_FILE: path('kek', `${KEK}\r\n`), OPENAI_API_KEY_FILE: path('openai', 'sk-of-a-file\n') },
  })
  assert.match((await tollgate.admin('GET', '/admin/v1/providers/openai')).text, /"api_key":"[^"]*file"/)
  await tollgate.stop()
})

test('a misspelt setting is refused with the name that was probably meant', async () => {
  const tollgate = await startTollgate({ env: { TOLLGATE_LOG_LEVLE: 'debug', TOLLGATE_SPEED: '9' } })
  await tollgate.stop()
  assert.match(tollgate.errors(), /^TOLLGATE_LOG_LEVLE is not a setting, did you mean TOLLGATE_LOG_LEVEL\?$/m)
  assert.match(tollgate.errors(), /^TOLLGATE_SPEED is not a setting: see docs\/settings\.md$/m)
})

test('a second Ctrl-C names the running answers, a third cuts them: the stream ends with an error and is free', async () => {
  const dataDir = join(directory, 'interrupted')
  mkdirSync(dataDir)
  let tollgate = await startTollgate({ dataDir })
  const account = await tollgate.createAccount({ balance: 10 })
  const response = await fetch(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox/chat',
      stream: true,
      max_tokens: 200,
      messages: [{ role: 'user', content: STREAM }],
    }),
  })
  for (const line of [
    /Stopping when 1 running answer has ended/,
    /Waiting for 1 running answer/,
    /Cutting 1 running answer/,
  ]) {
    process.kill(tollgate.pid, 'SIGINT')
    await until(
      () => line.test(tollgate.logs().join('\n')),
      () => process.kill(tollgate.pid, 0),
    )
    await paced(350, 'what comes within 300 ms is the same Ctrl-C, told by npm as well')
  }
  const { error } = foldStream(response.status, await response.text(), {})
  assert.ok(error !== null, 'the client is told')
  await until(() => !tollgate.runs)
  assert.equal(tollgate.exitCode, 0)
  tollgate = await startTollgate({ dataDir })
  const { body } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)
  assert.deepEqual([body.balance, body.reserved], [10, 0])
  await tollgate.stop()
})

test('`npm start` becomes the server: no process stands between it and a signal', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.match(scripts.start, /^(?:[A-Z_]+=\d+ )*exec node /)
})

test('an older Node reads one line that says what to do', () => {
  const entry = readFileSync(join(ROOT, 'bin/tollgate.js'), 'utf8')
  assert.doesNotMatch(entry, /^import\s/m, 'a static import would be resolved before the check')
  const older = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})`
  const { status, stderr } = spawnSync(process.execPath, ['--import', older, join(ROOT, 'bin/tollgate.js'), 'start'], {
    encoding: 'utf8',
    cwd: directory,
  })
  assert.equal(status, 1)
  assert.match(stderr, /^Tollgate needs Node 24\.15 or newer, this is 20\.20\.2\. .*npm start.*\n$/)
})

test('without the packages that build the console one line says what to do', () => {
  const clone = join(directory, 'clone')
  for (const folder of ['bin', 'scripts', 'console/src']) mkdirSync(join(clone, folder), { recursive: true })
  for (const file of ['bin/console-fresh.js', 'bin/program.js', 'scripts/build-console.ts'])
    copyFileSync(join(ROOT, file), join(clone, file))
  const { stderr } = spawnSync(
    process.execPath,
    ['-e', "import('./bin/console-fresh.js').then(({ freshenConsole }) => freshenConsole())"],
    { cwd: clone, encoding: 'utf8' },
  )
  assert.match(stderr, /^The console is not built, and npm ci --omit=dev leaves out what builds it: run .+\n$/)
})

function until(holds: () => boolean, alive: () => unknown = () => undefined): Promise<unknown> {
  return untilIn(30_000, `it comes: ${holds.toString()}`, () => {
    alive()
    return holds()
  })
}
