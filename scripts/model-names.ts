import type { MatchLogic, ModelInfo } from '@pydantic/genai-prices'
import type { KnownProvider } from '../src/catalog/known-providers.ts'

const MODEL_ID = /^[a-z0-9][a-z0-9._-]{0,99}\/[a-z0-9][a-z0-9._-]{0,99}$/

/** Finds the id that OpenRouter gives to a provider's model, so that a model of several providers has one id here. */
export class OpenrouterNames {
  readonly #rows = new Map<string, ModelInfo>()
  /** By comparable form; null = several authors have such a model. */
  readonly #byForm = new Map<string, string | null>()

  constructor(rows: readonly ModelInfo[]) {
    for (const row of rows) {
      if (!MODEL_ID.test(row.id)) continue
      this.#rows.set(row.id, row)
      const form = comparable(slugOf(row.id))
      this.#byForm.set(form, this.#byForm.has(form) ? null : row.id)
    }
  }

  /** null = no free id of the form author/slug. */
  idOf(provider: KnownProvider, row: ModelInfo, isTaken: (id: string) => boolean): string | null {
    const own = row.id.toLowerCase()
    if (provider.slug === 'openrouter') return this.#rows.has(row.id) && !isTaken(row.id) ? row.id : null
    const plain = own.includes('/') ? own : `${provider.author ?? provider.slug}/${own}`
    const names = [row.id, ...equalNames(row.match)]
    const known = names.map((name) => this.#known(provider, name)).find((id) => id !== null && !isTaken(id))
    return known ?? [plain].find((id) => MODEL_ID.test(id) && !isTaken(id)) ?? null
  }

  contextOf(id: string): number | undefined {
    return this.#rows.get(id)?.context_window
  }

  displayName(id: string): string | undefined {
    return this.#rows.get(id)?.name
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
export function upstreamName(provider: KnownProvider, row: ModelInfo): string {
  const names = equalNames(row.match)
  // Cohere's API takes only dated names.
  const dated = provider.slug === 'cohere' ? names.find((name) => /-\d{2}-\d{4}$/.test(name)) : undefined
  return dated ?? (matchesName(row.match, row.id) ? row.id : (names[0] ?? row.id))
}

export function matchesName(match: MatchLogic, name: string): boolean {
  if ('or' in match) return match.or.some((part) => matchesName(part, name))
  if ('and' in match) return match.and.every((part) => matchesName(part, name))
  if ('equals' in match) return name === match.equals
  if ('starts_with' in match) return name.startsWith(match.starts_with)
  if ('ends_with' in match) return name.endsWith(match.ends_with)
  return 'contains' in match ? name.includes(match.contains) : new RegExp(match.regex).test(name)
}

function equalNames(match: MatchLogic): readonly string[] {
  if ('or' in match) return match.or.flatMap(equalNames)
  return 'equals' in match ? [match.equals] : []
}

function slugOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

/** `claude-3-5-haiku-latest` and `claude-3.5-haiku`, `kimi-k2p5` and `kimi-k2.5` are one name. */
function comparable(slug: string): string {
  return slug
    .toLowerCase()
    .replaceAll(/(\d)p(\d)/g, '$1-$2')
    .replaceAll('.', '-')
    .replace(/-latest$/, '')
    .replace(/-0$/, '')
}
