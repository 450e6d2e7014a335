import { compare, decimalText, parseDecimal, type Decimal } from '../money.ts'
import type { KnownCheck, Problem, SourceNode } from './source-tree.ts'

/** Far above any price or rate, far below what a sum of money may hold. */
const DECIMAL_MAX: Decimal = { digits: 1_000_000_000n, scale: 0 }

/**
 * Reads the known keys of one map; what is left over at `done` is an unknown key. Every problem names its path and
 * line.
 */
export class FieldReader {
  readonly path: string
  readonly #entries: ReadonlyMap<string, SourceNode>
  readonly #line: number
  readonly #problems: Problem[]
  readonly #seen = new Set<string>()

  constructor(node: SourceNode, path: string, problems: Problem[]) {
    this.path = path
    this.#problems = problems
    this.#line = node.line
    this.#entries = node.kind === 'map' ? node.entries : new Map()
    if (node.kind !== 'map')
      problems.push({
        line: node.line,
        path,
        message: 'must be a map of fields',
        known: { check: 'object', params: {} },
      })
  }

  has(key: string): boolean {
    return this.node(key) !== null
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** The value of `key`; null when it is absent or null. */
  node(key: string): SourceNode | null {
    this.#seen.add(key)
    const node = this.#entries.get(key)
    return node === undefined || node.kind === 'null' ? null : node
  }

  problem(key: string, message: string, unroutable = false, known: KnownCheck | null = null): void {
    this.#problems.push({
      line: this.#entries.get(key)?.line ?? this.#line,
      path: key === '' ? this.path : this.pathOf(key),
      message,
      ...(known === null ? {} : { known }),
      ...(unroutable ? { unroutable } : {}),
    })
  }

  /** Whether the value of `key`, or an item of it, was found wrong already. */
  isWrong(key: string): boolean {
    const path = this.pathOf(key)
    return this.#problems.some((problem) => problem.path === path || problem.path.startsWith(`${path}[`))
  }

  pathOf(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`
  }

  text(key: string): string | null {
    const node = this.node(key)
    if (node === null) return null
    // `model: 4` means the name "4".
    if (node.kind === 'text' || node.kind === 'number') return node.text
    this.problem(key, 'must be a text', false, { check: 'text', params: {} })
    return null
  }

  required(key: string): string {
    const value = this.text(key)
    if (value === null || value === '') this.problem(key, 'is required', false, { check: 'required', params: {} })
    return value ?? ''
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | null {
    const value = this.text(key)
    if (value === null) return null
    const found = allowed.find((name) => name === value)
    if (found === undefined)
      this.problem(key, `must be one of ${allowed.join(', ')}, got '${value}'`, false, {
        check: 'one_of',
        params: { allowed: allowed.join(', ') },
      })
    return found ?? null
  }

  flag(key: string, fallback: boolean): boolean {
    const node = this.node(key)
    if (node === null) return fallback
    if (node.kind !== 'boolean') this.problem(key, 'must be true or false', false, { check: 'flag', params: {} })
    return node.kind === 'boolean' ? node.value : fallback
  }

  whole(key: string, least: number, most = Number.MAX_SAFE_INTEGER): number | null {
    const node = this.node(key)
    if (node === null) return null
    const value = node.kind === 'number' ? Number(node.text) : Number.NaN
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value
    this.problem(
      key,
      `must be a whole number from ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`}`,
      false,
      most === Number.MAX_SAFE_INTEGER
        ? { check: 'least', params: { least } }
        : { check: 'whole', params: { least, most } },
    )
    return null
  }

  /** The exact decimal text of a number ≥ 0, also when it is written as a text. */
  decimal(key: string): string | null {
    const node = this.node(key)
    if (node === null) return null
    const value = node.kind === 'number' || node.kind === 'text' ? parseDecimal(node.text) : null
    if (value === null || value.digits < 0n || compare(value, DECIMAL_MAX) > 0) {
      this.problem(key, `must be a decimal number from 0 to ${decimalText(DECIMAL_MAX)}`, false, {
        check: 'decimal',
        params: { most: decimalText(DECIMAL_MAX) },
      })
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
    this.problem(key, 'must be a list of texts', false, { check: 'list', params: {} })
    return null
  }

  wholes(key: string): readonly number[] | null {
    const values = this.texts(key)?.map(Number) ?? null
    if (values === null || values.every((value) => Number.isSafeInteger(value) && value > 0)) return values
    this.problem(key, 'must be a list of whole numbers', false, { check: 'list', params: {} })
    return null
  }

  map(key: string): FieldReader | null {
    const node = this.node(key)
    return node === null ? null : new FieldReader(node, this.pathOf(key), this.#problems)
  }

  items(key: string): readonly FieldReader[] {
    const node = this.node(key)
    if (node === null) return []
    if (node.kind === 'list')
      return node.items.map((item, index) => new FieldReader(item, `${this.pathOf(key)}[${index}]`, this.#problems))
    this.problem(key, 'must be a list', false, { check: 'list', params: {} })
    return []
  }

  /** Every key that nobody asked for is an error. */
  done(): void {
    for (const key of this.#entries.keys()) {
      if (!this.#seen.has(key))
        this.problem(key, 'is not a known field', false, {
          check: 'unknown_field',
          params: { known: [...this.#seen].join(', ') },
        })
    }
  }
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], null> }

/** The fields that are not null: an absent field stays absent in the document, so that defaults are not written back. */
export function defined<T extends Record<string, unknown>>(fields: T): Defined<T> {
  // The filter removes exactly what Defined takes out of the type.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Defined<T>
}
