import { isIP } from 'node:net'
import { oneLine, withoutTrailing } from './text.ts'
import { ownValue } from './own-value.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A variable of the environment: how its value is read, and what the page of the settings says about it. */
export type VariableRow = {
  readonly meaning: string
  /** A description of its value; absent = the kind says it. */
  readonly value?: string
  /** What holds if it is absent; absent = the fallback says it. */
  readonly absent?: string
  /** Its value may be in a file, and no message repeats it. */
  readonly secret?: true
} & (
  | { readonly kind: 'text' | 'networks' | 'host'; readonly fallback?: string }
  | {
      readonly kind: 'url'
      readonly protocols: readonly string[]
      readonly example: string
      readonly fallback?: string
    }
  | { readonly kind: 'address'; readonly example: string; readonly fallback?: string }
  | { readonly kind: 'whole'; readonly least: number; readonly most: number; readonly fallback: number | null }
  | { readonly kind: 'flag'; readonly fallback: boolean }
  | { readonly kind: 'choice'; readonly options: readonly string[]; readonly fallback: string | null }
)

export type VariableRows = Readonly<Record<string, VariableRow>>

/** The variables of a kind. */
type Named<R extends VariableRows, K extends VariableRow['kind']> = {
  [N in keyof R & string]: R[N]['kind'] extends K ? N : never
}[keyof R & string]
/** A value of the type T, or null where the variable has no fallback. */
type GivenOrFallback<T, Row> = Row extends { readonly fallback: infer F } ? (F extends null ? T | null : T) : T | null

/** The suffix that turns the name of a secret into the variable that names its file. */
export const FILE_SUFFIX = '_FILE'
const LINE_CHARACTERS_MAX = 500
/** The most letters by which a misspelt name may differ; names that differ more are different words. */
const SLIPS_MAX = 3
/** The same for a name that is not clearly ours, and may be another program's. */
const FOREIGN_SLIPS_MAX = 2
/** The distance of a name from one that begins with it, or with which it begins: less than three letters. */
const PART_SLIPS = 2.5
/** Shorter names of other programs are near to too many words. */
const FOREIGN_CHARACTERS_MIN = 8

/** Reads the variables of a table from the environment, and collects their problems. */
export class SettingReader<R extends VariableRows> {
  readonly problems: string[] = []
  readonly #environment: Environment
  readonly #rows: R

  constructor(environment: Environment, rows: R) {
    this.#environment = environment
    this.#rows = rows
  }

  /** The line names the variable that was set: the secret itself, or its file. */
  problem(name: keyof R & string, message: string): void {
    this.problems.push(problemLine(this.#isInFile(name) ? `${name}${FILE_SUFFIX}` : name, message))
  }

  given(name: keyof R & string): boolean {
    return ownValue(this.#environment, name) !== undefined || this.#isInFile(name)
  }

  #isInFile(name: string): boolean {
    return (
      ownValue<VariableRow>(this.#rows, name)?.secret === true &&
      ownValue(this.#environment, `${name}${FILE_SUFFIX}`) !== undefined
    )
  }

  /**
   * An empty value is refused. It is usually a variable that was not filled in, and a default could pick the wrong
   * store or leave access open.
   */
  #text(name: keyof R & string): string | null {
    const value = ownValue(this.#environment, name)
    if (value === undefined) return null
    if (value.trim() !== '') return value.trim()
    this.problem(name, 'is empty: give it a value or unset it')
    return null
  }

  #row<K extends VariableRow['kind']>(name: Named<R, K>): VariableRow & { readonly kind: K } {
    // `Named` has only names whose row is of this kind.
    return this.#rows[name] as unknown as VariableRow & { readonly kind: K }
  }

  text<N extends Named<R, 'text' | 'networks'>>(name: N): GivenOrFallback<string, R[N]> {
    const { fallback = null } = this.#row<'text' | 'networks'>(name)
    // null only if the row has no fallback.
    return (this.#text(name) ?? fallback) as GivenOrFallback<string, R[N]>
  }

  host<N extends Named<R, 'host'>>(name: N): GivenOrFallback<string, R[N]> {
    const { fallback = null } = this.#row<'host'>(name)
    const value = this.#text(name)?.replace(/^\[(.+)\]$/, '$1') ?? fallback
    if (value !== null && isIP(value) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value))
      this.problem(name, `must be an IP address or a host name, got '${value}'`)
    // null only if the row has no fallback.
    return value as GivenOrFallback<string, R[N]>
  }

  whole<N extends Named<R, 'whole'>>(name: N): GivenOrFallback<number, R[N]> {
    const { least, most, fallback } = this.#row<'whole'>(name)
    const text = this.#text(name)
    const value = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    const isWithin = value >= least && value <= most
    if (text !== null && !isWithin) this.problem(name, `must be a whole number from ${least} to ${most}, got '${text}'`)
    // The row's own fallback.
    return (isWithin ? value : fallback) as GivenOrFallback<number, R[N]>
  }

  flag(name: Named<R, 'flag'>): boolean {
    const text = this.#text(name)
    if (text === null) return this.#row<'flag'>(name).fallback
    if (text !== 'true' && text !== 'false') this.problem(name, `must be true or false, got '${text}'`)
    return text === 'true'
  }

  choice<N extends Named<R, 'choice'>>(
    name: N,
  ): GivenOrFallback<R[N] extends { readonly options: readonly (infer O)[] } ? O : never, R[N]> {
    const { options, fallback } = this.#row<'choice'>(name)
    const text = this.#text(name)
    const found = options.find((option) => option === text) ?? null
    if (text !== null && found === null) this.problem(name, `must be one of ${options.join(', ')}, got '${text}'`)
    // One of the row's options, or its own fallback.
    return (found ?? fallback) as GivenOrFallback<
      R[N] extends { readonly options: readonly (infer O)[] } ? O : never,
      R[N]
    >
  }

  /** A connection URL, which may hold a password: messages do not repeat its value. */
  url<N extends Named<R, 'url'>>(name: N): GivenOrFallback<string, R[N]> {
    const { protocols, example, fallback = null } = this.#row<'url'>(name)
    const text = this.#text(name)
    if (text !== null && (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)))
      this.problem(name, `must be a URL such as ${example}`)
    // null only if the row has no fallback.
    return (text ?? fallback) as GivenOrFallback<string, R[N]>
  }

  /** An http or https address, without a trailing slash. */
  address<N extends Named<R, 'address'>>(name: N): GivenOrFallback<string, R[N]> {
    const { example, fallback = null } = this.#row<'address'>(name)
    const text = this.#text(name)
    if (text !== null) {
      if (!URL.canParse(text) || !['http:', 'https:'].includes(new URL(text).protocol))
        this.problem(name, `must be a URL such as ${example}`)
      else if (!isPlain(new URL(text)))
        this.problem(name, `must be a plain address such as ${example}, without user, query or fragment`)
    }
    // null only if the row has no fallback.
    return (text === null ? fallback : withoutTrailing(text, '/')) as GivenOrFallback<string, R[N]>
  }

  /**
   * A line for each variable that is probably a mistyped setting: a name with our prefix that is no setting; an unknown
   * name of a family, such as `SMTP_`, of which settings are set; a name that is very near to a setting.
   */
  unknown(prefix: string, families: readonly string[]): readonly string[] {
    const secrets = Object.entries(this.#rows).filter(([, { secret }]) => secret === true)
    const known = new Set([...Object.keys(this.#rows), ...secrets.map(([name]) => `${name}${FILE_SUFFIX}`)])
    const used = families.filter((family) =>
      Object.keys(this.#rows).some((row) => row.startsWith(family) && this.given(row)),
    )
    return Object.keys(this.#environment).flatMap((given) => {
      const name = oneLine(given, LINE_CHARACTERS_MAX)
      if (known.has(name)) return []
      const plain = name.slice(0, -FILE_SUFFIX.length)
      if (name.endsWith(FILE_SUFFIX) && known.has(plain))
        return [`${name} is not a setting: ${plain} is no secret, and takes its value itself`]
      const isOurs = name.toUpperCase().startsWith(prefix)
      const isLikely = isOurs || used.some((family) => name.startsWith(family))
      const bare = isOurs ? name.slice(prefix.length) : ''
      const near = known.has(bare) ? bare : nearest(name, known, isLikely)
      if (near !== null) return [`${name} is not a setting, did you mean ${near}?`]
      return isOurs ? [`${name} is not a setting: see docs/settings.md`] : []
    })
  }
}

/** A line about a variable; a value in it is shown in one line, whatever it contains. */
export function problemLine(name: string, message: string): string {
  return oneLine(`${name}: ${message}`, LINE_CHARACTERS_MAX)
}

function isPlain({ search, hash, username, password }: URL): boolean {
  return [search, hash, username, password].every((part) => part === '')
}

/** The setting to which a name is nearest; null = near to none. A name that is probably not ours must be nearer. */
function nearest(name: string, known: ReadonlySet<string>, isLikely: boolean): string | null {
  const given = name.toUpperCase()
  if (!isLikely && given.length < FOREIGN_CHARACTERS_MIN) return null
  const most = isLikely ? SLIPS_MAX : FOREIGN_SLIPS_MAX
  let [best, bestSlips]: [string | null, number] = [null, most + 1]
  for (const other of known) {
    const isPart = isLikely && (other.startsWith(given) || given.startsWith(other))
    const count = Math.min(slips(given, other), isPart ? PART_SLIPS : Number.POSITIVE_INFINITY)
    if (count < bestSlips) [best, bestSlips] = [other, count]
  }
  return best
}

/** How many letters must be inserted, removed or changed to turn one name into the other. */
function slips(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > SLIPS_MAX) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: other.length + 1 }, (_value, index) => index)
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at]
    for (let to = 1; to <= other.length; to += 1) {
      const kept = (row[to - 1] ?? 0) + Number(one[at - 1] !== other[to - 1])
      next.push(Math.min(kept, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? Number.POSITIVE_INFINITY
}
