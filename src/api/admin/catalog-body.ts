import { AUTH_TYPE_NAMES } from '../../catalog/auth.ts'
import { GUESSABLE } from '../../catalog/model-entry.ts'
import { BALANCE_API_NAMES, PRICE_LIST_API_NAMES } from '../../catalog/provider-feeds.ts'
import { EFFORTS, REASONING_ECHOES, REASONING_FORMS } from '../../catalog/quirks.ts'
import { INPUT_MODALITIES, MODEL_TYPES, OUTPUT_MODALITIES } from '../../tables/model-types.ts'
import { PARAMETER_NAMES } from '../../tables/parameter-table.ts'
import { PRICED_METERS } from '../../tables/meter-table.ts'
import {
  body,
  either,
  flag,
  list,
  map,
  maybe,
  maybeEach,
  narrowed,
  nullable,
  number,
  oneOf,
  text,
  whole,
  type Schema,
} from '../../base/schema.ts'
import {
  DECIMAL as MARKUP,
  NAME,
  SettingsPatch,
  type CatalogDocument,
  type ModelEntry,
  type ProviderEntry,
} from './catalog-contract.ts'

/**
 * The parts of a catalogue as its reader accepts them (`src/catalog/document-reader.ts`): the fields and their forms.
 * Only the reader judges the meaning of values and rules between fields.
 */

/** A text that is not empty. */
const FILLED = narrowed<string>({ ...NAME, minLength: 1 })
const NAMES = list(NAME)
/** Exact as a text too. */
const DECIMAL = either(
  number('', { minimum: 0, maximum: 1_000_000_000 }),
  text('', { pattern: '^[+]?[0-9]{1,40}([.][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$' }),
)
const TOKENS = whole('', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const MEDIA = whole('Tokens.', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const WAIT = whole('Seconds.', { minimum: 1, maximum: 3_600 })

const PRICES = maybeEach(
  Object.fromEntries(
    PRICED_METERS.map(({ priceKey, varies, priceLabel: { en } }): readonly [string, Schema<unknown>] => [
      priceKey,
      { ...(varies === undefined ? DECIMAL : either(DECIMAL, map(nullable(DECIMAL)))), description: en },
    ]),
  ),
)

const named = (names: readonly string[]): Schema<readonly string[]> => list(oneOf(names))

/** Of a service, or of one model there. */
const QUIRKS = {
  reasoning: oneOf(REASONING_FORMS),
  reasoning_budgets: body(maybeEach(Object.fromEntries(EFFORTS.map((effort) => [effort, TOKENS])))),
  reasoning_echo: oneOf(REASONING_ECHOES),
  reasoning_blank: NAME,
  fixed: map(nullable(either(number(), either(NAME, flag())))),
  strict: oneOf(['each', 'all_or_none']),
  schema_words: map(nullable(oneOf(['drop', 'describe']))),
  json_word: flag(),
  stream: oneOf(['as_asked', 'always']),
  tools: oneOf(['tools', 'functions']),
  system: oneOf(['anywhere', 'first']),
}

export const EndpointBody = body({
  provider: FILLED,
  model: narrowed<string>({ ...FILLED, description: "The provider's own name of the model." }),
  price: body(
    { currency: NAME, ...PRICES },
    'In the units of the file: per million tokens or characters, else per unit.',
  ),
  sell: maybe(body({ currency: maybe(NAME), ...PRICES }, 'RUB, in place of price × rate × markup.')),
  supported_parameters: maybe(named(PARAMETER_NAMES)),
  context_length: maybe(TOKENS),
  max_completion_tokens: maybe(TOKENS),
  media_tokens: maybe(body(maybeEach({ image: MEDIA, file: MEDIA, audio: MEDIA, video: MEDIA }))),
  native_responses: maybe(flag()),
  native_messages: maybe(flag()),
  native_completions: maybe(flag()),
  dialect: maybe(body(maybeEach(QUIRKS), 'Over those of its provider.')),
  cache_marks: maybe(flag('Prompts without cache marks get them, where writing a cache has a price.')),
  force: maybe(flag('Its prices are meant, however far they are from what is known of the model.')),
})

const MODEL = body({
  id: FILLED,
  type: oneOf(MODEL_TYPES),
  endpoints: list(EndpointBody, '', { minItems: 1, maxItems: 10_000 }),
  ...maybeEach({
    name: NAME,
    markup: MARKUP,
    description: NAME,
    created: NAME,
    active: flag(),
    hidden: flag(),
    context_length: TOKENS,
    max_completion_tokens: TOKENS,
    guessed: named(GUESSABLE),
    max_prompt_length: TOKENS,
    input_modalities: named(INPUT_MODALITIES),
    output_modalities: named(OUTPUT_MODALITIES),
    tokenizer: NAME,
    instruct_type: NAME,
    aliases: NAMES,
    supported_voices: NAMES,
    supported_formats: NAMES,
    supported_sizes: NAMES,
    supported_durations: NAMES,
    supported_resolutions: NAMES,
    supported_aspect_ratios: NAMES,
  }),
})

/** In a body the id may be absent: the path has it. */
export const ModelBody = narrowed<Omit<ModelEntry, 'id'> & { readonly id?: string }>({
  ...MODEL,
  required: ['type', 'endpoints'],
  description: 'A model as in the catalogue file. Its id may be left out: the path has it.',
})

export const ProviderBody = narrowed<ProviderEntry>(
  body(
    {
      adapter: narrowed<string>({ ...FILLED, description: 'Its protocol: `openai`, `anthropic`, …' }),
      api_key: maybe(either(NAME, NAMES)),
      auth: maybe(
        body(
          {
            type: oneOf(AUTH_TYPE_NAMES),
            ...maybeEach({
              token_url: NAME,
              authority: NAME,
              tenant: NAME,
              client: NAME,
              secret: NAME,
              key: NAME,
              key_file: NAME,
              scope: NAME,
              profile: NAME,
              headers: map(nullable(NAME)),
              params: map(nullable(NAME)),
            }),
          },
          'In place of `api_key`: how its tokens are got. Each type has its own fields.',
        ),
      ),
      timeouts: maybe(
        body(
          maybeEach({
            connect: whole('Seconds.', { minimum: 1, maximum: 60 }),
            first_byte: WAIT,
            progress: WAIT,
            total: whole('Seconds.', { minimum: 1, maximum: 86_400 }),
          }),
        ),
      ),
      balance: maybe(
        body(
          {
            api: oneOf(BALANCE_API_NAMES),
            low: maybe(whole('In its currency; 10 if absent.', { minimum: 0, maximum: 1_000_000_000 })),
          },
          'Whose API tells what is left of the money with it, and below which amount people are told.',
        ),
      ),
      price_list: maybe(
        body(
          {
            api: oneOf(PRICE_LIST_API_NAMES),
            rise: maybe(whole('Percent; 10 if absent.', { minimum: 0, maximum: 1_000 })),
          },
          'The list of prices of the provider that the catalogue follows; a greater rise waits for a hand.',
        ),
      ),
      dialect: maybe(
        body(
          {
            ...maybeEach({
              auth_header: NAME,
              query: map(nullable(NAME)),
              stream_usage: flag(),
              names: body(maybeEach({ dimensions: NAME, top_n: NAME })),
              videos: oneOf(['openai', 'openrouter', 'xai']),
              images: oneOf(['size', 'words']),
              vectors: oneOf(['float32', 'int8']),
              ...QUIRKS,
              headers: map(nullable(NAME)),
              ca_file: text('', { pattern: '^/' }),
            }),
          },
          'How its protocol differs from that of OpenAI. Only `headers`, `ca_file`, `service_tier` and `reasoning_echo` are for other adapters than `openai` too.',
        ),
      ),
      ...maybeEach({
        name: NAME,
        base_url: NAME,
        bundled_models: NAMES,
        markup: MARKUP,
        cancel_stops_billing: flag(),
        package: narrowed<string>({ ...NAME, description: 'For the adapter `ai-sdk`.' }),
        factory: narrowed<string>({ ...NAME, description: 'For the adapter `ai-sdk`.' }),
      }),
    },
    'A provider as in the catalogue file. An `api_key`, a value of `headers`, or a `key` or `secret` of `auth` that comes back cut to its last four characters stays when it is sent back.',
  ),
)

/** A provider that is tried before it is kept. */
export const TrialBody = body({ slug: FILLED, provider: ProviderBody })

/** A provider with the models that it serves; each model needs its id here. */
export const ConnectionBody = body({
  slug: FILLED,
  provider: ProviderBody,
  models: narrowed<readonly ModelEntry[]>(list(MODEL, '', { maxItems: 5_000 })),
})

const { maintenance: _ofTheApiOnly, ...FILE_SETTINGS } = SettingsPatch.fields

export const CatalogBody = narrowed<CatalogDocument>(
  body({
    bundled: maybe(flag('Whether the bundled models are offered too; true if absent.')),
    bundled_except: maybe(list(NAME, 'Slugs and ids of the bundled providers and models that are left out.')),
    ...FILE_SETTINGS,
    providers: maybe(map(nullable(ProviderBody))),
    models: maybe(list(MODEL, '', { maxItems: 10_000 })),
  }),
)
