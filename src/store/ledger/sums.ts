import type { LedgerChanges } from '../../ledger/ledger-store.ts'

type Log = LedgerChanges['log'][number]
type Cell = string | bigint | null

/**
 * How a further row changes a column: it is added, or it replaces an older or earlier value. All but `newest` are for
 * whole numbers.
 */
const RULES = {
  sum: (table: string, column: string) => `${table}.${column} + excluded.${column}`,
  newest: (table: string, column: string) => `COALESCE(excluded.${column}, ${table}.${column})`,
  latest: (table: string, column: string) =>
    `CASE WHEN excluded.${column} > ${table}.${column} THEN excluded.${column} ELSE ${table}.${column} END`,
}

interface SumTable {
  /** These columns are texts. */
  readonly key: readonly string[]
  readonly sums: readonly (readonly [column: string, rule: keyof typeof RULES])[]
}

const sums = (...columns: readonly string[]): SumTable['sums'] => columns.map((column) => [column, 'sum'])

const OF_DAY = sums('requests', 'input_tokens', 'output_tokens', 'revenue', 'provider_cost', 'insured', 'shortfall')

/** The tables of sums that follow from the log and its holds, the same in both engines. */
const SUM_TABLES = {
  key_spend: { key: ['key_id', 'period', 'start'], sums: sums('spent', 'excess') },
  usage_day: {
    key: ['account_id', 'day', 'key_id', 'model', 'provider', 'condition'],
    sums: OF_DAY,
  },
  // Sums of the rows that were removed from the log.
  removed_day: { key: ['account_id', 'day', 'key_id', 'model', 'provider'], sums: OF_DAY },
  // The data of the cabinet's charts. An app's title is the latest one it sent.
  app_day: {
    key: ['account_id', 'day', 'key_id', 'model', 'app'],
    sums: [
      ['title', 'newest'],
      ...sums('requests', 'errors', 'input_tokens', 'output_tokens', 'cost', 'saved'),
      ['last_at', 'latest'],
    ],
  },
  // Charges booked on a later day than that of their hold.
  booked_later: { key: ['account_id', 'booked', 'placed', 'model'], sums: sums('requests', 'amount') },
} as const satisfies Readonly<Record<string, SumTable>>

type SumTableName = keyof typeof SUM_TABLES

/** The table's columns, in the order of its rows. */
export function sumColumns(name: SumTableName): readonly { readonly column: string; readonly type: 'text' | 'int8' }[] {
  const table: SumTable = SUM_TABLES[name]
  return [
    ...table.key.map((column) => ({ column, type: 'text' }) as const),
    ...table.sums.map(([column, rule]) => ({ column, type: rule === 'newest' ? 'text' : 'int8' }) as const),
  ]
}

/** The statement that adds the rows of a `SELECT`, or of `VALUES`, to the table. */
export function addSums(table: SumTableName, select: string): string {
  const { key: columns, sums: changed }: SumTable = SUM_TABLES[table]
  const names = sumColumns(table).map(({ column }) => column)
  const sets = changed.map(([column, rule]) => `${column} = ${RULES[rule](table, column)}`)
  return `INSERT INTO ${table} (${names.join(', ')}) ${select} ON CONFLICT (${columns.join(', ')}) DO UPDATE SET ${sets.join(', ')}`
}

/** The rows that a batch adds to `usage_day`; requests of one key with the same model, provider and day are one row. */
export function usageDays(logs: readonly Log[]): readonly (readonly Cell[])[] {
  return grouped(logs, ({ day, record: { accountId, keyId, model, providerSlug, condition = '' } }) => [
    accountId,
    day,
    keyId,
    model,
    providerSlug ?? '',
    condition,
  ]).map(([key, own]) => [
    ...key,
    BigInt(own.length),
    sumOf(own, ({ record }) => BigInt(record.inputTokens)),
    sumOf(own, ({ record }) => BigInt(record.outputTokens)),
    sumOf(own, ({ costMicro }) => costMicro),
    sumOf(own, ({ providerCostMicro }) => providerCostMicro),
    sumOf(own, ({ insuredMicro }) => insuredMicro),
    sumOf(own, ({ shortfallMicro }) => shortfallMicro),
  ])
}

/** The rows that name an end user. */
export function endUsers(logs: readonly Log[]): readonly (readonly Cell[])[] {
  return logs.flatMap(({ seq, atMs, record: { accountId, endUser } }) =>
    endUser === undefined ? [] : [[accountId, endUser, seq, BigInt(atMs)]],
  )
}

export function bookedLater(logs: readonly Log[]): readonly (readonly Cell[])[] {
  const later = logs.filter(({ bookedDay }) => bookedDay !== '')
  return grouped(later, ({ bookedDay, day, record }) => [record.accountId, bookedDay, day, record.model]).map(
    ([key, own]) => [...key, BigInt(own.length), sumOf(own, ({ costMicro }) => costMicro)],
  )
}

/** An app is identified by its URL, else by its title; empty = none (wire.md D-11.1). */
export function appDays(logs: readonly Log[]): readonly (readonly Cell[])[] {
  return grouped(logs, ({ day, record: { accountId, keyId, model, appUrl, appTitle } }) => [
    accountId,
    day,
    keyId,
    model,
    appUrl ?? appTitle ?? '',
  ]).map(([key, own]) => [
    ...key,
    own.findLast(({ record }) => record.appTitle !== null)?.record.appTitle ?? null,
    BigInt(own.length),
    sumOf(own, ({ record }) => (record.status === 'error' ? 1n : 0n)),
    sumOf(own, ({ record }) => BigInt(record.inputTokens)),
    sumOf(own, ({ record }) => BigInt(record.outputTokens)),
    sumOf(own, ({ costMicro }) => costMicro),
    sumOf(own, ({ record: { cacheSaved = 0 } }) => BigInt(cacheSaved)),
    BigInt(Math.max(...own.map(({ atMs }) => atMs))),
  ])
}

function grouped<T>(rows: readonly T[], keyOf: (row: T) => readonly string[]): (readonly [readonly string[], T[]])[] {
  const groups = new Map<string, readonly [readonly string[], T[]]>()
  for (const row of rows) {
    const key = keyOf(row)
    const name = JSON.stringify(key)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [key, [row]])
    else group[1].push(row)
  }
  return [...groups.values()]
}

function sumOf<T>(rows: readonly T[], of: (row: T) => bigint): bigint {
  return rows.reduce((sum, row) => sum + of(row), 0n)
}
