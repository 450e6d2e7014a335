import type { FieldCheck } from '../../base/refusals.ts'
import {
  type Schema,
  type Static,
  anything,
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
  object,
  oneOf,
  only,
  open,
  optional,
  text,
  whole,
} from '../../base/schema.ts'
import { AUTH_TYPE_NAMES } from '../../catalog/auth.ts'
import type { CatalogWarning } from '../../catalog/catalog-warning.ts'
import { ABOVE_0, NAME } from '../../catalog/entry-fields.ts'
import { TRIAL_OUTCOMES } from '../../catalog/offered-models.ts'
import { HOLD_REASONS } from '../../catalog/price-list.ts'
import { MODEL_TYPES } from '../../tables/model-types.ts'
import {
  SETTING_ROWS,
  SETTING_UNITS,
  type SettingName,
  type SettingRow,
  type SettingValue,
  type TextForm,
  TEXT_FORMS,
} from '../../tables/settings-table.ts'

/**
 * A provider as in the catalogue file. `api_key` is write-only: an answer shows `…` and its last four characters, and a
 * body with this masked key leaves the stored key as it is.
 */
export const ProviderEntry = open(
  {
    name: optional(text()),
    adapter: text('Its protocol: `openai`, `anthropic`, …'),
    base_url: optional(text()),
    api_key: optional(either(text(), list(text()))),
    auth: optional(
      open(
        { type: oneOf(AUTH_TYPE_NAMES) },
        either(text(), map(text())),
        'In place of `api_key`: how its tokens are got.',
      ),
    ),
    cancel_stops_billing: optional(flag()),
    markup: optional(either(number(), text('Of everything that it serves.'))),
    bundled_models: optional(list(text(), 'Ids of the bundled models that it serves; absent = all of them.')),
    timeouts: optional(
      object({
        connect: optional(number('Seconds.')),
        first_byte: optional(number()),
        progress: optional(number()),
        total: optional(number()),
      }),
    ),
  },
  anything(),
  'A provider as in the catalogue file. `api_key` comes back cut to its last four characters; sent back like this it stays.',
)
export type ProviderEntry = Static<typeof ProviderEntry>

export const ProviderTrial = object(
  {
    outcome: oneOf(TRIAL_OUTCOMES, '`listed`: the address and the key are right, and `models` is what it has.'),
    status: nullable(whole("The provider's HTTP status; null where nothing answered.")),
    said: nullable(text("The provider's own words, without secrets.")),
    elapsed_ms: whole(),
    models: list(
      object({
        listed: flag('Whether the provider named it; the others are known from the bundled catalogue.'),
        bundled: flag('Whether its prices are those of the bundled catalogue.'),
        exists: flag('Whether the catalogue has the model already, from other providers perhaps.'),
        entry: narrowed<ModelEntry>(
          anything(
            'A model as in the catalogue file, without prices where none are known. `guessed` names what the provider does not say; its `type` is one too, unless `bundled`.',
          ),
        ),
        alike: optional(
          narrowed<ModelEntry>(anything('A bundled model of this name from another provider, with prices and limits.')),
        ),
      }),
    ),
  },
  'What a provider answered to a real request with this address and key. Nothing is kept or charged.',
)
export type ProviderTrial = Static<typeof ProviderTrial>

const Decimal = either(number(), text())
const Conditional = map(anything('A price of a key, or the bound, the hours and the tiers of the condition.'))
/** A price is one decimal, several by size, or the conditions `tiers`, `hours` and `service_tiers`. */
const Price = either(Decimal, map(Decimal), list(Conditional), map(Conditional))

export const PriceEntry = open(
  { currency: text() },
  Price,
  'Prices in the units of the file: per million tokens or characters, else per unit.',
)
export type PriceEntry = Static<typeof PriceEntry>

export const EndpointEntry = open(
  {
    provider: text(),
    model: text("The provider's own name of the model."),
    price: PriceEntry,
    sell: optional(map(Price, 'RUB, in place of price × rate × markup.')),
    supported_parameters: optional(list(text())),
  },
  anything(),
)
export type EndpointEntry = Static<typeof EndpointEntry>

export const ModelEntry = open(
  {
    id: text(),
    name: optional(text()),
    type: oneOf(MODEL_TYPES),
    active: optional(flag()),
    hidden: optional(flag()),
    context_length: optional(whole()),
    markup: optional(either(number(), text("In place of its providers' and the service's."))),
    endpoints: list(EndpointEntry),
  },
  anything(),
  'A model as in the catalogue file.',
)

export type ModelEntry = Static<typeof ModelEntry>

export const CatalogDocument = open({ providers: map(ProviderEntry), models: list(ModelEntry) }, anything())
export type CatalogDocument = Static<typeof CatalogDocument>

const Warning = narrowed<CatalogWarning>(
  object({ warning: text('Which warning it is.'), params: map(either(text(), number())), message: text() }),
)

export const Warned = object(
  { warnings: optional(list(Warning)) },
  'A change that would sell something below its cost, or not at all, is made all the same, and says so.',
)
export type Warned = Static<typeof Warned>

/** What a change that waits would do to what the model costs, sells for and brings. */
export const PriceEffect = object(
  {
    lines: list(
      object({
        price: text('As in the file: `prompt`, `completion`, …'),
        condition: nullable(text('Such as `above 200000`; null = the plain price.')),
        cost: nullable(text('Exact, in RUB; null = there is none yet.')),
        cost_after: nullable(text()),
        sell: nullable(text("Everybody's price.")),
        sell_after: nullable(text()),
        margin_percent: nullable(number()),
        margin_percent_after: nullable(number()),
      }),
      'The prices that would be others.',
    ),
    day: nullable(
      object(
        { cost: number('More to the provider, RUB a day.'), revenue: number('More from customers, RUB a day.') },
        'Estimated from the traffic of the last 7 days; null = there was none.',
      ),
    ),
    customer_count: whole('Accounts that used the model at this provider in these days and would pay another price.'),
    customers: list(
      object({ account: text(), name: text(), day: number('More a day, RUB.') }),
      'The first five of them, those that would pay the most more first.',
    ),
    limits: nullable(
      object({ context_length: nullable(whole()), max_completion_tokens: nullable(whole()) }, 'Of the model now.'),
    ),
  },
  'What approving a change would do.',
)
export type PriceEffect = Static<typeof PriceEffect>

export const PriceChange = object(
  {
    id: text(),
    model: text(),
    provider: text(),
    endpoint: text("The provider's own name of the model."),
    before: nullable(PriceEntry),
    after: PriceEntry,
    reason: nullable(
      oneOf(
        HOLD_REASONS,
        'Why it waits: a rise above the limit, half the price or less, no price, a price that the row lacks, another currency, prices by other sizes, a `sell` below the cost; a new model, other limits, a model that the published lists no longer have; a change within the limits that a look has found. null = it does not.',
      ),
    ),
    row: optional(
      object(
        {
          name: optional(text()),
          type: text(),
          context_length: optional(whole()),
          max_completion_tokens: optional(whole()),
          guessed: optional(list(text(), 'Limits that are guesses, since nobody has stated them.')),
          input_modalities: optional(list(text())),
        },
        'Of a new model, other limits, or a model that is gone.',
      ),
    ),
    effect: optional(PriceEffect),
  },
  'Another price of an endpoint, by the list of its provider or by a release.',
)
export type PriceChange = Static<typeof PriceChange>

export const CatalogChange = object(
  {
    ...Warned.fields,
    applied: flag(),
    changes: list(text()),
    price_version: whole(),
    held: optional(list(PriceChange, 'Of an update: prices that wait for a decision, or would.')),
    failure: optional(
      nullable(text('Of an update: why the published lists could not be read; the release alone was taken.')),
    ),
  },
  '`changes`: one line each, `+ model a/b`, `- …`, `~ …`.',
)
export type CatalogChange = Static<typeof CatalogChange>

const PriceLines = list(
  object({
    price: text('As in the file: `prompt`, `completion`, …'),
    cost: text(),
    sell: text(),
    margin_percent: nullable(number('(sell − cost) / sell in percent, one decimal; null when it sells for nothing.')),
  }),
)

export const PricedEndpoint = object(
  {
    endpoint: text(),
    provider: text(),
    provider_name: text(),
    upstream_model: text("The provider's own name of the model."),
    state: oneOf(['healthy', 'cooling_down']),
    lines: PriceLines,
    conditions: list(
      object({ condition: text('Such as `above 200000`, `flex` or `16:30-00:30 UTC`.'), lines: PriceLines }),
      'Prices under conditions; those that are not named stay as they are.',
    ),
  },
  'What one endpoint of a model costs us and sells for, in RUB: per million tokens or characters, else per unit; exact decimals.',
)
export type PricedEndpoint = Static<typeof PricedEndpoint>

export const PricedModel = object({
  id: text(),
  name: text(),
  type: oneOf(MODEL_TYPES),
  active: flag(),
  hidden: flag(),
  context_length: nullable(whole()),
  endpoints: list(PricedEndpoint),
})
export type PricedModel = Static<typeof PricedModel>

/** What is said of a text besides its name. */
const FORM_NOTES = {
  text: '',
  link: ' `https://…`, `http://…` or `mailto:…`.',
  colour: ' `#rrggbb`, of at least 3:1 against white; empty = the own one.',
  picture: ' A data URL: PNG, JPEG, WebP or SVG.',
} as const

/** A schema for each row of the table of settings. */
const PLAIN_SETTINGS = Object.fromEntries(
  SETTING_ROWS.map(([name, row]) => [name, settingSchema(row)]),
  // The cast is true because each schema is made from the row that gives this type.
) as { readonly [N in SettingName]: Schema<SettingValue<N>> }

function textSchema(form: TextForm, description: string, maxLength: number): Schema<string> {
  return form === 'text'
    ? narrowed<string>({ ...NAME, description, maxLength })
    : text(description, { maxLength, pattern: TEXT_FORMS[form].source })
}

function settingSchema(row: SettingRow): Schema<unknown> {
  switch (row.kind) {
    case 'numbers':
      return body(
        Object.fromEntries(
          Object.entries(row.fields).map(([name, { least, most, label, unit }]) => [
            name,
            whole(unit === undefined ? label.en : `${label.en}; ${SETTING_UNITS[unit].en}`, {
              minimum: least,
              maximum: most,
            }),
          ]),
        ),
      )
    case 'texts':
      return body(
        Object.fromEntries(
          Object.entries(row.fields).map(([name, { most, form, label }]) => [
            name,
            maybe(textSchema(form, `${label.en}.${FORM_NOTES[form]}`, most)),
          ]),
        ),
      )
    case 'choice':
      return oneOf(Object.keys(row.options), row.label.en)
    case 'flag':
      return flag(row.label.en)
  }
}

export const Settings = object({
  maintenance: nullable(object({ message: nullable(text()), retry_after: nullable(whole()) })),
  timezone: text(),
  rates: map(either(number(), text()), "RUB per unit of each currency, and `source: 'cbr'` where they are fetched."),
  markup: number(),
  model_fallbacks: map(text(), 'The model that is taken for each name that no model has.'),
  ...PLAIN_SETTINGS,
})
export type Settings = Static<typeof Settings>

export const CatalogProblem = object(
  { path: text(), message: text(), check: text<FieldCheck>(), params: map(either(text(), number())) },
  'Of `error.metadata.problems`, where a document, provider, model or setting was refused: the first 50 of `problem_count`.',
)
export type CatalogProblem = Static<typeof CatalogProblem>

/** null counts as not given, except for `maintenance`, where it ends the maintenance. */
export const SettingsPatch = body({
  maintenance: maybe(
    body({ message: maybe(NAME), retry_after: maybe(whole('Seconds.', { minimum: 1, maximum: 86_400 })) }),
  ),
  timezone: maybe(narrowed<string>({ ...NAME, description: 'An IANA name.', format: 'timezone' })),
  rates: maybe(
    narrowed<Readonly<Record<string, number | string | null>>>({
      ...open({ source: maybe(only('cbr')) }, nullable(ABOVE_0), 'RUB for one unit of each currency.'),
      propertyNames: { pattern: '^([A-Z]{3}|source)$' },
    }),
  ),
  markup: maybe(ABOVE_0),
  model_fallbacks: maybe(map(NAME, 'Replaces the whole map.')),
  ...maybeEach(PLAIN_SETTINGS),
})
export const CatalogWarnings = object({ data: list(Warning) })
export const CatalogQuery = object({
  format: optional(only('yaml', "The operator's own file, as `tollgate export` writes it.")),
})
export const DryRunQuery = object({ dry_run: optional(only('1', 'Returns the difference and changes nothing.')) })

export const KnownQuery = object({ model: text('Its id, or only its name.') })
export const KnownModels = object({
  day: text('When the prices were published.'),
  data: list(narrowed<ModelEntry>(anything('A bundled model of this name, with prices and limits.'))),
})

export const PriceAccountsQuery = object({
  model: optional(text('Absent = all models whose prices wait for a decision.')),
})
const PriceChanges = object({ data: list(PriceChange) })
export const PriceChangesQuery = object({ effects: optional(only('false', 'Without what each would do.')) })

const CHANGE = { path: { id: 'prc_Vb3kQ9xT2mLr7dWa' }, body: {} }

/** The routes of prices that follow providers' lists, a part of the operator's contract. */
export const PRICE_ROUTES = {
  'GET /admin/v1/price-changes': {
    command: 'price held',
    scope: 'catalog:read',
    summary: "Prices from providers' lists and from releases that wait for a decision.",
    query: PriceChangesQuery,
    answer: PriceChanges,
  },
  'POST /admin/v1/price-changes/fetch': {
    command: 'price fetch',
    scope: 'catalog:write',
    summary: 'Fetches the price lists now, applies what needs no decision, and returns the result for each list.',
    body: body({}),
    answer: object({
      data: list(
        object({
          provider: text(),
          applied: list(PriceChange),
          held: list(PriceChange),
          failure: nullable(text('Why the list could not be used.')),
        }),
      ),
    }),
  },
  'GET /admin/v1/price-changes/accounts': {
    command: 'price accounts',
    scope: 'catalog:read',
    summary: 'The accounts that used a model in the last 30 days, those that paid the most first, at most 1,000.',
    query: PriceAccountsQuery,
    answer: object({
      total: whole(),
      data: list(object({ account: text(), requests: whole(), revenue: number('RUB.') })),
    }),
    example: { query: { model: 'acme/large' } },
  },
  'POST /admin/v1/price-changes/decide': {
    command: 'price decide',
    scope: 'catalog:write',
    summary:
      'Approves or rejects changes that wait, those of a provider as one price version; unknown ids are skipped.',
    body: body({
      ids: list(text('', { minLength: 1, pattern: '\\S' }), '', { minItems: 1, maxItems: 1_000 }),
      decision: oneOf(['approve', 'reject']),
    }),
    answer: object({
      decided: whole(),
      overtaken: list(PriceChange, 'Decided by another person meanwhile, or of a price that was changed.'),
    }),
    example: { body: { ids: ['prc_Vb3kQ9xT2mLr7dWa'], decision: 'approve' } },
  },
  'POST /admin/v1/price-changes/:id/approve': {
    command: 'price approve',
    scope: 'catalog:write',
    summary: 'Applies a price that waits. 409 if another person has decided it meanwhile, or the price was changed.',
    body: body({}),
    answer: PriceChange,
    example: CHANGE,
  },
  'POST /admin/v1/price-changes/:id/reject': {
    command: 'price reject',
    scope: 'catalog:write',
    summary: 'Keeps the price as it is; the same change is not proposed again.',
    body: body({}),
    answer: PriceChange,
    example: CHANGE,
  },
} as const
