import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { packTarball, hasProgram } from '../../harness/program.ts'
import { spawn, type ChildProcess } from 'node:child_process'
import { patient, until } from '../../harness/patience.ts'
import { postgresBin } from '../../harness/postgres.ts'
import { freshFolder } from '../../harness/lasting.ts'

const COMMANDS_MS = 120_000

/** What is wanted for one that is not there; null = nothing. */
function missingForMachine(): string | null {
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = ['bwrap', 'setpriv', 'curl', 'haproxy'].find((name) => !hasProgram(name))
  if (missing !== undefined) return `needs ${missing}`
  if (!hasProgram('valkey-server') && !hasProgram('redis-server')) return 'needs Valkey or Redis'
  return postgresBin() === null ? 'needs PostgreSQL' : null
}

/**
 * A machine without this clone: the system's programs, Node, empty folders and a network of its own, so that each
 * address and port is the one that a page names. Its shell keeps its folder and its environment.
 */
class EmptyMachine {
  readonly #shell: ChildProcess
  readonly #folder: string
  #said = ''
  #runs = 0

  private constructor(shell: ChildProcess, folder: string) {
    this.#shell = shell
    this.#folder = folder
    for (const output of [shell.stdout, shell.stderr])
      output?.on('data', (part: Buffer) => (this.#said += String(part)))
  }

  /** `files`: by the path in the machine, the file here that it is. `hosts`: the addresses of names. */
  static start(files: Readonly<Record<string, string>>, hosts: Readonly<Record<string, string>>): EmptyMachine {
    const folder = freshFolder()
    const names = Object.entries({ localhost: '127.0.0.1', ...hosts }).map(([name, address]) => `${address} ${name}`)
    writeFileSync(join(folder, 'hosts'), `${names.join('\n')}\n`)
    const bound = { '/opt/node/bin/node': process.execPath, '/etc/hosts': join(folder, 'hosts'), ...files }
    const alone =
      '--unshare-net --unshare-pid --die-with-parent --clearenv --ro-bind /usr /usr --proc /proc --dev /dev --tmpfs /tmp'
    const path = `/opt/node/bin:${postgresBin() ?? ''}:/usr/sbin:/usr/bin`
    const home = `--setenv PATH ${path} --setenv HOME /srv --chdir /srv`
    const box = [
      ...alone.split(' '),
      ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
      // Folders of bound files are only root's otherwise.
      ...['/etc', '/opt', '/opt/node', '/opt/node/bin', '/srv'].flatMap((name) => ['--dir', name]),
      ...['passwd', 'group', 'nsswitch.conf', 'alternatives'].flatMap((name) => [
        '--ro-bind',
        `/etc/${name}`,
        `/etc/${name}`,
      ]),
      ...Object.entries(bound).flatMap(([name, file]) => ['--ro-bind', file, name]),
      ...home.split(' '),
    ]
    return new EmptyMachine(spawn('bwrap', [...box, 'sh', '-e'], { stdio: 'pipe' }), folder)
  }

  /** Runs commands in its shell, which a failure ends; answers with what they print. */
  async run(commands: string): Promise<string> {
    this.#runs += 1
    const mark = `--- ${this.#runs} ---`
    const from = this.#said.length
    this.#shell.stdin?.write(`${commands}\necho '${mark}'\n`)
    await until(COMMANDS_MS, commands, () => {
      assert.equal(this.#shell.exitCode, null, `${commands}\n${this.#said.slice(from)}`)
      return this.#said.slice(from).includes(`${mark}\n`)
    })
    return this.#said.slice(from, this.#said.indexOf(`${mark}\n`, from))
  }

  /** Starts a server in the background, with its process id and its output in files of that name. */
  async serve(name: string, command: string, ready: string): Promise<void> {
    const limit = Math.round(patient(COMMANDS_MS) / 1_000)
    await this.run(
      `${command} >/srv/${name}.log 2>&1 & echo $! >/srv/${name}.pid
timeout ${limit} sh -c 'until ${ready}; do kill -0 "$(cat /srv/${name}.pid)" || exit 1; sleep 0.1; done' >/dev/null 2>&1 || { cat /srv/${name}.log; false; }`,
    )
  }

  async stop(): Promise<void> {
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) {
      const ended = new Promise((resolve) => this.#shell.once('exit', resolve))
      this.#shell.kill('SIGKILL')
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The pages of the operator, followed to the letter on a machine that has only the package. */

const ROOT = join(import.meta.dirname, '../../..')
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const OPERATIONS = read('docs/operations.md')
const DRILLED = OPERATIONS.indexOf('\n## Backup and restore')
const [INSTALL = ''] = /(?<=`)npm install --global \.\/tollgate-….tgz(?=`)/.exec(read('docs/install.md')) ?? []
const blocks = (text: string): readonly string[] =>
  [...text.matchAll(/```sh\n([^]*?)```/g)].map(([, commands = '']) => commands)
/** Those of the section on backups are the restore drill's, which runs all of them. */
const [NODES = '', COPY = '', AUDIT = '', ...others] = blocks(OPERATIONS.slice(0, DRILLED))
const TOKEN = randomBytes(24).toString('hex')
/** Requests through the balancer while nodes are replaced, fewer than the rate limit of an account. */
const CHATS = `while [ ! -e /srv/over ]; do chat http://proxy:8080 >>/srv/chats; sleep 0.3; done`
const skip = missingForMachine() ?? false

const folder = freshFolder()
let machine: EmptyMachine
let tarball = ''

before(() => {
  if (skip !== false) return
  tarball = packTarball(join(folder, 'packed'))
  const balancer = read('deploy/compose/haproxy.cfg')
  // All of them are on one machine here.
  assert.ok(balancer.includes('bind :8080\n'))
  writeFileSync(join(folder, 'haproxy.cfg'), balancer.replace('bind :8080\n', 'bind 127.0.0.1:8080\n'))
  machine = EmptyMachine.start(
    { '/srv/tollgate-0.tgz': tarball, '/srv/haproxy.cfg': join(folder, 'haproxy.cfg') },
    { db: '127.0.0.1', cache: '127.0.0.1', proxy: '127.0.0.1', 'node-1': '127.0.0.2', 'node-2': '127.0.0.3' },
  )
})
after(async () => {
  if (skip === false) await machine.stop()
})

describe("the operator's pages on an empty machine", { skip }, () => {
  let key = ''

  test('each command of the page is run here or by the restore drill', () => {
    assert.deepEqual(others, [])
    const drilled = blocks(OPERATIONS.slice(DRILLED))
    assert.equal(drilled.length, blocks(read('docs/operations.md')).length - 3)
    assert.match(read('test/long/crash/restore-drill.test.ts'), /\bsection\.startsWith\('Backup and restore'\)/)
  })

  test('install, start, and the line that the start prints: a billed answer', async () => {
    await machine.run(INSTALL.replace('…', '*'))
    await machine.run('mkdir /srv/service && cd /srv/service')
    await machine.serve('tollgate', 'tollgate start', 'grep -q "^curl " /srv/tollgate.log')
    const answer = await machine.run(`grep '^curl ' /srv/tollgate.log | sed 's/^curl /curl -sS /' | sh; echo`)
    assert.ok(JSON.parse(answer).usage.cost > 0, answer)
    key = /sk-tg-[\w-]+/.exec(await machine.run(`grep '^curl ' /srv/tollgate.log`))?.[0] ?? assert.fail()
  })

  test('from one node to several: the embedded store is copied into PostgreSQL', async () => {
    // The service of systemd, and the machine of the database.
    await machine.run(`cat >/opt/node/bin/systemctl <<'END'
#!/bin/sh
[ "$*" = 'stop tollgate' ] && kill "$(cat /srv/tollgate.pid)" && tail --pid="$(cat /srv/tollgate.pid)" -f /dev/null
END
chmod +x /opt/node/bin/systemctl
mkdir /backups
install -d -o postgres /var/lib/postgresql
setpriv --reuid=postgres --regid=postgres --clear-groups sh -ec 'cd /var/lib/postgresql; initdb -D data -A trust -U postgres >/dev/null'`)
    const server =
      'setpriv --reuid=postgres --regid=postgres --clear-groups postgres -D /var/lib/postgresql/data -k /var/lib/postgresql'
    await machine.serve('postgres', server, 'pg_isready -h db')
    await machine.run('createuser -h db -U postgres tollgate; createdb -h db -U postgres -O tollgate tollgate')
    await machine.run(COPY)
    await machine.run('mv data data.old')
  })

  test('two nodes with the settings of the page, behind a balancer: the same key, the same money', async () => {
    await machine.serve(
      'valkey',
      '$(command -v valkey-server || command -v redis-server) --save "" --appendonly no',
      'bash -c "</dev/tcp/cache/6379"',
    )
    const settings = NODES.replace(/^(TOLLGATE_KEK=)…/m, `$1'$TOLLGATE_KEK'`).replace(
      /^(TOLLGATE_ADMIN_TOKEN=)…/m,
      `$1${TOKEN}`,
    )
    assert.doesNotMatch(settings, /=…/)
    for (const name of ['node-1', 'node-2'])
      await machine.run(
        `mkdir /srv/${name}; cat >/srv/${name}/.env <<END\n${settings}TRUSTED_PROXIES=127.0.0.1/32\nOPENAI_API_KEY=sk-none\nEND`,
      )
    await startNode('node-1')
    await startNode('node-2')
    await machine.serve('haproxy', 'haproxy -db -f /srv/haproxy.cfg', 'curl -fsS http://proxy:8080/readyz')
    await machine.run(
      `chat() { curl -fsS "$1/v1/chat/completions" -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"model":"sandbox/chat","messages":[{"role":"user","content":"Hello"}]}'; echo; }`,
    )
    const told = await machine.run('for at in proxy node-1 node-2; do chat http://$at:8080; done')
    const costs = told
      .trim()
      .split('\n')
      .map((line) => Number(JSON.parse(line).usage.cost))
    assert.equal(costs.length, 3)
    const balance = JSON.parse(
      await machine.run(`curl -fsS http://proxy:8080/v1/user/balance -H 'Authorization: Bearer ${key}'; echo`),
    )
    assert.ok(
      costs.every((cost) => cost > 0) && balance.balance < 100 - costs.reduce((sum, cost) => sum + cost, 0),
      'the first answer was paid before the copy',
    )
  })

  test('nodes are replaced one after another: each request through the balancer is answered', async () => {
    await machine.run(`(${CHATS}) & echo $! >/srv/chatting`)
    for (const name of ['node-1', 'node-2']) {
      await machine.run(`kill "$(cat /srv/${name}.pid)"; tail --pid="$(cat /srv/${name}.pid)" -f /dev/null`)
      await startNode(name)
    }
    await machine.run('touch /srv/over; tail --pid="$(cat /srv/chatting)" -f /dev/null')
    const chats = (await machine.run('cat /srv/chats')).trim().split('\n')
    assert.ok(chats.length > 10, String(chats.length))
    assert.deepEqual(
      chats.filter((line) => !line.includes('"cost"')),
      [],
    )
  })

  test('the audit, the replay and the comparison with a bill', async () => {
    await machine.run(`printf 'date,model,cost,currency\\n2026-11-01,none,0,RUB\\n' >openai-november.csv`)
    const told = await machine.run(AUDIT)
    assert.match(told, /"violations":\s*0/)
  })

  test('workers behind one port: metrics of each', async () => {
    await machine.run(
      'for name in node-1 node-2; do kill "$(cat /srv/$name.pid)"; tail --pid="$(cat /srv/$name.pid)" -f /dev/null; done',
    )
    await startNode('node-1', 'TOLLGATE_WORKERS=4')
    const metrics = await machine.run(
      `curl -fsS 'http://node-1:8080/metrics?per=worker' -H 'Authorization: Bearer ${TOKEN}'`,
    )
    assert.equal(new Set([...metrics.matchAll(/^tollgate_ready\{worker="(\d+)"\} 1$/gm)].map(([, id]) => id)).size, 4)
  })

  /** Only the settings of its folder count. */
  async function startNode(name: string, more = ''): Promise<void> {
    const node = `env -u DATABASE_URL -u TOLLGATE_KEK ${more} HOST=${name} tollgate start`
    await machine.run(`cd /srv/${name}`)
    await machine.serve(name, node, `grep -q "Tollgate ready" /srv/${name}.log && curl -fsS http://${name}:8080/readyz`)
    await machine.run('cd /srv/service')
  }
})
