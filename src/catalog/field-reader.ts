import { compare, decimalText, parseDecimal, type Decimal } from '../base/money.ts'
import { faultOf, type FieldCheck, type SaidOf } from '../base/refusals.ts'
import type { FileProblem, Problem, SourceNode } from './source-tree.ts'

/** Far above any price or rate, far below the largest possible sum. */
const DECIMAL_MAX: Decimal = { digits: 1_000_000_000n, scale: 0 }

/** The most items of a list: each is checked, and no catalogue has nearly as many. */
const ITEMS_MAX = 10_000

/** Reads the known keys of one map; `done` reports any other key. Every problem has its path and line. */
export class FieldReader {
  readonly path: string
  readonly #entries: ReadonlyMap<string, SourceNode>
  readonly #line: number
  readonly #problems: Problem[]
  /** Problems of the text that were found before its fields were read. */
  readonly #before: readonly FileProblem[]
  readonly #seen = new Set<string>()
  readonly #wrong = new Set<string>()

  constructor(node: SourceNode, path: string, problems: Problem[], before: readonly FileProblem[] = []) {
    this.path = path
    this.#problems = problems
    this.#before = before
    this.#line = node.line
    this.#entries = node.kind === 'map' ? node.entries : new Map()
    if (node.kind !== 'map')
      problems.push({ line: node.line, path, message: 'must be a map of fields', check: 'object', params: {} })
  }

  has(key: string): boolean {
    return this.node(key) !== null
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** The value of `key`; null when absent or null. */
  node(key: string): SourceNode | null {
    this.#seen.add(key)
    const node = this.#entries.get(key)
    return node === undefined || node.kind === 'null' ? null : node
  }

  problem<C extends FieldCheck>(key: string, check: C, ...said: SaidOf<C>): void {
    this.#wrong.add(key)
    const line = this.#entries.get(key)?.line ?? this.#line
    this.#problems.push({
      line,
      path: key === '' ? this.path : this.pathOf(key),
      ...faultOf(check, ...said),
      ...(check === 'incomplete_price' ? { unroutable: true } : {}),
    })
  }

  /** Whether a problem has been found at `key` or, for a text, within its value. */
  isWrong(key: string): boolean {
    const path = this.pathOf(key)
    return (
      this.#wrong.has(key) ||
      this.#before.some((problem) => problem.path === path || problem.path.startsWith(`${path}[`))
    )
  }

  pathOf(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`
  }

  text(key: string): string | null {
    const node = this.node(key)
    if (node === null) return null
    // `model: 4` means the name "4".
    if (node.kind === 'text' || node.kind === 'number') return node.text
    this.problem(key, 'text')
    return null
  }

  required(key: string): string {
    const value = this.text(key)
    if (value === null || value === '') this.problem(key, 'required')
    return value ?? ''
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | null {
    const value = this.text(key)
    if (value === null) return null
    const found = allowed.find((name) => name === value)
    if (found === undefined)
      this.problem(
        key,
        'one_of',
        { allowed: allowed.join(', ') },
        `must be one of ${allowed.join(', ')}, got '${value}'`,
      )
    return found ?? null
  }

  flag(key: string, fallback: boolean): boolean {
    const node = this.node(key)
    if (node === null) return fallback
    if (node.kind !== 'boolean') this.problem(key, 'flag')
    return node.kind === 'boolean' ? node.value : fallback
  }

  whole(key: string, least: number, most = Number.MAX_SAFE_INTEGER): number | null {
    const node = this.node(key)
    if (node === null) return null
    const value = node.kind === 'number' ? Number(node.text) : Number.NaN
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value
    if (most === Number.MAX_SAFE_INTEGER) this.problem(key, 'least', { least })
    else this.problem(key, 'whole', { least, most })
    return null
  }

  /** The exact decimal text of a number ≥ 0, which may also be written as a text. */
  decimal(key: string): string | null {
    const node = this.node(key)
    if (node === null) return null
    const value = node.kind === 'number' || node.kind === 'text' ? parseDecimal(node.text) : null
    if (value === null || value.digits < 0n || compare(value, DECIMAL_MAX) > 0) {
      this.problem(key, 'decimal', { most: decimalText(DECIMAL_MAX) })
      return null
    }
    return decimalText(value)
  }

  texts(key: string): readonly string[] | null {
    const node = this.node(key)
    if (node === null) return null
    if (node.kind === 'list' && node.items.every((item) => item.kind === 'text' || item.kind === 'number')) {
      return node.items.map((item) => (item.kind === 'text' || item.kind === 'number' ? item.text : ''))
    }
    this.problem(key, 'list')
    return null
  }

  /** Names outside the known list would have no effect. */
  names<T extends string>(key: string, known: readonly T[]): readonly T[] | null {
    const names = this.texts(key)
    const unknown = names?.find((name) => !known.some((one) => one === name))
    if (unknown !== undefined) {
      const given = unknown.slice(0, 100)
      const all = known.join(', ')
      this.problem(key, 'names_of', { known: all, given })
    }
    // Any other name is a problem, and a document with a problem is not used.
    return names as readonly T[] | null
  }

  wholes(key: string): readonly number[] | null {
    const values = this.texts(key)?.map(Number) ?? null
    if (values === null || values.every((value) => Number.isSafeInteger(value) && value > 0)) return values
    this.problem(key, 'wholes')
    return null
  }

  map(key: string): FieldReader | null {
    const node = this.node(key)
    return node === null ? null : new FieldReader(node, this.pathOf(key), this.#problems, this.#before)
  }

  items(key: string): readonly FieldReader[] {
    const node = this.node(key)
    if (node === null) return []
    if (node.kind === 'list' && node.items.length > ITEMS_MAX) {
      this.problem(
        key,
        'items_most',
        { most: ITEMS_MAX },
        `must have at most ${ITEMS_MAX} items, got ${node.items.length}`,
      )
      return []
    }
    if (node.kind === 'list')
      return node.items.map(
        (item, index) => new FieldReader(item, `${this.pathOf(key)}[${index}]`, this.#problems, this.#before),
      )
    this.problem(key, 'list', {}, 'must be a list')
    return []
  }

  /** Reports every key that was not read. */
  done(): void {
    for (const key of this.#entries.keys()) {
      if (!this.#seen.has(key)) this.problem(key, 'unknown_field', { known: [...this.#seen].join(', ') })
    }
  }
}
