/** A bug that was made somewhere, planted in a copy of the source; the simulation must find it. */
export interface Mutant {
  readonly name: string
  /** Relative to the root of the project. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export const SUMS = 'src/store/ledger/sums.ts'
export const STATEMENTS = 'src/store/ledger/statement-store.ts'
export const JOURNAL = 'src/ledger/end-journal.ts'
export const CORE = 'src/ledger/ledger-core.ts'
export const LIMITS = 'src/ledger/hold-rules.ts'
export const RULES = 'src/ledger/hold-rules.ts'
export const ALLOWANCES = 'src/ledger/allowances.ts'
export const LEDGER = 'src/ledger/ledger.ts'
export const WRITER = 'src/ledger/batch-writer.ts'
export const GENERATION = 'src/pay/relay/generation.ts'
export const EMBEDDED = 'src/store/sqlite/ledger.ts'
export const DISK = 'src/store/sqlite/journaled-rows.ts'
export const PENDING = 'src/store/sqlite/pending-rows.ts'
export const TABLES = 'src/store/sqlite/table-writes.ts'
export const ROWS = 'src/store/sqlite/row-journal.ts'
