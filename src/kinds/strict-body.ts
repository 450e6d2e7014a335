import { fieldError, type ApiError, type FieldCheck, type FieldChecks } from '../errors.ts'
import { isObject } from './json-fields.ts'
import { microFromRubles, type Micro } from '../money.ts'

/** Reads a body's known fields; whatever nobody asked for is refused by name (operator.md 4). */
export class BodyFields {
  readonly #body: Readonly<Record<string, unknown>>
  readonly #path: string
  readonly #known = new Set<string>()

  constructor(json: unknown, path = '') {
    this.#body = isObject(json) ? json : {}
    this.#path = path
    if (json !== undefined && !isObject(json)) throw this.#wrong('', 'object', {}, 'must be an object')
  }

  /** undefined = not given; null where it was given as null. */
  text(name: string, most = 500): string | null | undefined {
    const value = this.#take(name)
    if (value === undefined || value === null) return value
    if (typeof value === 'string' && value.trim() !== '' && value.length <= most) return value
    throw this.#wrong(name, 'text_length', { least: 1, most }, `must be a text of 1 to ${most} characters`)
  }

  requiredText(name: string, most = 500): string {
    const value = this.text(name, most)
    if (value === undefined || value === null) throw this.#wrong(name, 'required', {}, 'is required')
    return value
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | null | undefined {
    const value = this.#take(name)
    if (value === undefined || value === null) return value
    const found = allowed.find((item) => item === value)
    if (found === undefined)
      throw this.#wrong(name, 'one_of', { allowed: allowed.join(', ') }, `must be one of ${allowed.join(', ')}`)
    return found
  }

  flag(name: string): boolean | undefined {
    const value = this.#take(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.#wrong(name, 'flag', {}, 'must be true or false')
  }

  whole(name: string, least: number, most: number): number {
    const value = this.#take(name)
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
    throw this.#wrong(name, 'whole', { least, most }, `must be a whole number from ${least} to ${most}`)
  }

  optionalWhole(name: string, least: number, most: number): number | undefined {
    return Object.hasOwn(this.#body, name) ? this.whole(name, least, most) : void this.#known.add(name)
  }

  /** RUB with at most six decimals. */
  amount(name: string): Micro | null | undefined {
    const value = this.#take(name)
    if (value === undefined || value === null) return value
    const micro = typeof value === 'number' ? microFromRubles(value) : null
    if (micro === null)
      throw this.#wrong(
        name,
        'amount',
        {},
        'must be an amount in RUB, a number with at most 6 decimals and below 9000000000',
      )
    return micro
  }

  time(name: string): number | null | undefined {
    const value = this.#take(name)
    if (value === undefined || value === null) return value
    const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN
    if (Number.isNaN(atMs)) throw this.#wrong(name, 'time', {}, 'must be an ISO time such as 2026-12-01T00:00:00Z')
    return atMs
  }

  texts(name: string): readonly string[] | null | undefined {
    const value = this.#take(name)
    if (value === undefined || value === null) return value
    if (Array.isArray(value) && value.length <= 1_000 && value.every((item) => typeof item === 'string' && item !== ''))
      return value.map(String)
    throw this.#wrong(name, 'list', {}, 'must be a list of texts')
  }

  object(name: string): BodyFields | null | undefined {
    const value = this.#take(name)
    if (value === undefined || value === null) return value
    return new BodyFields(value, `${this.#path}${name}.`)
  }

  /** Called once everything known was read. */
  done(): void {
    const unknown = Object.keys(this.#body).filter((name) => !this.#known.has(name))
    const [first] = unknown
    if (first === undefined) return
    const known = [...this.#known].join(', ')
    throw fieldError(
      this.#path + first,
      'unknown_field',
      { known },
      '',
      `Unknown field${unknown.length > 1 ? 's' : ''}: ${unknown.map((name) => this.#path + name).join(', ')}. Known: ${known}`,
    )
  }

  #take(name: string): unknown {
    this.#known.add(name)
    return Object.hasOwn(this.#body, name) ? this.#body[name] : undefined
  }

  #wrong<C extends FieldCheck>(name: string, check: C, params: FieldChecks[C], what: string): ApiError {
    return fieldError(`${this.#path}${name || 'body'}`, check, params, what)
  }
}
