import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { dashboardFiles } from '../../../scripts/dashboards.ts'
import { freePort, hasProgram, startProgram, schemaFindings, SCHEMAS } from '../../harness/program.ts'
import { ask } from '../../harness/node-bench.ts'
import { until } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { freshFolder, lasting } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ALERTS = join(ROOT, 'deploy/prometheus/alerts.yaml')
const GRAFANA = join(ROOT, 'deploy/grafana')
const CASES = join(import.meta.dirname, 'alerts.yaml')
const skip = hasProgram('promtool') ? false : 'no promtool on this machine'
const folder = freshFolder()
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string }
}

const rules: readonly Rule[] = parse(readFileSync(ALERTS, 'utf8')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)
const queries: readonly string[] = [...dashboardFiles().values()].flatMap((text) =>
  JSON.parse(text).panels.flatMap((panel: { targets: { expr: string }[] }) => panel.targets.map(({ expr }) => expr)),
)

function promtool(...words: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}${stderr}`)
}

test('each alert fires on figures that mean trouble, and on no others', { skip }, () => {
  promtool('test', 'rules', CASES)
  const names: readonly string[] = parse(readFileSync(CASES, 'utf8')).tests.map(({ name }: { name: string }) => name)
  assert.deepEqual(
    names,
    rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} keeps quiet`]),
  )
})

/** As Grafana asks. */
const filled = (interval: string): readonly string[] =>
  queries.map((query) => query.replaceAll('$__rate_interval', interval).replaceAll(/\$(?:job|instance)/g, '.*'))

test('each query of the dashboards is one that Prometheus understands', { skip }, () => {
  const records = filled('5m').map((expr, index) => ({ record: `query:${index}`, expr }))
  writeFileSync(join(folder, 'queries.yaml'), stringify({ groups: [{ name: 'queries', rules: records }] }))
  promtool('check', 'rules', join(folder, 'queries.yaml'))
  promtool('check', 'config', '--syntax-only', join(ROOT, 'deploy/prometheus/prometheus.yaml'))
})

test('the dashboards in deploy/grafana are those of scripts/dashboards.ts: `npm run docs` writes them', () => {
  for (const [name, text] of dashboardFiles())
    assert.equal(readFileSync(join(ROOT, 'deploy/grafana', name), 'utf8'), text, name)
})

if (SCHEMAS === null) process.stdout.write('No check by schemas on this machine: see .ci/run.\n')
else
  test("each dashboard is one by Grafana's published schema", () => {
    const shipped = readdirSync(GRAFANA).map((name) => join(GRAFANA, name))
    assert.ok(shipped.length >= 3)
    assert.equal(schemaFindings('dashboard', ...shipped), '')
    const [text = ''] = dashboardFiles().values()
    for (const [from, to] of [
      ['"title"', '"titel"'],
      ['"displayMode": "list"', '"displayMode": 7'],
      ['"expr"', '"exprs"'],
    ] as const) {
      assert.ok(text.includes(from))
      writeFileSync(join(folder, 'wrong.json'), text.replace(from, to))
      assert.match(schemaFindings('dashboard', join(folder, 'wrong.json')), /wrong\.json: /, to)
    }
  })

test('a server shows every metric that an alert or a dashboard asks for', async () => {
  const server = await lasting(startTollgate({ audited: false }))
  const { text } = await server.request('GET', '/metrics')
  const shown = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const asked = [...rules.map(({ expr }) => expr), ...queries].flatMap(
    (query) => query.match(/\b(?:tollgate|process|gen_ai_(?:client|server))_[a-z_]+(?=[{[ ]|$|\))/g) ?? [],
  )
  assert.ok(asked.length > 40)
  const missing = asked.map((name) => name.replace(/_(?:bucket|count)$/, '')).filter((name) => !shown.has(name))
  assert.deepEqual([...new Set(missing)], [])
})

test('a Prometheus with the shipped files scrapes a server, answers the dashboards, and notices when it is gone', async (context) => {
  if (!hasProgram('prometheus')) return context.skip('no prometheus on this machine')
  const server = await lasting(startTollgate({ audited: false }))
  const port = await freePort()
  const config = parse(readFileSync(join(ROOT, 'deploy/prometheus/prometheus.yaml'), 'utf8'))
  // Its targets and its pace are those of this test; the rest is the file's.
  config.global = { scrape_interval: '200ms', evaluation_interval: '200ms' }
  config.rule_files = [ALERTS]
  const [job] = config.scrape_configs
  job.authorization.credentials_file = join(folder, 'token')
  job.static_configs = [{ targets: [new URL(server.url).host] }]
  writeFileSync(join(folder, 'token'), server.adminToken)
  writeFileSync(join(folder, 'prometheus.yaml'), stringify(config))
  const words = [`--config.file=${join(folder, 'prometheus.yaml')}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`]
  await lasting(startProgram(['prometheus', ...words, `--web.listen-address=127.0.0.1:${port}`], port))
  // Prometheus's own form; the assertions are the type check.
  // oxlint-disable-next-line typescript/no-explicit-any
  const told = async (path: string): Promise<any> =>
    ((await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()) as { readonly data: unknown }).data
  const state = async (): Promise<ReadonlyMap<string, { readonly state: string; readonly health: string }>> => {
    const { groups } = await told('rules')
    return new Map(groups.flatMap((group: { rules: { name: string }[] }) => group.rules.map((one) => [one.name, one])))
  }
  const account = await server.createAccount()
  await until(20_000, 'it has scraped the server several times', async () => {
    assert.equal((await ask(server, account.key, 'words=5')).status, 200)
    const { result } = await told('query?query=rate(tollgate_requests_total[5s])')
    return result.length > 0
  })
  await until(20_000, 'each rule has been looked at', async () =>
    [...(await state()).values()].every(({ health }) => health === 'ok'),
  )
  assert.deepEqual(new Set((await state()).keys()), new Set(rules.map(({ alert }) => alert)))
  const empty: string[] = []
  for (const query of filled('5s')) {
    const { result } = await told(`query?query=${encodeURIComponent(query)}`)
    if (result.length === 0) empty.push(query)
  }
  context.diagnostic(`${queries.length - empty.length} of ${queries.length} queries have figures`)
  assert.ok(empty.length < queries.length / 2, empty.join('\n'))
  assert.equal((await state()).get('TollgateDown')?.state, 'inactive')
  await server.kill('SIGKILL')
  await until(
    20_000,
    'the alert waits for its minute',
    async () => (await state()).get('TollgateDown')?.state === 'pending',
  )
})
