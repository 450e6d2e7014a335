import { fieldsOf } from '../../base/json-text.ts'
import type { KnownProvider } from '../known-providers.ts'

const MODEL_ID = /^[a-z0-9][a-z0-9._-]{0,99}\/[a-z0-9][a-z0-9._-]{0,99}$/
/** The most names of one model in the data set, and the depth of its conditions on a name. */
const NAMES_MAX = 50
const DEPTH_MAX = 4

/** The names of a row of the data set. */
export interface NamedRow {
  readonly id: string
  readonly name: string | null
  /** Tokens; null = unknown. */
  readonly context: number | null
  /** A condition on names: `equals`, `starts_with`, `ends_with`, `contains`, `regex`, or `and`, `or` of them. */
  readonly match: unknown
}

/** Finds the id that OpenRouter has for a provider's model, so that a model of several providers has one id here. */
export class OpenrouterNames {
  readonly #rows = new Map<string, NamedRow>()
  /** By comparable form; null = models of several authors have this form. */
  readonly #byForm = new Map<string, string | null>()

  constructor(rows: readonly NamedRow[]) {
    for (const row of rows) {
      if (!MODEL_ID.test(row.id)) continue
      this.#rows.set(row.id, row)
      const form = comparable(slugOf(row.id))
      this.#byForm.set(form, this.#byForm.has(form) ? null : row.id)
    }
  }

  /** null = the model has no free id of the form author/slug. */
  idOf(provider: KnownProvider, row: NamedRow, isTaken: (id: string) => boolean): string | null {
    const own = row.id.toLowerCase()
    if (provider.slug === 'openrouter') return this.#rows.has(row.id) && !isTaken(row.id) ? row.id : null
    const plain = own.includes('/') ? own : `${provider.author ?? provider.slug}/${own}`
    const names = [row.id, ...equalNames(row.match)]
    const known = names.map((name) => this.#known(provider, name)).find((id) => id !== null && !isTaken(id))
    return known ?? [plain].find((id) => MODEL_ID.test(id) && !isTaken(id)) ?? null
  }

  contextOf(id: string): number | null {
    return this.#rows.get(id)?.context ?? null
  }

  displayName(id: string): string | null {
    return this.#rows.get(id)?.name ?? null
  }

  #known(provider: KnownProvider, name: string): string | null {
    const lower = name.toLowerCase()
    if (this.#rows.has(lower)) return lower
    const slug = slugOf(lower)
    if (provider.author !== null && this.#rows.has(`${provider.author}/${slug}`)) return `${provider.author}/${slug}`
    const id = this.#byForm.get(comparable(slug)) ?? null
    return id !== null && (provider.author === null || id.startsWith(`${provider.author}/`)) ? id : null
  }
}

/**
 * The model's name in the provider's API: the row's own id if the row matches it, else the first name that it matches.
 */
export function upstreamName(provider: KnownProvider, { id, match }: NamedRow): string {
  const names = equalNames(match)
  // Cohere's API accepts only dated names.
  const dated = provider.slug === 'cohere' ? names.find((name) => /-\d{2}-\d{4}$/.test(name)) : undefined
  return dated ?? (matchesName(match, id) ? id : (names[0] ?? id))
}

/**
 * The pattern of a `regex` comes from outside, so it is not run: it counts as fulfilled inside `and`, and as not
 * fulfilled elsewhere.
 */
function matchesName(match: unknown, name: string, inAll = false, depth = 0): boolean {
  if (depth > DEPTH_MAX) return false
  const { or, and, equals, starts_with: start, ends_with: end, contains } = fieldsOf(match)
  if (Array.isArray(or)) return or.slice(0, NAMES_MAX).some((part) => matchesName(part, name, false, depth + 1))
  if (Array.isArray(and)) return and.slice(0, NAMES_MAX).every((part) => matchesName(part, name, true, depth + 1))
  if (typeof equals === 'string') return name === equals
  if (typeof start === 'string') return name.startsWith(start)
  if (typeof end === 'string') return name.endsWith(end)
  return typeof contains === 'string' ? name.includes(contains) : inAll
}

function equalNames(match: unknown, depth = 0): readonly string[] {
  const { or, equals } = fieldsOf(match)
  if (Array.isArray(or) && depth <= DEPTH_MAX)
    return or.slice(0, NAMES_MAX).flatMap((part) => equalNames(part, depth + 1))
  return typeof equals === 'string' ? [equals] : []
}

export function slugOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

/** `claude-3-5-haiku-latest` and `claude-3.5-haiku`, `kimi-k2p5` and `kimi-k2.5` are one name. */
export function comparable(slug: string): string {
  return slug
    .toLowerCase()
    .replaceAll(/(\d)p(\d)/g, '$1-$2')
    .replaceAll('.', '-')
    .replace(/-latest$/, '')
    .replace(/-0$/, '')
}

/** What a model of a family probably takes and returns. */
export interface Family {
  readonly inputModalities: readonly string[]
  /**
   * The longest answer in tokens; null = what another host states, else a quarter of the context window, at least 8,192
   * and at most 32,768.
   */
  readonly maxCompletionTokens: number | null
}

/**
 * For models whose limits the data set does not say: a guess for each family, rather too low than too high, since a
 * provider refuses a larger limit. A row with a guessed limit says so in `guessed`. The first matching row applies.
 */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^anthropic\/claude-(2|3-|v)/, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^anthropic\/claude-3\.5-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^anthropic\/claude-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_000 }],
  [/^google\/gemini-(1|2\.0|pro|flash)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^google\/gemini-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 65_535 }],
  [/^openai\/gpt-(5|6)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 128_000 }],
  [/^openai\/(gpt-4\.1|o[134])/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [/^openai\/gpt-4o/, { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 }],
  [/^openai\/gpt-oss/, { inputModalities: ['text'], maxCompletionTokens: 32_768 }],
  [/^openai\/(gpt-3|chatgpt)/, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^x-ai\/grok-(3|code)/, { inputModalities: ['text'], maxCompletionTokens: 16_384 }],
  // "No text output limit": https://docs.x.ai/developers/grok-4-6 (seen on 27 November 2026). A hold needs a limit all
  // the same.
  [/^x-ai\/grok-4\.([2-9]|1\d)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 128_000 }],
  [/^x-ai\/grok-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [
    /^mistralai\/(pixtral|mistral-(small|medium)-(2[5-9]|3|latest)|mistral-large-2512|ministral-\w+-2512)/,
    { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 },
  ],
  [/^meta-llama\/llama-4/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/[-/](vl|vision)\b|-vl-|\d[vV]$/, { inputModalities: ['text', 'image'], maxCompletionTokens: null }],
  [/^cohere\//, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^perplexity\//, { inputModalities: ['text'], maxCompletionTokens: 8_192 }],
]
const OTHERS: Family = { inputModalities: ['text'], maxCompletionTokens: null }
const LEAST = 8_192
const MOST = 32_768

/** `id` in OpenRouter's form. */
export function familyOf(id: string): Family {
  return FAMILIES.find(([pattern]) => pattern.test(id))?.[1] ?? OTHERS
}

/**
 * The longest answer of a model of this family and window, in tokens. `elsewhere`: the longest answer that another host
 * states.
 */
export function guessedOutput({ maxCompletionTokens }: Family, context: number, elsewhere: number | null): number {
  const guess = maxCompletionTokens ?? elsewhere ?? Math.max(LEAST, Math.min(MOST, Math.floor(context / 4)))
  return Math.min(guess, context)
}
