import { randomInt } from 'node:crypto'
import { big, integer, type Row } from '../database.ts'
import { decodeRows, PendingRows } from './pending-rows.ts'
import { leftRecords } from './row-journal.ts'

export const SELECT_POSITION = 'SELECT position, mark FROM row_journal'
export const SET_POSITION = 'UPDATE row_journal SET position = ?, mark = ?'
const MARKS = 2 ** 32

/** The rows of a journal behind the position of `SELECT_POSITION`, and the position after they are written. */
export function leftRows(
  bytes: Buffer,
  row: Row,
): { readonly rows: PendingRows; readonly position: bigint; readonly cut: number } {
  const position = big(row, 'position')
  const { payloads, cut } = leftRecords(bytes, { position, mark: integer(row, 'mark') })
  const rows = new PendingRows()
  for (const payload of payloads) rows.add(decodeRows(payload))
  return { rows, position: position + BigInt(payloads.length), cut }
}

/** Random, so that a journal of another time of the store is none of it. */
export function newMark(): number {
  return randomInt(MARKS)
}
