import type { ModelType } from '../tables/model-types.ts'
import type { ModelEntry } from './document.ts'

/** A model that an operator may choose to sell from a provider. */
export interface OfferedModel {
  /** Whether the provider listed it. */
  readonly listed: boolean
  /** Whether its prices are those of the bundled catalogue. */
  readonly bundled: boolean
  readonly entry: ModelEntry
  /** A bundled model of this name from another provider, whose prices and limits may be those of this one too. */
  readonly alike?: ModelEntry
}

/** Types of models by a word in the provider's name of them; any other model is for chat. */
const TYPES_BY_WORD: readonly (readonly [RegExp, ModelType])[] = [
  [/embed|\bbge\b|\be5\b/i, 'embeddings'],
  [/rerank/i, 'rerank'],
  [/moderation/i, 'moderation'],
  [/whisper|transcri/i, 'transcription'],
  [/\btts\b|speech/i, 'tts'],
  [/dall-e|imagen|gpt-image|flux|stable-diffusion/i, 'image'],
  [/\bsora\b|\bveo\b|video/i, 'video'],
]
/** The guess for a chat model whose list does not say. */
const CONTEXT_LENGTH_GUESSED = 32_768

/**
 * The models that a provider can be asked to serve: those that it lists, with known prices first, and then bundled ones
 * that it did not list.
 */
export function offeredModels(
  slug: string,
  { models: listed }: Pick<ProviderTrial, 'models'>,
  bundled: readonly ModelEntry[],
  all: readonly ModelEntry[] = [],
): readonly OfferedModel[] {
  const byName = new Map(
    all.flatMap((entry) =>
      [entry.id, ...entry.endpoints.map(({ model }) => model)].map((name) => [nameOf(name), entry]),
    ),
  )
  const byUpstream = new Map(
    bundled.flatMap((entry) => entry.endpoints.map((endpoint) => [endpoint.model, entry] as const)),
  )
  const names = new Set(listed.map(({ id }) => id))
  const known = listed.flatMap(({ id }) => {
    const entry = byUpstream.get(id)
    return entry === undefined ? [] : [{ listed: true, bundled: true, entry }]
  })
  const ids = new Set(known.map(({ entry }) => entry.id))
  const rest = bundled.filter(({ endpoints }) => endpoints.every(({ model }) => !names.has(model)))
  const others = listed
    .filter(({ id }) => !byUpstream.has(id))
    .map((model) => entryOf(slug, model))
    .filter(({ id }) => !ids.has(id))
  return [
    ...known,
    ...others.map((entry) => {
      const alike = byName.get(nameOf(entry.id))
      return { listed: true, bundled: false, entry, ...(alike === undefined ? {} : { alike }) }
    }),
    ...rest.map((entry) => ({ listed: false, bundled: true, entry })),
  ]
}

/** The models of this name, the one with the whole id first. */
export function alikeModels(id: string, all: readonly ModelEntry[]): readonly ModelEntry[] {
  const name = nameOf(id)
  return all
    .filter((entry) => [entry.id, ...entry.endpoints.map(({ model }) => model)].some((one) => nameOf(one) === name))
    .toSorted((one, other) => Number(other.id === id) - Number(one.id === id))
}

/** An entry without prices: only the operator knows what an unknown model costs. */
export function entryOf(slug: string, { id, name, contextLength, maxCompletionTokens }: ListedModel): ModelEntry {
  const type = TYPES_BY_WORD.find(([word]) => word.test(id))?.[1] ?? 'chat'
  const context = contextLength ?? (type === 'chat' ? CONTEXT_LENGTH_GUESSED : null)
  return {
    id: modelId(slug, id),
    type,
    ...(name === null ? {} : { name }),
    ...(context === null ? {} : { context_length: context }),
    ...(context === contextLength ? {} : { guessed: ['context_length'] }),
    ...(maxCompletionTokens === null || (context !== null && maxCompletionTokens > context)
      ? {}
      : { max_completion_tokens: maxCompletionTokens }),
    endpoints: [{ provider: slug, model: id, price: { currency: 'USD' } }],
  }
}

/** The id `vendor/name`: the last two parts of the provider's name, or its slug and the name. */
function modelId(slug: string, upstream: string): string {
  const parts = upstream
    .split('/')
    .map(partOf)
    .filter((part) => part !== '')
  const name = parts.at(-1) ?? 'model'
  return `${parts.at(-2) ?? slug}/${name}`
}

/** The name of a model, whoever serves it. */
function nameOf(id: string): string {
  return partOf(id.split('/').at(-1) ?? id)
}

/** Only characters that an id may have. One that is too long is refused when it is saved, and never cut. */
function partOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._:@-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
}

/** A model as a provider lists it. */
export interface ListedModel {
  /** The provider's own name of the model. */
  readonly id: string
  readonly name: string | null
  /** In tokens; null = the list does not say. */
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
}

/**
 * The outcome of asking a provider which models it has. `no_list`: its protocol has no list of models. `not_found`:
 * nothing is at the address of the list. `no_token`: its `auth` did not yield a token.
 */
export const TRIAL_OUTCOMES = [
  'listed',
  'no_list',
  'refused',
  'no_token',
  'not_found',
  'limited',
  'rejected',
  'failed',
  'unreadable',
  'slow',
  'unknown_host',
  'private',
  'closed',
  'certificate',
  'unreachable',
] as const
export type TrialOutcome = (typeof TRIAL_OUTCOMES)[number]

export interface ProviderTrial {
  readonly outcome: TrialOutcome
  /** The status of the provider's answer; null = there was none. */
  readonly status: number | null
  /** The provider's words, without secrets; for `private`, the reason why it was not asked. */
  readonly said: string | null
  /** Empty unless `listed`. */
  readonly models: readonly ListedModel[]
}
