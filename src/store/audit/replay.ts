import type { GenerationRecord, GenerationRow } from '../../ledger/generation-record.ts'
import type { Micro } from '../../base/money.ts'
import { big, integer, type Row, type Sql } from '../database.ts'
import { GENERATION_SELECT, readGeneration } from '../log/generation-row.ts'

const PAGE_ROWS = 1_000n
const CHARGED_ROWS = `${GENERATION_SELECT} JOIN hold ON hold.id = generation.generation_id AND hold.state IN ('settled', 'settled_late')
  WHERE generation.id > ? AND generation.created_at >= ? AND generation.created_at < ? ORDER BY generation.id LIMIT ?`
/** The charges whose log rows retention has removed. */
const WITHOUT_LOG = `SELECT COUNT(*) AS rows, CAST(COALESCE(SUM(hold.charged), 0) AS BIGINT) AS charged FROM hold LEFT JOIN generation ON generation.generation_id = hold.id
  WHERE hold.state IN ('settled', 'settled_late') AND hold.placed_at >= ? AND hold.placed_at < ? AND generation.id IS NULL`

/** The charges of a log row by its own price version: the client's and the provider's. */
export interface Replayed {
  readonly costMicro: Micro
  readonly providerCostMicro: Micro
}

/** null = that version has no price for it any more. */
export type Replay = (row: GenerationRow) => Promise<Replayed | null>

export interface ReplaySums {
  rows: number
  chargedMicro: Micro
  shortfallMicro: Micro
  providerCostMicro: Micro
}

/** Charges of a period, recalculated from the log. */
export interface ReplayReport {
  readonly types: ReadonlyMap<GenerationRecord['type'], ReplaySums>
  /** The number of rows by price version. */
  readonly versions: ReadonlyMap<number, number>
  /** Charges that cannot be replayed, since retention removed their log rows. */
  readonly withoutLog: { readonly rows: number; readonly chargedMicro: Micro }
  readonly violations: readonly string[]
}

/** Replays every charge from its log row, page by page so that memory stays flat (I17). */
export async function chargeableRows(
  sql: Sql,
  sinceMs: number,
  replay: Replay,
  violationsMax: number,
): Promise<readonly string[]> {
  const violations: string[] = []
  await eachCharge(sql, sinceMs, Number.MAX_SAFE_INTEGER, async (row) => {
    const wrong = typeof row === 'string' ? row : await difference(row, replay)
    if (wrong !== null) violations.push(wrong)
    return violations.length < violationsMax
  })
  return violations
}

/** The same for requests that arrived from `fromMs` on and before `toMs`, with their sums. */
export async function replayPeriod(
  sql: Sql,
  fromMs: number,
  toMs: number,
  replay: Replay,
  violationsMax: number,
): Promise<ReplayReport> {
  const types = new Map<GenerationRecord['type'], ReplaySums>()
  const versions = new Map<number, number>()
  const violations: string[] = []
  await eachCharge(sql, fromMs, toMs, async (row) => {
    if (typeof row === 'string') {
      if (violations.length < violationsMax) violations.push(row)
      return true
    }
    const sums = types.get(row.type) ?? { rows: 0, chargedMicro: 0n, shortfallMicro: 0n, providerCostMicro: 0n }
    types.set(row.type, sums)
    sums.rows += 1
    sums.chargedMicro += row.costMicro
    sums.shortfallMicro += row.shortfallMicro
    sums.providerCostMicro += row.providerCostMicro
    versions.set(row.priceVersion, (versions.get(row.priceVersion) ?? 0) + 1)
    const wrong = await difference(row, replay)
    if (wrong !== null && violations.length < violationsMax) violations.push(wrong)
    return true
  })
  const [lost = {}] = await sql.all(WITHOUT_LOG, [BigInt(fromMs), BigInt(toMs)])
  return { types, versions, withoutLog: lostCharges(lost), violations }
}

function lostCharges(row: Row): ReplayReport['withoutLog'] {
  return { rows: integer(row, 'rows'), chargedMicro: big(row, 'charged') }
}

/** Stops when `visit` returns false; an unreadable row is reported as a violation. */
async function eachCharge(
  sql: Sql,
  fromMs: number,
  toMs: number,
  visit: (row: GenerationRow | string) => Promise<boolean>,
): Promise<void> {
  let after = 0n
  for (;;) {
    const rows = await sql.all(CHARGED_ROWS, [after, BigInt(fromMs), BigInt(toMs), PAGE_ROWS])
    for (const raw of rows) {
      after = big(raw, 'id')
      if (!(await visit(readable(raw)))) return
    }
    if (rows.length < Number(PAGE_ROWS)) return
  }
}

/** A person who can write to the file may leave any content; the audit must report it. */
function readable(raw: Row): GenerationRow | string {
  try {
    return readGeneration(raw)
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return `generation ${String(raw['generation_id'])}: its record is not JSON`
  }
}

async function difference(row: GenerationRow, replay: Replay): Promise<string | null> {
  const price = await replay(row)
  const charged = `generation ${row.generationId}: charged ${row.costMicro} + ${row.shortfallMicro}`
  if (price === null) return `${charged}, replayed without a price`
  if (price.costMicro !== row.costMicro + row.shortfallMicro) return `${charged}, replayed ${price.costMicro}`
  return price.providerCostMicro === row.providerCostMicro
    ? null
    : `generation ${row.generationId}: provider cost ${row.providerCostMicro}, replayed ${price.providerCostMicro}`
}
