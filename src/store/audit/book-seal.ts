import { hash } from 'node:crypto'
import { sealedColumns, type SealedTable } from './columns.ts'
import type { Row } from '../database.ts'

/** 128 bits of the hash, in base64url. */
const SEAL_CHARS = 22

/**
 * The keyed hash of a row's columns. The store has its key only in encrypted form, so a person who reaches only the
 * database can change a row but not its seal. Two one-shot hashes with a key block each (HMAC's construction) cost half
 * as much as `createHmac`.
 */
export class BookSeal {
  readonly #inner: string
  readonly #outer: string

  constructor(key: Buffer) {
    const hex = key.toString('hex')
    // 64 characters: one block of SHA-256.
    this.#inner = hash('sha256', `seal inner ${hex}`, 'hex')
    this.#outer = hash('sha256', `seal outer ${hex}`, 'hex')
  }

  /** The seal of a table's sealed columns, given in their order. */
  of(table: SealedTable, values: readonly unknown[]): string {
    let length = values.length
    while (length > 0 && (values[length - 1] ?? null) === null) length -= 1
    let text: string = table
    // Each value is preceded by its length, so that no text runs into the next; JSON would escape every quotation mark
    // in a log row's details.
    for (let place = 0; place < length; place += 1) text += plain(values[place])
    return this.#keyed(text)
  }

  #keyed(text: string): string {
    return hash('sha256', this.#outer + hash('sha256', this.#inner + text, 'hex'), 'base64url').slice(0, SEAL_CHARS)
  }

  /**
   * The form in which providers see a name of an account: the same on every node, after a restart and under another
   * wrapping key, and impossible to guess without the seals' key. 22 characters of base64url.
   */
  outwardName(accountId: string, name: string): string {
    return this.#keyed(`outward name${plain(accountId)}${plain(name)}`)
  }

  /** The seal of a row that was read with these columns. */
  ofRow(table: SealedTable, row: Row): string {
    return this.of(
      table,
      sealedColumns(table).map((column) => row[column]),
    )
  }

  /**
   * The seal of a row after our change; empty = somebody else had changed the row, so that our change does not hide
   * theirs.
   */
  again(table: SealedTable, before: Row, changed: Row): string {
    return this.holds(table, before) ? this.ofRow(table, { ...before, ...changed }) : ''
  }

  /** Whether the row is the same as when it was sealed. */
  holds(table: SealedTable, row: Row): boolean {
    return row['seal'] === this.ofRow(table, row)
  }
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return ' -'
  const text = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
  return ` ${text.length}:${text}`
}

/** A table's sealed columns and the seal, for a SELECT. */
export function sealedSelect(table: SealedTable): string {
  return [...sealedColumns(table), 'seal'].join(', ')
}

/** The indexes of a table's sealed columns in a list of its columns. */
export function sealedPlaces(table: SealedTable, columns: readonly string[]): readonly number[] {
  return sealedColumns(table).map((column) => {
    const place = columns.indexOf(column)
    if (place === -1) throw new Error(`Column ${column} of ${table} is sealed and not among those written.`)
    return place
  })
}
