import { daysBetween } from '../../base/query-parameters.ts'
import { rubles, type Micro } from '../../base/money.ts'
import type { SpendSums as StoredSums } from '../../store/log/log-store.ts'
import type { DaySums, SpendSums } from './log-contract.ts'

interface Running {
  requests: number
  errors: number
  inputTokens: number
  outputTokens: number
  costMicro: Micro
  savedMicro: Micro
}

/** Added up as exact micro-rubles, before it becomes numbers of the wire. */
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
