/** The page that documents a trait. */
export interface TraitPage {
  readonly source: string
  /** The day on which the page said so. */
  readonly date: string
}

/** What a maker documents about its models, from one version of a family on. */
export interface TraitRow<Traits> extends TraitPage {
  /**
   * Words of the name, the maker's first: `claude opus`. A family with only the maker's word is for models of unknown
   * families.
   */
  readonly of: string
  /** The first version with these traits, `major.minor`; absent = they apply from the oldest on. */
  readonly from?: string
  readonly traits: Traits
}

export function traitRow<Traits>(of: string, from: string, traits: Traits, page: TraitPage): TraitRow<Traits> {
  return { of, from, traits, ...page }
}

interface Family<Traits> {
  readonly words: readonly string[]
  /** The newest first. */
  readonly versions: { readonly from: number; readonly traits: Traits }[]
}

const KNOWN_MAX = 1_000

/**
 * Traits of models by their names, since no protocol reports them. The first family applies whose words are all in the
 * name, and in it the newest row up to the model's version. A name without a version, such as an alias of the latest
 * model, has the traits of the newest row.
 */
export class TraitTable<Traits> {
  readonly rows: readonly TraitRow<Traits>[]
  readonly #families: readonly Family<Traits>[]
  /** Names are those of endpoints, so there are few. */
  readonly #known = new Map<string, Traits | null>()

  constructor(rows: readonly TraitRow<Traits>[]) {
    this.rows = rows
    const families = new Map<string, Family<Traits>>()
    for (const { of, from, traits } of rows) {
      const family = families.get(of) ?? { words: of.split(' '), versions: [] }
      family.versions.push({ from: from === undefined ? 0 : versionNumber(from.split('.')), traits })
      families.set(of, family)
    }
    for (const { versions } of families.values()) versions.sort((left, right) => right.from - left.from)
    this.#families = [...families.values()]
  }

  /** null = no row covers this name. */
  of(model: string): Traits | null {
    const known = this.#known.get(model)
    if (known !== undefined) return known
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    const traits = this.#find(nameWords(model))
    this.#known.set(model, traits)
    return traits
  }

  #find(name: readonly string[]): Traits | null {
    const family = this.#families.find(({ words }) => words.every((word) => name.includes(word)))
    if (family === undefined) return null
    const { words, versions } = family
    const version = versionIn(name, words)
    const row = version === null ? versions[0] : versions.find(({ from }) => from <= version)
    return (row ?? versions.at(-1))?.traits ?? null
  }
}

/** The words of a model's own name, without any collection before it and without a tag or a revision after a colon. */
function nameWords(model: string): readonly string[] {
  const own = model.toLowerCase().split('/').at(-1) ?? ''
  return (own.split(':')[0] ?? '').split(/[^a-z0-9]+/)
}

/**
 * The first number after the maker's word, and the number right after it. In an unknown family, a number counts only if
 * it follows the maker's word directly: `claude-2.1`, but not `claude-saga-1`. Longer numbers are dates.
 */
function versionIn(name: readonly string[], words: readonly string[]): number | null {
  const [maker = ''] = words
  const start = name.indexOf(maker) + 1
  const rest = name.slice(start)
  const first = rest[0]?.startsWith('v') === true && isVersion(rest[0].slice(1)) ? [rest[0].slice(1)] : rest.slice(0, 1)
  const numbers = [...first, ...rest.slice(1)]
  const at = numbers.findIndex(isVersion)
  if (at === -1 || (words.length === 1 && at > 0)) return null
  const minor = numbers[at + 1] ?? ''
  return versionNumber(isVersion(minor) ? [numbers[at] ?? '', minor] : [numbers[at] ?? ''])
}

function isVersion(word: string): boolean {
  return /^\d{1,2}$/.test(word)
}

function versionNumber([major = '0', minor = '0']: readonly string[]): number {
  return Number(major) * 100 + Number(minor)
}
