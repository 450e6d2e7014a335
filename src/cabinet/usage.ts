import { fieldError } from '../refusals.ts'
import { dayRange } from '../http/day-range.ts'
import { choiceParameter } from '../query-parameters.ts'
import { rubles } from '../money.ts'
import { UsageGroup, type AppRow, type LogFilters, type UsageAnswer } from './log-contract.ts'
import { type CabinetPorts, type Visit } from './ports.ts'
import { byCost, everyDay, total, wireSums } from './sums.ts'
import { dayAfter, isoTime } from '../lib/time.ts'

const GROUPS_MAX = 50
const REST = '…rest'
const RANGES: ReadonlyMap<string, number> = new Map([
  ['day', 1],
  ['7d', 7],
  ['30d', 30],
])
const FILTER_DAYS = 90
const TOP_MODELS = 5

/** Sums by day and by model, key or app. */
export async function usage(ports: CabinetPorts, { call, accountId }: Visit): Promise<UsageAnswer> {
  const group = choiceParameter(call.query, 'group_by', UsageGroup) ?? 'model'
  const { from, to } = dayRange(call.query, ports.periods().day)
  const rows = await ports.store.log.grouped(accountId, group, from, to)
  const names =
    group === 'key'
      ? new Map((await ports.store.log.keys(accountId)).map(({ id, name }) => [id, name]))
      : new Map<string, string>()
  const kept = new Set(
    byCost(rows, (row) => row.group)
      .slice(0, GROUPS_MAX)
      .map(({ id }) => id),
  )
  const shown = rows.map((row) => (kept.has(row.group) ? row : { ...row, group: REST, title: null }))
  const groups = byCost(shown, (row) => row.group).map(({ id, rows: members, sums }) => ({
    id,
    label: names.get(id) ?? members.find(({ title }) => title !== null)?.title ?? id,
    ...wireSums(sums),
  }))
  const cells = [...Map.groupBy(shown, (row) => `${row.day} ${row.group}`).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [{ day: first.day, group: first.group, ...wireSums(total([first, ...more])) }],
  )
  return { from, to, totals: wireSums(total(rows)), days: everyDay(rows, from, to), groups, cells }
}

/** Apps as wire.md 11 has them: the account's own, in a range that ends today. */
export async function apps(
  ports: CabinetPorts,
  { call, accountId }: Visit,
): Promise<{ readonly data: readonly AppRow[] }> {
  const range = RANGES.get(call.query.get('range') ?? '30d')
  if (range === undefined)
    throw fieldError(
      'range',
      'one_of',
      { allowed: [...RANGES.keys()].join(', ') },
      `must be one of ${[...RANGES.keys()].join(', ')}`,
    )
  const today = ports.periods().day
  const rows = await ports.store.log.apps(accountId, dayAfter(today, 1 - range), today)
  const all = total(rows).costMicro
  const data = byCost(rows, ({ app }) => app).map(({ id, rows: members, sums }) => ({
    id,
    title: members.find(({ title }) => title !== null)?.title ?? null,
    url: /^https?:\/\//.test(id) ? id : null,
    ...wireSums(sums),
    share: all === 0n ? 0 : Number((sums.costMicro * 1_000_000n) / all) / 1_000_000,
    top_models: byCost(members, ({ model }) => model)
      .slice(0, TOP_MODELS)
      .map((model) => ({ model: model.id, requests: model.sums.requests, cost: rubles(model.sums.costMicro) })),
    last_used_at: isoTime(Math.max(...members.map(({ lastAtMs }) => lastAtMs))),
  }))
  return { data }
}

/** The values that the log can be filtered by. */
export async function logFilters(ports: CabinetPorts, { accountId }: Visit): Promise<LogFilters> {
  const today = ports.periods().day
  const from = dayAfter(today, 1 - FILTER_DAYS)
  const rows = await ports.store.log.apps(accountId, from, today)
  return {
    models: [...new Set(rows.map(({ model }) => model))].toSorted(),
    providers: await ports.store.log.providers(accountId, from),
    keys: await ports.store.log.keys(accountId),
    apps: byCost(rows, ({ app }) => app)
      .filter(({ id }) => id !== '')
      .map(({ id, rows: members }) => ({ id, title: members.find(({ title }) => title !== null)?.title ?? id })),
  }
}
