import { fieldsOf, type JsonObject } from '../../base/json-text.ts'
import { ownValue } from '../../base/own-value.ts'
import type { PriceKey } from '../../tables/meter-table.ts'
import { decimalText, shift } from '../../base/money.ts'
import { comparable, exactDecimal, slugOf } from './data-set-prices.ts'
import type { TieredPrice } from '../document.ts'
import type { KnownProvider } from '../known-providers.ts'

/** The prefixes that the list of limits puts before the names of a maker's models, by the author of an id here. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['openai', ''],
  ['anthropic', ''],
  ['google', 'gemini/'],
  ['mistralai', 'mistral/'],
  ['deepseek', 'deepseek/'],
  ['x-ai', 'xai/'],
  ['cohere', ''],
  ['perplexity', 'perplexity/'],
  ['qwen', 'dashscope/'],
  ['moonshotai', 'moonshot/'],
  ['z-ai', 'zai/'],
  ['minimax', 'minimax/'],
  ['amazon', 'amazon.'],
])
const HOST_PREFIXES: ReadonlyMap<string, string> = new Map([
  ['groq', 'groq/'],
  ['fireworks', 'fireworks_ai/'],
])
const KINDS: ReadonlySet<unknown> = new Set([undefined, 'chat', 'completion', 'responses', 'embedding'])
const ROWS_MAX = 50_000

/** The entry of a model in the list; null = the list does not say. */
export interface ListedLimits {
  /** The context window in tokens. */
  readonly context: number | null
  readonly output: number | null
  readonly seesImages: boolean | null
  /** Paths of the operations that serve it, such as `/v1/chat/completions`. */
  readonly endpoints: readonly string[] | null
  /** USD for a million tokens, as texts; null = the list has none. */
  readonly price: TieredPrice | null
  /** The same by the name of the service tier. */
  readonly serviceTiers: Readonly<Record<string, TieredPrice>>
  /** Input tokens above which it costs more; null = there is no such step, or the list does not say. */
  readonly step: number | null
  /** It is neither for chat nor for embeddings. */
  readonly isOtherKind: boolean
  /** ISO day from which the provider no longer serves it. */
  readonly gone: string | null
}

/** Limits of models from a list in the form of LiteLLM's `model_prices_and_context_window.json`. */
export class LimitList {
  readonly #rows: JsonObject
  /** Entries of makers' models, by prefix and comparable name. */
  readonly #byForm = new Map<string, JsonObject>()
  readonly #prefixes = new Set<string | null>()
  /** By comparable name: of the longest answers that hosts state for a model, the shortest. */
  readonly #shortest = new Map<string, number>()

  constructor(body: unknown) {
    this.#rows = fieldsOf(body)
    const prefixes = [...new Set([...PREFIXES.values(), ...HOST_PREFIXES.values()])]
    for (const [name, row] of Object.entries(this.#rows).slice(0, ROWS_MAX)) {
      this.#addHost(comparable(slugOf(name)), limitsOf(fieldsOf(row)))
      const prefix = prefixes.find((one) => one !== '' && name.startsWith(one)) ?? ''
      if (prefix === '' && name.includes('/')) continue
      this.#prefixes.add(prefix)
      const form = `${prefix}${comparable(slugOf(name.slice(prefix.length)))}`
      if (!this.#byForm.has(form)) this.#byForm.set(form, fieldsOf(row))
    }
  }

  /** The entry of a provider's own model. */
  ofEndpoint({ slug, author }: KnownProvider, upstream: string): ListedLimits | null {
    const prefix = author === null ? HOST_PREFIXES.get(slug) : PREFIXES.get(author)
    if (prefix === undefined) return null
    const row =
      ownValue(this.#rows, prefix + upstream) ??
      ownValue(this.#rows, `${slug}/${upstream}`) ??
      this.#byForm.get(prefix + comparable(slugOf(upstream)))
    return row === undefined ? null : limitsOf(fieldsOf(row))
  }

  /** Whether the list has any models of a provider. */
  covers({ slug, author }: KnownProvider): boolean {
    return this.#prefixes.has((author === null ? HOST_PREFIXES.get(slug) : PREFIXES.get(author)) ?? null)
  }

  /** The maker's entry of the model that has an id here. */
  ofModel(id: string): ListedLimits | null {
    const [author = '', slug = ''] = id.split('/')
    const prefix = PREFIXES.get(author)
    const row = prefix === undefined ? undefined : this.#byForm.get(prefix + comparable(slug))
    return row === undefined ? null : limitsOf(row)
  }

  /** The longest answer of a model that many hosts serve, in tokens: the shortest that any of them states. */
  outputAnywhere(id: string): number | null {
    return this.#shortest.get(comparable(slugOf(id))) ?? null
  }

  #addHost(form: string, { output }: ListedLimits): void {
    if (output !== null) this.#shortest.set(form, Math.min(output, this.#shortest.get(form) ?? Infinity))
  }
}

function limitsOf(row: JsonObject): ListedLimits {
  const tokens = (value: unknown): number | null =>
    typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
  const { max_input_tokens: input, max_output_tokens: most, supports_vision: sees, supported_endpoints: paths } = row
  const { deprecation_date: gone, mode } = row
  const [context, output] = [tokens(input), tokens(most)]
  const listed = Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : null
  return {
    context,
    // If both are the same number, the list has only repeated the window.
    output: output === context ? null : output,
    seesImages: typeof sees === 'boolean' ? sees : null,
    endpoints: listed ?? (mode === 'responses' ? ['/v1/responses'] : null),
    price: priceOf(row, ''),
    serviceTiers: Object.fromEntries(
      ['flex', 'priority'].flatMap((name) => {
        const price = priceOf(row, `_${name}`)
        return price === null ? [] : [[name, price] as const]
      }),
    ),
    step: firstStep(row),
    isOtherKind: !KINDS.has(mode),
    gone: typeof gone === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(gone) ? gone : null,
  }
}

const STEP = /^input_cost_per_token_above_(\d{1,6})k_tokens$/
/** Powers of ten between a price of one token and of a million. */
const PER_TOKEN = 6
const COSTS: readonly (readonly [PriceKey, string])[] = [
  ['prompt', 'input_cost_per_token'],
  ['completion', 'output_cost_per_token'],
  ['input_cache_read', 'cache_read_input_token_cost'],
  ['input_cache_write', 'cache_creation_input_token_cost'],
]

/** The price in a service tier, with the steps that the model has without one; null = the list lacks a part of it. */
function priceOf(row: JsonObject, tier: string): TieredPrice | null {
  const base = costsOf(row, tier)
  if (base['prompt'] === undefined) return null
  const tiers = stepsOf(row).map((above) => ({ above, ...costsOf(row, `_above_${above / 1_000}k_tokens${tier}`) }))
  if (tiers.some((step) => Object.keys(base).some((key) => !Object.hasOwn(step, key)))) return null
  return { ...base, ...(tiers.length === 0 ? {} : { tiers }) }
}

function costsOf(row: JsonObject, suffix: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    COSTS.flatMap(([key, name]) => {
      const cost = ownValue(row, name + suffix)
      const exact = typeof cost === 'number' ? exactDecimal(cost) : null
      return exact === null ? [] : [[key, decimalText(shift(exact, PER_TOKEN))] as const]
    }),
  )
}

function stepsOf(row: JsonObject): readonly number[] {
  const found = Object.keys(row).flatMap((key) => {
    const thousands = STEP.exec(key)?.[1]
    return thousands === undefined ? [] : [Number(thousands) * 1_000]
  })
  return found.toSorted((one, other) => one - other)
}

/** Input tokens above which a model costs more. */
function firstStep(row: JsonObject): number | null {
  const { tiered_pricing: tiered } = row
  const ranges: readonly unknown[] = Array.isArray(tiered)
    ? tiered.map((tier) => Object.values(fieldsOf(fieldsOf(tier)['range']))[0])
    : []
  const steps = [...ranges, ...stepsOf(row)].filter((step) => typeof step === 'number').filter((step) => step > 0)
  return steps.length === 0 ? null : Math.min(...steps)
}
