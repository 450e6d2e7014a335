import { big, integer, type Database, type Row } from '../database.ts'
import { BLOCK_ROWS } from './block-migration.ts'

/** What the rows of an account have in common that its blocks know. */
export interface BlockLead {
  readonly field: 'model' | 'key'
  readonly value: string
}

/** Numbers of an account's log: the first, and the first after them. */
export interface OwnRange {
  readonly accountId: string
  readonly from: number
  readonly below: number
}

const COLUMNS = { model: 'model', key: 'key_id' } as const
const HALF = BLOCK_ROWS / 2
/** Blocks of one read. */
const READ_BLOCKS = 1_000
const WHERE = 'WHERE account_id = ? AND field = ? AND value = ? AND block >= ? AND block < ?'

/** Rows of one model or key in an account's log, found by its blocks, and one by one at both ends of a range. */
export class LogBlocks {
  readonly #database: Database
  #areFilled = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Whether rows that are older than the blocks are in them. */
  async areFilled(): Promise<boolean> {
    if (this.#areFilled) return true
    const [row] = await this.#database.all('SELECT id FROM log_block_fill WHERE done >= last')
    this.#areFilled = row !== undefined
    return this.#areFilled
  }

  /** The numbers of the newest rows in the range, `most` at most. */
  async newest(range: OwnRange, lead: BlockLead, most: number): Promise<readonly number[]> {
    const blocks = inside(range)
    const found = await this.#atEnd(range, lead, Math.max(range.from, blocks.above), range.below)
    for (let { below } = blocks; found.length < most && below > blocks.first;) {
      const read = Math.min(READ_BLOCKS, most - found.length)
      const rows = await this.#database.all(`SELECT block, bits FROM log_block ${WHERE} ORDER BY block DESC LIMIT ?`, [
        range.accountId,
        lead.field,
        lead.value,
        BigInt(blocks.first),
        BigInt(below),
        BigInt(read),
      ])
      for (const row of rows) found.push(...seqsOf(row))
      const last = rows.at(-1)
      below = last === undefined || rows.length < read ? blocks.first : integer(last, 'block')
    }
    if (found.length < most && blocks.from < blocks.above)
      found.push(...(await this.#atEnd(range, lead, range.from, blocks.from)))
    return found.slice(0, most)
  }

  /** The number of such rows; above `most` it may be any number. */
  async count(range: OwnRange, lead: BlockLead, most: number): Promise<number> {
    const blocks = inside(range)
    const [inBlocks] = await this.#database.all(
      `SELECT CAST(COALESCE(SUM(rows), 0) AS BIGINT) AS rows FROM (SELECT rows FROM log_block ${WHERE} ORDER BY block DESC LIMIT ?) AS found`,
      [range.accountId, lead.field, lead.value, BigInt(blocks.first), BigInt(blocks.below), BigInt(most + 1)],
    )
    const newest = await this.#atEnd(range, lead, Math.max(range.from, blocks.above), range.below)
    const oldest = blocks.from < blocks.above ? await this.#atEnd(range, lead, range.from, blocks.from) : []
    return newest.length + integer(inBlocks ?? {}, 'rows') + oldest.length
  }

  /** Rows that are in no block that lies whole in the range. */
  async #atEnd({ accountId }: OwnRange, { field, value }: BlockLead, from: number, below: number): Promise<number[]> {
    if (below <= from) return []
    const column = COLUMNS[field]
    const rows = await this.#database.all(
      `SELECT seq FROM generation WHERE account_id = ? AND seq >= ? AND seq < ? AND ${column} = ? ORDER BY seq DESC`,
      [accountId, BigInt(from), BigInt(below), value],
    )
    return rows.map((row) => integer(row, 'seq'))
  }
}

/** The rows with these numbers, which are one parameter: a JSON list. */
export function listedSeqs(dialect: Database['dialect']): string {
  return dialect === 'sqlite'
    ? 'generation.seq IN (SELECT value FROM json_each(?))'
    : 'generation.seq = ANY(ARRAY(SELECT json_array_elements_text(?::json)::int8))'
}

export function seqList(seqs: readonly number[]): string {
  return `[${seqs.join(',')}]`
}

/** The blocks that lie whole in the range, and the numbers of their first row and of the first row after them. */
function inside({ from, below }: OwnRange): {
  readonly first: number
  readonly below: number
  readonly from: number
  readonly above: number
} {
  const first = Math.ceil((from - 1) / BLOCK_ROWS)
  const end = Math.max(first, Math.floor((below - 1) / BLOCK_ROWS))
  // No block lies whole in a short range: all of it is its newest end.
  if (end === first) return { first, below: end, from, above: from }
  return { first, below: end, from: first * BLOCK_ROWS + 1, above: end * BLOCK_ROWS + 1 }
}

/** Newest first. Numbers of 32 bits: those of 64 are objects. */
function seqsOf(row: Row): number[] {
  const [first, bits] = [integer(row, 'block') * BLOCK_ROWS + 1, big(row, 'bits')]
  const seqs: number[] = []
  for (const half of [1, 0]) {
    const word = Number(BigInt.asIntN(HALF, bits >> BigInt(half * HALF)))
    for (let place = HALF - 1; place >= 0; place -= 1)
      if (((word >> place) & 1) === 1) seqs.push(first + half * HALF + place)
  }
  return seqs
}
