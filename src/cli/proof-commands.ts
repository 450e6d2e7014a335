import { auditBody, replayBody } from '../api/admin/proof.ts'
import { isObject } from '../kinds/fields/body-fields.ts'
import { type CliContext, type Command, type CommandInput, UsageError, listed } from './command.ts'
import { withStore } from './store-access.ts'
import type { JsonObject } from '../base/json-text.ts'
import { isoTime } from '../base/time.ts'

/** Commands that check whether the books are right. */
export const PROOF_COMMANDS: readonly Command[] = [
  {
    words: 'audit',
    operands: [],
    summary: 'Checks the money invariants, or replays the charges of a period; exit 1 on a violation.',
    options: {
      since: { value: 'TIME', help: 'an ISO time: looks at what came after it' },
      replay: { help: 'makes each charge again from its log row: price version with its exchange rates × meters' },
      from: { value: 'TIME', help: 'with --replay: requests that arrived from this ISO time on' },
      to: { value: 'TIME', help: 'with --replay: … and before this one' },
      json: { help: 'print the whole report as JSON' },
    },
    run: audit,
  },
]

async function audit(input: CommandInput, context: CliContext): Promise<number> {
  if (input.flag('replay')) return replay(input, context)
  for (const name of ['from', 'to'])
    if (input.text(name) !== undefined) throw new UsageError(`--${name} goes with --replay; without it, --since TIME`)
  const sinceMs = timeOption(input, 'since')
  const report = await withStore<JsonObject>(
    context,
    async (own) => auditBody(await own.audit(sinceMs ?? 0)),
    (client) => client.call('GET', `/admin/v1/audit${query({ since: sinceMs })}`),
  )
  context.stdout(input.flag('json') ? JSON.stringify(report) : auditText(report))
  return report['ok'] === true ? 0 : 1
}

async function replay(input: CommandInput, context: CliContext): Promise<number> {
  const [fromMs, toMs] = [timeOption(input, 'from') ?? timeOption(input, 'since'), timeOption(input, 'to')]
  const report = await withStore<JsonObject>(
    context,
    async (own) => ({ ...(await replayBody({ fromMs, toMs }, (from, to) => own.replay(from, to), own.catalog)) }),
    (client) => client.call('GET', `/admin/v1/audit/replay${query({ from: fromMs, to: toMs })}`),
  )
  context.stdout(input.flag('json') ? JSON.stringify(report) : replayText(report))
  return report['ok'] === true ? 0 : 1
}

function timeOption(input: CommandInput, name: string): number | null {
  const text = input.text(name)
  if (text === undefined) return null
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs))
    throw new UsageError(`--${name} must be an ISO time such as 2026-11-20T15:06:04Z, got '${text}'`)
  return atMs
}

function query(times: Readonly<Record<string, number | null>>): string {
  const given = Object.entries(times).flatMap(([name, atMs]) =>
    atMs === null ? [] : [`${name}=${encodeURIComponent(isoTime(atMs))}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}

function auditText(report: JsonObject): string {
  const lines = listed(report, 'checks').flatMap(({ id, name, found: lines }) => {
    const found = Array.isArray(lines) ? lines.map((what) => `      ${String(what)}`) : []
    return [`${found.length === 0 ? 'ok  ' : 'FAIL'}  ${String(id)}  ${String(name)}`, ...found]
  })
  return [...lines, `${String(report['violations'])} violations`].join('\n')
}

function replayText(report: JsonObject): string {
  const types = listed(report, 'types').map(
    ({ type, rows, charged, provider_cost: cost }) =>
      `${String(type)}: ${String(rows)} charges, ${String(charged)} RUB, provider cost ${String(cost)} RUB`,
  )
  const versions = listed(report, 'price_versions').map(
    ({ version, rows, rates }) =>
      `price version ${String(version)}: ${String(rows)} charges${
        isObject(rates) && Object.keys(rates).length > 0
          ? `, ${Object.entries(rates)
              .map(([currency, rate]) => `${currency} ${String(rate)}`)
              .join(', ')}`
          : ''
      }`,
  )
  const lost = report['without_log']
  const left =
    isObject(lost) && lost['rows'] !== 0
      ? [
          `${String(lost['rows'])} charges of ${String(lost['charged'])} RUB have no log row any more: retention took it`,
        ]
      : []
  const found = Array.isArray(report['found']) ? report['found'].map((what) => `FAIL  ${String(what)}`) : []
  return [
    ...types,
    ...versions,
    ...left,
    ...found,
    `${String(report['rows'])} charges of ${String(report['charged'])} RUB replayed, ${found.length} differ`,
  ].join('\n')
}
