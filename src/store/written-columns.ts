/** A value of a statement on the hot path. */
export type Cell = string | bigint | null

/** The type of a column in PostgreSQL, and its value. */
export type WrittenColumn<T> = readonly [type: 'text' | 'int8', write: (row: T) => Cell]

/** Columns that the hot path writes, in the order of its statements. */
export class WrittenColumns<T> {
  readonly names: readonly string[]
  /** Names with types, as PostgreSQL's column list. */
  readonly types: string
  readonly #columns: readonly (readonly [name: string, ...WrittenColumn<T>])[]

  constructor(columns: Readonly<Record<string, WrittenColumn<T>>>) {
    this.#columns = Object.entries(columns).map(([name, column]) => [name, ...column])
    this.names = Object.keys(columns)
    this.types = this.#columns.map(([name, type]) => `${name} ${type}`).join(', ')
  }

  values(row: T): Cell[] {
    return this.#columns.map(([, , write]) => write(row))
  }

  /** Some of them, in the same order. */
  part(...names: readonly string[]): WrittenColumns<T> {
    const kept = this.#columns.filter(([name]) => names.includes(name))
    return new WrittenColumns(Object.fromEntries(kept.map(([name, ...column]) => [name, column])))
  }
}
