import { isIP } from 'node:net'
import { withoutTrailing } from './trailing.ts'
import { ownValue } from './own-value.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Names that differ in more letters are different words. */
const SLIPS_MAX = 3

/** Reads values from the environment and collects their problems. */
export class SettingReader {
  readonly problems: string[] = []
  readonly #environment: Environment
  readonly #asked = new Set<string>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  problem(name: string, message: string): void {
    this.problems.push(`${name}: ${message}`)
  }

  given(name: string): boolean {
    return this.#valueOf(name) !== undefined
  }

  /** A line for each variable with this prefix that is not a setting, with the nearest setting if one is near. */
  unknown(prefix: string): readonly string[] {
    const names = Object.keys(this.#environment).filter((name) => name.startsWith(prefix) && !this.#asked.has(name))
    return names.map((name) => {
      const near = [...this.#asked].find((asked) => isNear(name, asked))
      return `${name} is not a setting${near === undefined ? ': see docs/settings.md' : `, did you mean ${near}?`}`
    })
  }

  #valueOf(name: string): string | undefined {
    this.#asked.add(name)
    return ownValue(this.#environment, name)
  }

  /**
   * An empty value is refused: it is usually a variable that was not filled in, and a default could pick the wrong
   * store or leave a door open.
   */
  text(name: string): string | null {
    const value = this.#valueOf(name)
    if (value === undefined) return null
    if (value.trim() !== '') return value.trim()
    this.problem(name, 'is empty: give it a value or unset it')
    return null
  }

  host(name: string, fallback: string): string {
    const value = this.text(name)?.replace(/^\[(.+)\]$/, '$1') ?? fallback
    if (isIP(value) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value))
      this.problem(name, `must be an IP address or a host name, got '${value}'`)
    return value
  }

  whole(name: string, fallback: number, least: number, most: number): number {
    const text = this.text(name)
    if (text === null) return fallback
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    this.problem(name, `must be a whole number from ${least} to ${most}, got '${text}'`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.text(name)
    if (text === null) return fallback
    if (text !== 'true' && text !== 'false') this.problem(name, `must be true or false, got '${text}'`)
    return text === 'true'
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.text(name)
    if (text === null) return fallback
    const found = allowed.find((value) => value === text)
    if (found === undefined) this.problem(name, `must be one of ${allowed.join(', ')}, got '${text}'`)
    return found ?? fallback
  }

  /** A connection URL, which may hold a password: messages do not repeat its value. */
  url(name: string, protocols: readonly string[], example: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol))
      this.problem(name, `must be a URL such as ${example}`)
    return text
  }

  /** An http or https address, without a trailing slash. */
  address(name: string, example: string): string | null {
    const text = this.url(name, ['http:', 'https:'], example)
    if (text === null || !URL.canParse(text)) return text
    const { search, hash, username } = new URL(text)
    if (search !== '' || hash !== '' || username !== '')
      this.problem(name, `must be a plain address such as ${example}, without user, query or fragment`)
    return withoutTrailing(text, '/')
  }
}

/** Whether two names differ by a few inserted, removed or changed letters. */
function isNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > SLIPS_MAX) return false
  let row = Array.from({ length: other.length + 1 }, (_value, index) => index)
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at]
    for (let to = 1; to <= other.length; to += 1) {
      const kept = (row[to - 1] ?? 0) + Number(one[at - 1] !== other[to - 1])
      next.push(Math.min(kept, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1))
    }
    row = next
  }
  return (row[other.length] ?? SLIPS_MAX + 1) <= SLIPS_MAX
}
