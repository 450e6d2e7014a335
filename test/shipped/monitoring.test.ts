import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { dashboardFiles } from '../../scripts/dashboards.ts'
import { hasProgram } from '../harness/program.ts'
import { startTollgate } from '../harness/server.ts'

const ROOT = join(import.meta.dirname, '../..')
const ALERTS = join(ROOT, 'deploy/prometheus/alerts.yaml')
const CASES = join(import.meta.dirname, 'alerts.yaml')
const skip = hasProgram('promtool') ? false : 'no promtool on this machine'
const folder = mkdtempSync(join(tmpdir(), 'tollgate-monitoring-'))
after(() => rmSync(folder, { recursive: true, force: true }))

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

test('each query of the dashboards is one that Prometheus understands', { skip }, () => {
  const filled = queries.map((query) =>
    query.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance)/g, '.*'),
  )
  const records = filled.map((expr, index) => ({ record: `query:${index}`, expr }))
  writeFileSync(join(folder, 'queries.yaml'), stringify({ groups: [{ name: 'queries', rules: records }] }))
  promtool('check', 'rules', join(folder, 'queries.yaml'))
  promtool('check', 'config', '--syntax-only', join(ROOT, 'deploy/prometheus/prometheus.yaml'))
})

test('the dashboards in deploy/grafana are those of scripts/dashboards.ts: `npm run docs` writes them', () => {
  for (const [name, text] of dashboardFiles())
    assert.equal(readFileSync(join(ROOT, 'deploy/grafana', name), 'utf8'), text, name)
})

test('a server shows every metric that an alert or a dashboard asks for', async () => {
  const server = await startTollgate({ audited: false })
  try {
    const { text } = await server.request('GET', '/metrics')
    const shown = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
    const asked = [...rules.map(({ expr }) => expr), ...queries].flatMap(
      (query) => query.match(/\b(?:tollgate|process|gen_ai_(?:client|server))_[a-z_]+(?=[{[ ]|$|\))/g) ?? [],
    )
    assert.ok(asked.length > 40)
    const missing = asked.map((name) => name.replace(/_(?:bucket|count)$/, '')).filter((name) => !shown.has(name))
    assert.deepEqual([...new Set(missing)], [])
  } finally {
    await server.stop()
  }
})
