import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { edited, freePort, hasProgram, startProgram } from '../../harness/program.ts'
import { startMailServer, type ReceivedMail } from '../../harness/mail-server.ts'
import { freshFolder } from '../../harness/lasting.ts'

const SHIPPED = join(import.meta.dirname, '../../../deploy/prometheus')
/** Debian's name of it, and its own. */
export const ALERTMANAGER = ['prometheus-alertmanager', 'alertmanager'].find(hasProgram)
const LOGIN = { user: 'alerts@example.com', password: 'mail-secret' }
/** What the alerts of the file wait for is shortened so much: the order of two of them stays. */
const FASTER = 100

/** A message of the Alertmanager that a receiver took. */
interface Told {
  readonly by: 'mail' | 'webhook'
  /** The mailbox, or the path of the webhook. */
  readonly to: string
  readonly status: string
  readonly alert: string
  readonly instance: string | null
  /** As the alert's file says it; of a mail its subject. */
  readonly summary: string
}

export interface Alerting {
  readonly told: readonly Told[]
  /** The Alertmanager's own list. */
  alerts(): Promise<readonly StandingAlert[]>
  stop(): Promise<void>
}

export interface StandingAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly status: { readonly state: string; readonly inhibitedBy: readonly string[] }
}

interface Rule {
  readonly alert: string
  readonly for?: string
  readonly expr: string
}

/**
 * A Prometheus and an Alertmanager with the shipped files, a mail server and a receiver of webhooks. Of the files only
 * addresses and times are others, and of the rules what `lowered` says: what stands there and what it becomes.
 */
export async function startAlerting(
  targets: readonly string[],
  token: string,
  lowered: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>>,
): Promise<Alerting> {
  assert.ok(ALERTMANAGER !== undefined)
  const folder = freshFolder()
  const told: Told[] = []
  const mail = await startMailServer(LOGIN)
  const hooks = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      told.push(...alertsOf(request.url ?? '', Buffer.concat(parts).toString()))
      response.end()
    })
  })
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with it.
  const own = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}`
  const [managerPort, prometheusPort] = [await freePort(), await freePort()]
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const managed = edited(readFileSync(join(SHIPPED, 'alertmanager.yaml'), 'utf8'), [
    ['mail.example.com:587', `127.0.0.1:${mail.port}`],
    ['smtp_from: ', 'smtp_require_tls: false\n  smtp_from: '],
    ['/etc/alertmanager/smtp-password', file('smtp-password', LOGIN.password)],
    ['https://pager.example.com/tollgate', `${own}/pager`],
    ['https://tickets.example.com/tollgate', `${own}/tickets`],
    ['group_wait: 30s', 'group_wait: 200ms'],
    ['group_wait: 10s', 'group_wait: 200ms'],
    ['group_interval: 5m', 'group_interval: 300ms'],
  ])
  const manager = await startProgram(
    [
      ALERTMANAGER,
      `--config.file=${file('alertmanager.yaml', managed)}`,
      `--storage.path=${join(folder, 'manager')}`,
      `--web.listen-address=127.0.0.1:${managerPort}`,
      '--cluster.listen-address=',
    ],
    managerPort,
  )
  const config = parse(readFileSync(join(SHIPPED, 'prometheus.yaml'), 'utf8'))
  config.global = { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '250ms' }
  config.rule_files = [file('alerts.yaml', stringify(fastRules(lowered)))]
  config.alerting.alertmanagers[0].static_configs = [{ targets: [`127.0.0.1:${managerPort}`] }]
  const [job] = config.scrape_configs
  job.authorization.credentials_file = file('token', token)
  job.static_configs = [{ targets }]
  const prometheus = await startProgram(
    [
      'prometheus',
      `--config.file=${file('prometheus.yaml', stringify(config))}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${prometheusPort}`,
    ],
    prometheusPort,
  )
  return {
    get told() {
      return [...told, ...mail.received.map(mailOf)]
    },
    alerts: async () =>
      (await (await fetch(`http://127.0.0.1:${managerPort}/api/v2/alerts`)).json()) as readonly StandingAlert[],
    stop: async () => {
      await prometheus.stop()
      await manager.stop()
      hooks.closeAllConnections()
      hooks.close()
      await mail.close()
    },
  }
}

function fastRules(lowered: Parameters<typeof startAlerting>[2]): unknown {
  const shipped = parse(readFileSync(join(SHIPPED, 'alerts.yaml'), 'utf8'))
  const rules: readonly Rule[] = shipped.groups[0].rules
  shipped.groups[0].rules = rules.map((rule) => ({
    ...rule,
    expr: edited(rule.expr, lowered[rule.alert] ?? []),
    ...(rule.for === undefined ? {} : { for: `${secondsOf(rule.for) * (1_000 / FASTER)}ms` }),
  }))
  return shipped
}

function secondsOf(duration: string): number {
  const [, count = '', unit] = /^(\d+)([sm])$/.exec(duration) ?? assert.fail(duration)
  return Number(count) * (unit === 'm' ? 60 : 1)
}

function alertsOf(path: string, body: string): readonly Told[] {
  const { alerts }: { readonly alerts: readonly WebhookAlert[] } = JSON.parse(body)
  return alerts.map(({ status, labels, annotations }) => ({
    by: 'webhook',
    to: path,
    status,
    alert: labels['alertname'] ?? '',
    instance: labels['instance'] ?? null,
    summary: annotations['summary'] ?? '',
  }))
}

interface WebhookAlert {
  readonly status: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** The subject is `[FIRING:1] TollgateDown node-1:8080 (tollgate page)`. */
function mailOf({ to, headers }: Pick<ReceivedMail, 'to' | 'headers'>): Told {
  const summary = headers.get('subject') ?? ''
  const [, status = '', alert = '', instance = null] =
    /^\[(\w+)(?::\d+)?\] (\w+)(?: ([^\s()]+))? +\(/.exec(summary) ?? []
  return { by: 'mail', to: to.join(), status: status.toLowerCase(), alert, instance, summary }
}
