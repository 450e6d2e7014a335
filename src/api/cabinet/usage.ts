import { fieldError } from '../../base/refusals.ts'
import { dayRange, choiceParameter, timeParameter, daysBetween } from '../../base/query-parameters.ts'
import { rubles, type Micro } from '../../base/money.ts'
import {
  type EndUserRange,
  type GroupDay,
  rowsMax,
  REST,
  type SpendSums as StoredSums,
} from '../../store/log/log-store.ts'
import {
  UsageGroup,
  type AppRow,
  type LogFilters,
  type SpendSums,
  type UsageAnswer,
  type UsageHours,
  type DaySums,
} from './log-contract.ts'
import { startOfDay } from '../../ledger/period.ts'
import type { ConsolePorts } from '../records/ports.ts'
import type { CabinetPorts, Visit } from './ports.ts'
import { DAY_MS, dayAfter, HOUR_MS, isoTime } from '../../base/time.ts'

/** The number of full days whose average forecasts each day left in the month. */
const FORECAST_DAYS = 7

interface DayCost {
  readonly day: string
  readonly costMicro: Micro
}

interface MonthForecast {
  /** Spent since the first day of the month. */
  readonly spentMicro: Micro
  /** The average of the last seven full days. */
  readonly averageMicro: Micro
  /** The days after today. */
  readonly daysLeft: number
  readonly expectedMicro: Micro
}

/** The first day whose cost a forecast needs. */
export function forecastFrom(today: string): string {
  const [month, week] = [firstOfMonth(today), dayAfter(today, -FORECAST_DAYS)]
  return month < week ? month : week
}

/**
 * What the month will cost: spent so far + the average of the last seven full days × the days after today. null for an
 * account that made its first request (`firstDay`) less than seven full days ago, or spent nothing in them.
 */
export function monthForecast(days: readonly DayCost[], today: string, firstDay: string | null): MonthForecast | null {
  const week = dayAfter(today, -FORECAST_DAYS)
  if (firstDay === null || firstDay > week) return null
  const sum = (from: string, before: string): Micro =>
    days.filter(({ day }) => day >= from && day < before).reduce((all, { costMicro }) => all + costMicro, 0n)
  const weekMicro = sum(week, today)
  if (weekMicro === 0n) return null
  const spentMicro = sum(firstOfMonth(today), dayAfter(today))
  const daysLeft = daysOfMonth(today) - Number(today.slice(8))
  return {
    spentMicro,
    averageMicro: weekMicro / BigInt(FORECAST_DAYS),
    daysLeft,
    expectedMicro: spentMicro + (weekMicro * BigInt(daysLeft)) / BigInt(FORECAST_DAYS),
  }
}

function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`
}

function daysOfMonth(day: string): number {
  return new Date(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)), 0)).getUTCDate()
}

const GROUPS_MAX = 50
/** A week. */
const HOURS_MAX = 168
const FILTER_DAYS = 90
const TOP_MODELS = 5

/** Sums by day and by model, key, app, person or end user. */
export async function usage(
  ports: ConsolePorts,
  { call, accountId }: Pick<Visit, 'accountId'> & { readonly call: Pick<Visit['call'], 'query'> },
): Promise<UsageAnswer> {
  const group = choiceParameter(call.query, 'group_by', UsageGroup) ?? 'model'
  const today = ports.periods().day
  const { from, to } = dayRange(call.query, today)
  const rows = await (group === 'end_user'
    ? endUserDays(ports, accountId, from, to)
    : ports.store.log.grouped(accountId, group, from, to))
  const { groups, cells } = grouped(rows, ({ day }) => day, await namesOf(ports, accountId, group, rows))
  return {
    from,
    to,
    totals: wireSums(total(rows)),
    forecast: await forecast(ports, accountId, today),
    days: everyDay(rows, from, to),
    groups,
    cells: cells.map(({ slot, ...cell }) => ({ day: slot, ...cell })),
  }
}

/** A request may end a day after its hold, a video two. */
const LATE_DAYS = 2

/** Days, both included, and when their requests ended. */
export function endUserRange(fromDay: string, toDay: string, timezone: string): EndUserRange {
  const after = dayAfter(toDay, LATE_DAYS + 1)
  return { fromDay, toDay, fromMs: startOfDay(fromDay, timezone), toMs: startOfDay(after, timezone) }
}

/** The rows of a report; throws an ApiError if it would add up too many requests. */
export function withinMost<T>(group: UsageGroup, rows: readonly T[] | null): readonly T[] {
  if (rows === null) throw fieldError('from', 'requests_most', { most: rowsMax(group) })
  return rows
}

/** The end users of each day, and the rest of the day: what names none, and rows that the log has no more. */
async function endUserDays(
  ports: ConsolePorts,
  accountId: string,
  fromDay: string,
  toDay: string,
): Promise<readonly GroupDay[]> {
  const { timezone } = ports.catalog.current().settings
  await ports.access.bounds.take('hour_reports', accountId)
  const range = endUserRange(fromDay, toDay, timezone)
  const named = withinMost('end_user', await ports.store.log.endUserDays(accountId, range))
  const byDay = Map.groupBy(named, ({ day }) => day)
  const days = await ports.store.log.days(accountId, fromDay, toDay)
  const others = days.map(({ day, ...all }) => {
    const known = total(byDay.get(day) ?? [])
    return {
      day,
      group: '',
      title: null,
      requests: all.requests - known.requests,
      errors: all.errors - known.errors,
      inputTokens: all.inputTokens - known.inputTokens,
      outputTokens: all.outputTokens - known.outputTokens,
      costMicro: all.costMicro - known.costMicro,
      savedMicro: all.savedMicro - known.savedMicro,
    }
  })
  return [...named, ...others.filter(({ requests }) => requests > 0)]
}

/** The same by hour, of at most a week. */
export async function usageHours(ports: CabinetPorts, { call, accountId }: Visit): Promise<UsageHours> {
  const group = choiceParameter(call.query, 'group_by', UsageGroup) ?? 'model'
  const { fromMs, toMs } = hourRange(call.query, ports.clock.now())
  await ports.access.bounds.take('hour_reports', accountId)
  const rows = withinMost(group, await ports.store.log.hours({ accountId, fromMs, toMs }, group))
  const { groups, cells } = grouped(rows, ({ atMs }) => isoTime(atMs), await namesOf(ports, accountId, group, rows))
  const known = Map.groupBy(rows, ({ atMs }) => atMs)
  const hours = Array.from({ length: (toMs - fromMs) / HOUR_MS }, (_, index) => fromMs + index * HOUR_MS)
  return {
    from: isoTime(fromMs),
    to: isoTime(toMs),
    totals: wireSums(total(rows)),
    hours: hours.map((atMs) => ({ at: isoTime(atMs), ...wireSums(total(known.get(atMs) ?? [])) })),
    groups,
    cells: cells.map(({ slot, ...cell }) => ({ at: slot, ...cell })),
  }
}

/** The range in whole hours. */
function hourRange(query: URLSearchParams, nowMs: number): { readonly fromMs: number; readonly toMs: number } {
  const to = timeParameter(query, 'to') ?? nowMs
  const from = timeParameter(query, 'from') ?? to - DAY_MS
  if (from >= to) throw fieldError('from', 'not_after')
  const toMs = Math.ceil(to / HOUR_MS) * HOUR_MS
  // The range up to now has as many hours as were asked for, the current one included.
  const fromMs = toMs - Math.ceil((to - from) / HOUR_MS) * HOUR_MS
  if (toMs - fromMs > HOURS_MAX * HOUR_MS) throw fieldError('from', 'hours_most', { most: HOURS_MAX })
  return { fromMs, toMs }
}

async function namesOf(
  ports: ConsolePorts,
  accountId: string,
  group: UsageGroup,
  rows: readonly GroupedRow[],
): Promise<ReadonlyMap<string, string>> {
  if (group === 'person') return ports.store.users.emails([...new Set(rows.map((row) => row.group))])
  if (group !== 'key') return new Map()
  return new Map((await ports.store.log.keys(accountId)).map(({ id, name }) => [id, name]))
}

interface GroupedRow extends StoredSums {
  readonly group: string
  readonly title: string | null
}

/** The groups by cost, and the cells of a chart; groups beyond the most expensive ones are merged into one. */
function grouped<R extends GroupedRow>(
  rows: readonly R[],
  slotOf: (row: R) => string,
  names: ReadonlyMap<string, string>,
): {
  readonly groups: UsageAnswer['groups']
  readonly cells: readonly (SpendSums & { readonly slot: string; readonly group: string })[]
} {
  const kept = new Set(
    byCost(
      rows.filter(({ group }) => group !== REST),
      (row) => row.group,
    )
      .slice(0, GROUPS_MAX)
      .map(({ id }) => id),
  )
  const shown = rows.map((row) => (kept.has(row.group) ? row : { ...row, group: REST, title: null }))
  const groups = byCost(shown, (row) => row.group).map(({ id, rows: members, sums }) => ({
    id,
    label: names.get(id) ?? members.find(({ title }) => title !== null)?.title ?? id,
    ...wireSums(sums),
  }))
  const cells = [...Map.groupBy(shown, (row) => `${slotOf(row)} ${row.group}`).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [{ slot: slotOf(first), group: first.group, ...wireSums(total([first, ...more])) }],
  )
  return { groups, cells }
}

async function forecast(ports: ConsolePorts, accountId: string, today: string): Promise<UsageAnswer['forecast']> {
  const { log } = ports.store
  const days = await log.days(accountId, forecastFrom(today), today)
  const found = monthForecast(days, today, await log.firstDay(accountId))
  return found === null
    ? null
    : {
        spent: rubles(found.spentMicro),
        average: rubles(found.averageMicro),
        days_left: found.daysLeft,
        expected: rubles(found.expectedMicro),
      }
}

/** Apps as wire.md 11 has them: the account's own, in a range of days. */
export async function apps(
  ports: CabinetPorts,
  { call, accountId }: Visit,
): Promise<{ readonly data: readonly AppRow[] }> {
  const { from, to } = dayRange(call.query, ports.periods().day)
  const rows = await ports.store.log.apps(accountId, from, to)
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

interface Running {
  requests: number
  errors: number
  inputTokens: number
  outputTokens: number
  costMicro: Micro
  savedMicro: Micro
}

/** Sums as exact micro-rubles, before the conversion to numbers of the wire. */
export function total(rows: readonly StoredSums[]): StoredSums {
  const sum: Running = { requests: 0, errors: 0, inputTokens: 0, outputTokens: 0, costMicro: 0n, savedMicro: 0n }
  for (const row of rows) {
    sum.requests += row.requests
    sum.errors += row.errors
    sum.inputTokens += row.inputTokens
    sum.outputTokens += row.outputTokens
    sum.costMicro += row.costMicro
    sum.savedMicro += row.savedMicro
  }
  return sum
}

export function wireSums(sums: StoredSums): SpendSums {
  return {
    requests: sums.requests,
    errors: sums.errors,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    cost: rubles(sums.costMicro),
    cache_saved: rubles(sums.savedMicro),
  }
}

/** Each day of a range; a day without requests has zeros. */
export function everyDay(
  rows: readonly (StoredSums & { readonly day: string })[],
  from: string,
  to: string,
): readonly DaySums[] {
  const known = Map.groupBy(rows, ({ day }) => day)
  return daysBetween(from, to).map((day) => ({ day, ...wireSums(total(known.get(day) ?? [])) }))
}

/** The rows of each group under its name, the most expensive first. */
export function byCost<T extends StoredSums>(
  rows: readonly T[],
  name: (row: T) => string,
): readonly { readonly id: string; readonly rows: readonly T[]; readonly sums: StoredSums }[] {
  const groups = [...Map.groupBy(rows, name)].map(([id, members]) => ({ id, rows: members, sums: total(members) }))
  return groups.toSorted((left, right) =>
    left.sums.costMicro === right.sums.costMicro
      ? right.sums.requests - left.sums.requests
      : left.sums.costMicro < right.sums.costMicro
        ? 1
        : -1,
  )
}
