import { adapters, knownProviders, type KnownService } from 'virtual:adapters'
import type { ModelEntry, ProviderEntry, ProviderTrial } from '../../../../../src/api/admin/catalog-contract.ts'
import type { ModelType } from '../../../../../src/tables/model-types.ts'
import { given, type Input } from '../../../api/endpoint.ts'
import { draftOf, entryOf, firstLines, isComplete, type ModelDraft, type PriceLine, stated } from '../model-draft.ts'
import { providerDraft, providerEntry, type SignIn, signInOf } from '../provider-draft.ts'

export interface Service extends KnownService {
  /** Whether its prices come with Tollgate. */
  readonly isKnown: boolean
}

const OTHERS: readonly (readonly [slug: string, name: string])[] = [
  ['bedrock', 'Amazon Bedrock'],
  ['yandex', 'YandexGPT'],
  ['elevenlabs', 'ElevenLabs'],
  ['deepgram', 'Deepgram'],
  ['replicate', 'Replicate'],
  ['ollama', 'Ollama'],
]

function unpriced(slug: string, name: string, adapter: string): Service {
  const baseUrl = adapters.find(([known]) => known === slug)?.[1].baseUrl ?? ''
  return { slug, name, adapter, baseUrl, cancelStopsBilling: false, isKnown: false }
}

/** Services with a name, in the order in which they are shown. */
export const SERVICES: readonly Service[] = [
  ...knownProviders.map((service) => ({ ...service, isKnown: true })),
  ...OTHERS.map(([slug, name]) => unpriced(slug, name, slug)),
]

/** Any service that speaks a protocol that we know; the operator names it. */
export const OWN = unpriced('own', '', 'openai')

type OfferedModel = ProviderTrial['models'][number]

/** The connection to a provider, as the form has it. */
export interface ConnectionDraft {
  readonly service: Service
  readonly slug: string
  readonly name: string
  readonly adapter: string
  readonly address: string
  readonly key: string
  readonly signIn: SignIn
  /** The markup of all its models; empty = the default of the service. */
  readonly markup: string
}

/** A model that the operator may choose. */
export interface Choice {
  readonly offered: OfferedModel
  readonly chosen: boolean
  /** The model with the prices that the operator typed; prices of a bundled model are only shown. */
  readonly draft: ModelDraft
}

const NO_SLUG = /[^a-z0-9._-]+/g

export function connectionDraft(service: Service, before: ProviderEntry | null): ConnectionDraft {
  return {
    service,
    slug: service === OWN ? '' : service.slug,
    name: before?.name ?? service.name,
    adapter: before?.adapter ?? service.adapter,
    address: before?.base_url ?? service.baseUrl,
    key: '',
    // Its key is not a token: tokens are requested with it.
    signIn: before === null && service.adapter === 'gigachat' ? { type: 'gigachat', fields: {} } : signInOf(before),
    markup: String(before?.markup ?? ''),
  }
}

const LATIN: ReadonlyMap<string, string> = new Map(
  [...'абвгдеёжзийклмнопрстуфхцчшщъыьэюя'].map((letter, index) => [
    letter,
    'a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch  y  e yu ya'.split(' ')[index] ?? '',
  ]),
)

/** A slug for a name that the operator typed, also in Russian. */
export function slugOf(name: string): string {
  return Array.from(name.toLowerCase(), (letter) => LATIN.get(letter) ?? letter)
    .join('')
    .replaceAll(NO_SLUG, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64)
}

/** Other fields of the entry stay, and so do the stored keys if no new ones are given. */
export function providerOf(
  { service, key, ...connection }: ConnectionDraft,
  before: ProviderEntry | null,
): ProviderEntry {
  const { bundled_models: _chosen, ...kept }: ProviderEntry = before ?? {
    adapter: connection.adapter,
    ...(service.cancelStopsBilling ? { cancel_stops_billing: true } : {}),
  }
  return providerEntry({ ...providerDraft(connection.slug, kept), ...connection, keys: [key.trim()] }, kept)
}

/**
 * The models to choose from. At first, models that the provider lists and whose prices are known are chosen, or those
 * that it serves already. Prices to be typed are in rubles where the usual currency has no rate.
 */
export function choicesOf(
  models: readonly OfferedModel[],
  served: ReadonlySet<string> | null,
  rates: ReadonlyMap<string, number>,
): readonly Choice[] {
  const hasList = models.some(({ listed }) => listed)
  return models.map((offered) => ({
    offered,
    chosen: served === null ? offered.bundled && (offered.listed || !hasList) : served.has(offered.entry.id),
    draft: draftWithLines(offered.entry, rates),
  }))
}

function draftWithLines(entry: ModelEntry, rates: ReadonlyMap<string, number>): ModelDraft {
  const draft = draftOf(entry)
  return {
    ...draft,
    endpoints: draft.endpoints.map((endpoint) =>
      endpoint.lines.length > 0
        ? endpoint
        : {
            ...endpoint,
            currency: rates.has(endpoint.currency) ? endpoint.currency : 'RUB',
            lines: firstLines(draft.type),
          },
    ),
  }
}

export function linesOf({ draft }: Choice): readonly PriceLine[] {
  return draft.endpoints[0]?.lines ?? []
}

/** Whether a chosen model has all its prices. */
export function isPriced({ offered, draft }: Choice): boolean {
  return offered.bundled || isComplete(draft)
}

export function withLine(choice: Choice, index: number, cost: string): Choice {
  const endpoints = choice.draft.endpoints.map((endpoint) => ({
    ...endpoint,
    lines: endpoint.lines.map((line, at) => (at === index ? { ...line, cost } : line)),
  }))
  return { ...choice, draft: { ...choice.draft, endpoints } }
}

/** The limit that the operator knows takes the place of a guess. */
export function withContext({ draft, ...choice }: Choice, context: string): Choice {
  return { ...choice, draft: stated({ ...draft, context }, 'context_length') }
}

export function withType({ draft, ...choice }: Choice, type: ModelType): Choice {
  const endpoints = draft.endpoints.map((endpoint) => ({ ...endpoint, lines: firstLines(type) }))
  return { ...choice, draft: { ...draft, type, endpoints } }
}

/** The prices and limits of the bundled model of that name. */
export function withAlike(choice: Choice): Choice {
  const { alike, entry } = choice.offered
  return alike === undefined ? choice : { ...choice, chosen: true, draft: withKnown(entry, alike) }
}

/** A draft of this name and these providers, with the prices and limits of a known model. */
export function withKnown(
  { id, name, endpoints }: Pick<ModelEntry, 'id' | 'name' | 'endpoints'>,
  of: ModelEntry,
): ModelDraft {
  const routes = of.endpoints.slice(0, 1).flatMap((known) =>
    endpoints.map(({ provider, model }) => ({
      provider,
      model: model === '' ? known.model : model,
      price: known.price,
    })),
  )
  return draftOf({ ...of, id, ...given({ name: name ?? of.name }), endpoints: routes })
}

export function withCurrency(choice: Choice, currency: string): Choice {
  return {
    ...choice,
    draft: { ...choice.draft, endpoints: choice.draft.endpoints.map((endpoint) => ({ ...endpoint, currency })) },
  }
}

/** The request to create the provider with the chosen models. If all its bundled models are chosen, it names none. */
export function connectionBody(
  connection: ConnectionDraft,
  before: ProviderEntry | null,
  choices: readonly Choice[],
): Input<'POST /admin/v1/providers'>['body'] {
  const bundled = choices.filter(({ offered }) => offered.bundled)
  const chosen = bundled.filter((choice) => choice.chosen).map(({ offered }) => offered.entry.id)
  return {
    slug: connection.slug,
    provider: {
      ...providerOf(connection, before),
      ...(bundled.length === chosen.length ? {} : { bundled_models: chosen }),
    },
    models: choices.filter((choice) => choice.chosen && !choice.offered.bundled).map(({ draft }) => entryOf(draft)),
  }
}
