import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { startTroubledWorld } from './alert-causes.ts'
import { lasting } from '../../harness/lasting.ts'
import { ALERTMANAGER, startAlerting, type Alerting } from './alerting.ts'
import { until } from '../../harness/patience.ts'
import { hasProgram } from '../../harness/program.ts'

/**
 * Each alert of deploy/prometheus, brought about on a real server, seen by a real Prometheus and delivered by a real
 * Alertmanager with the shipped routes to a mail server and to webhooks. promtool tries the rules with their own times
 * and thresholds (monitoring.test.ts); here each waits a hundredth of its time, and the thresholds below are lower.
 */

const SHIPPED = join(import.meta.dirname, '../../../deploy/prometheus')
const DELIVERED_MS = 30_000
/** What a test cannot bring about: most of this machine's memory, a thousand open ends, an hour. */
const LOWERED = {
  TollgateMemoryHigh: [['> 0.85', '> 0.0001']],
  TollgateJournalGrows: [['> 1000', '> 0']],
  TollgateRevenueStopped: [
    ['[15m]', '[3s]'],
    ['[1h] offset 15m', '[60s] offset 3s'],
  ],
} as const
const RECEIVERS: Readonly<Record<'page' | 'ticket', readonly string[]>> = {
  page: ['oncall@example.com', '/pager'],
  ticket: ['team@example.com', '/tickets'],
}

const rules: readonly { readonly alert: string; readonly labels: { readonly severity: keyof typeof RECEIVERS } }[] =
  parse(readFileSync(join(SHIPPED, 'alerts.yaml'), 'utf8')).groups[0].rules
const missing =
  ALERTMANAGER === undefined || !hasProgram('prometheus') ? 'needs Prometheus and its Alertmanager' : false

test('amtool finds no fault in the shipped file, and its routes go by severity', { skip: missing }, () => {
  const amtool = (...words: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync('amtool', words, { encoding: 'utf8' })
    assert.equal(status, 0, `${stdout}${stderr}`)
    return stdout.trim()
  }
  const file = join(SHIPPED, 'alertmanager.yaml')
  amtool('check-config', file)
  for (const { alert, labels } of rules) {
    const route = amtool(
      'config',
      'routes',
      'test',
      `--config.file=${file}`,
      `alertname=${alert}`,
      `severity=${labels.severity}`,
    )
    assert.equal(route, labels.severity, alert)
  }
})

const world = missing === false ? await lasting(startTroubledWorld()) : null
const alerting = world === null ? null : await lasting(startAlerting(world.hosts, world.token, LOWERED))

test('each alert of the file is delivered to those whom its severity names', { skip: missing }, async (context) => {
  if (world === null || alerting === null) return context.skip('no PostgreSQL')
  assert.deepEqual([...world.causes.keys()].toSorted(), rules.map(({ alert }) => alert).toSorted())
  for (const [alert, { of, bring }] of world.causes)
    await context.test(alert, async () => {
      const severity = rules.find((rule) => rule.alert === alert)?.labels.severity ?? 'page'
      const tookMs = await until(DELIVERED_MS, `${alert} is told`, async () => {
        await bring()
        return RECEIVERS[severity].every((receiver) => told(alert, of, 'firing').some(({ to }) => to === receiver))
      })
      context.diagnostic(`${alert}: ${(tookMs / 1_000).toFixed(1)} s`)
      const others = alerting.told.filter((one) => one.alert === alert).map(({ to }) => to)
      assert.deepEqual(
        others.filter((to) => !RECEIVERS[severity].includes(to)),
        [],
      )
      for (const { by, summary } of told(alert, of, 'firing').filter((one) => one.by === 'webhook'))
        assert.match(summary, /^(?!.*(?:<no value>|\{\{|NaN)).{20,}\.$/, by)
    })
})

test(
  'what follows from a store that is gone is held back, and the end of it is told',
  { skip: missing },
  async (context) => {
    if (world === null || alerting === null) return context.skip('no PostgreSQL')
    const { host } = new URL(world.stored.url)
    await until(DELIVERED_MS, 'it is not ready, which is held back', async () =>
      (await alerting.alerts()).some(
        ({ labels, status }) =>
          labels['alertname'] === 'TollgateNotReady' && labels['instance'] === host && status.state === 'suppressed',
      ),
    )
    await world.postgres.start()
    await until(
      DELIVERED_MS,
      'the end of the outage is told',
      () => new Set(told('TollgateStoreDown', host, 'resolved').map(({ by }) => by)).size === 2,
    )
  },
)

/** What the receivers have of an alert; of a server, or of all. */
function told(alert: string, of: string | null, status: string): Alerting['told'] {
  return (alerting?.told ?? []).filter((one) => one.alert === alert && one.instance === of && one.status === status)
}
