import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { EmptyMachine, missingForMachine } from '../../harness/empty-machine.ts'
import { packTarball } from '../../harness/tarball.ts'

/** The pages of the operator, followed to the letter on a machine that has only the package. */

const ROOT = join(import.meta.dirname, '../..')
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

const folder = mkdtempSync(join(tmpdir(), 'tollgate-operator-'))
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
  rmSync(folder, { recursive: true, force: true })
})

describe("the operator's pages on an empty machine", { skip }, () => {
  let key = ''

  test('each command of the page is run here or by the restore drill', () => {
    assert.deepEqual(others, [])
    const drilled = blocks(OPERATIONS.slice(DRILLED))
    assert.equal(drilled.length, blocks(read('docs/operations.md')).length - 3)
    assert.match(read('test/crash/restore-drill.test.ts'), /\bsection\.startsWith\('Backup and restore'\)/)
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
