import { DISK, EMBEDDED, PENDING, ROWS, TABLES, type Mutant } from './mutant.ts'

/** Bugs of the embedded store's journal of rows. */
export const ROW_JOURNAL_MUTANTS: readonly Mutant[] = [
  {
    name: 'a charge is answered before the journal is on the disk',
    file: EMBEDDED,
    find: 'if (isJournaled) await this.#rows.syncJournal()',
    replace: 'if (isJournaled) void this.#rows.syncJournal().catch(() => undefined)',
  },
  {
    name: 'the journal is read again from its beginning',
    file: DISK,
    find: "const position = big(row, 'position')",
    replace: "const position = 0n * big(row, 'position')",
  },
  {
    name: 'a start leaves out the last record of the journal',
    file: ROWS,
    find: 'if (payload === undefined) return',
    replace: 'if (payload === undefined || !found.has(next + 1n)) return',
  },
  {
    name: 'rows go to their tables and the position stays',
    file: TABLES,
    find: '    this.#run(SET_POSITION, [position, BigInt(mark)])\n',
    replace: '    this.#run(SET_POSITION, [0n * position, BigInt(mark)])\n',
  },
  {
    name: 'the journal has the rows of a charge without its account',
    file: PENDING,
    find: 'for (const values of rows.accounts) this.#accounts.set(values.at(-1) ?? null, values)',
    replace: 'for (const values of rows.accounts.slice(1)) this.#accounts.set(values.at(-1) ?? null, values)',
  },
  {
    name: 'the seal of an account in the journal does not name its newest entry',
    file: EMBEDDED,
    find: 'availableMicro: availableMicro + micro, heldMicro: held - micro }',
    replace: "availableMicro: availableMicro + micro, heldMicro: held - micro, entryHead: '' }",
  },
  {
    name: 'what is held in memory alone is in the sums that are written',
    file: EMBEDDED,
    find: 'const micro = heldMicro.get(account.id) ?? 0n',
    replace: 'const micro = 0n * (heldMicro.get(account.id) ?? 0n)',
  },
  {
    name: 'kept rows are read again while newer ones wait in the journal',
    file: EMBEDDED,
    find: '    this.#rows.checkpoint()\n    this.#accounts.clear()\n',
    replace: '    this.#accounts.clear()\n',
  },
  {
    name: 'a reader does not see what waits in the journal',
    file: DISK,
    find: '  flush(): void {\n    this.checkpoint()\n',
    replace: '  flush(): void {\n',
  },
  {
    name: 'the number of a record that the disk refused is used again',
    file: ROWS,
    find: '    this.#last += 1n\n    const bytes = record(payload, this.#last, this.#mark)\n    this.#bytes.write(bytes, this.#half * this.#bytes.halfBytes + this.#offset)\n',
    replace:
      '    const bytes = record(payload, this.#last + 1n, this.#mark)\n    this.#bytes.write(bytes, this.#half * this.#bytes.halfBytes + this.#offset)\n    this.#last += 1n\n',
  },
  {
    name: 'sums outlive a failed write',
    file: 'src/store/sqlite/rollup.ts',
    find: '    this.#rolledUp = null\n    this.#behind = 1\n',
    replace: '',
  },
  {
    name: 'after a failed write the journal goes on where it was',
    file: DISK,
    find: '      this.#bar()\n      this.isFailing = true\n      throw thrown\n',
    replace:
      '      this.#tables = new TableWrites(this.#ports.database, this.#rollup, this.#ports.charges)\n      throw thrown\n',
  },
  {
    name: 'the position after rows that went in slices names records that came meanwhile',
    file: DISK,
    find: 'this.#tables.begin(this.#journal.position)',
    replace:
      'this.#tables.begin({ mark: this.#journal.position.mark, position: this.#journal.position.position + 1n })',
  },
  {
    name: 'rows of slices that the disk refused are forgotten',
    file: TABLES,
    find: '    this.#waiting = rows.with(this.#waiting.rows)\n',
    replace: '',
  },
]
