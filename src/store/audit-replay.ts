import type { Micro } from '../money.ts'
import { big, type Sql } from './database.ts'
import { GENERATION_SELECT, readGeneration } from './generation-row.ts'
import type { GenerationRow } from './store.ts'

const PAGE_ROWS = 1_000n

/** The exact charge of a log row by its own price version; null when that version no longer prices it. */
export type Replay = (row: GenerationRow) => Promise<Micro | null>

/** Replays every charge from its log row, page by page so that memory stays flat (I17). */
export async function chargeableRows(sql: Sql, sinceMs: number, replay: Replay, violationsMax: number): Promise<readonly string[]> {
  const violations: string[] = []
  let after = 0n
  while (violations.length < violationsMax) {
    const rows = await sql.all(
      `${GENERATION_SELECT} JOIN hold ON hold.id = generation.generation_id AND hold.state IN ('settled', 'settled_late') WHERE generation.id > ? AND generation.created_at >= ? ORDER BY generation.id LIMIT ?`,
      [after, BigInt(sinceMs), PAGE_ROWS],
    )
    for (const raw of rows) {
      after = big(raw, 'id')
      const row = readGeneration(raw)
      const price = await replay(row)
      if (price !== row.costMicro + row.shortfallMicro) violations.push(`generation ${row.generationId}: charged ${row.costMicro} + ${row.shortfallMicro}, replayed ${price ?? 'without a price'}`)
    }
    if (rows.length < Number(PAGE_ROWS)) break
  }
  return violations.slice(0, violationsMax)
}
