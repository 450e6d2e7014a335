import { AUTH_SCHEMAS, AUTH_TYPE_NAMES } from '../../catalog/auth.ts'
import { DIALECT_SCHEMAS } from '../../catalog/dialect.ts'
import { ENDPOINT_FIELDS, MODEL_FIELDS, PROVIDER_FIELDS } from '../../catalog/document.ts'
import { DECIMAL, fieldSchemas, NAME } from '../../catalog/entry-fields.ts'
import { SDK_FIELDS } from '../../catalog/sdk-package.ts'
import { MODEL_TYPES } from '../../tables/model-types.ts'
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
  oneOf,
  type Schema,
} from '../../base/schema.ts'
import { SettingsPatch, type CatalogDocument, type ModelEntry, type ProviderEntry } from './catalog-contract.ts'

/**
 * The fields and forms of a catalogue's parts, as its reader accepts them (`src/catalog/document-reader.ts`). Only the
 * reader judges the meaning of values and rules between fields.
 */

/** A text that is not empty. */
const FILLED = narrowed<string>({ ...NAME, minLength: 1 })

const PRICES = maybeEach(
  Object.fromEntries(
    PRICED_METERS.map(({ priceKey, varies, priceLabel: { en } }): readonly [string, Schema<unknown>] => [
      priceKey,
      { ...(varies === undefined ? DECIMAL : either(DECIMAL, map(nullable(DECIMAL)))), description: en },
    ]),
  ),
)

export const EndpointBody = body({
  provider: FILLED,
  model: narrowed<string>({ ...FILLED, description: "The provider's own name of the model." }),
  price: body(
    { currency: NAME, ...PRICES },
    'In the units of the file: per million tokens or characters, else per unit.',
  ),
  sell: maybe(body({ currency: maybe(NAME), ...PRICES }, 'RUB, in place of price × rate × markup.')),
  ...fieldSchemas(ENDPOINT_FIELDS),
})

export const MODEL = body({
  id: FILLED,
  type: oneOf(MODEL_TYPES),
  endpoints: list(EndpointBody, '', { minItems: 1, maxItems: 10_000 }),
  ...fieldSchemas(MODEL_FIELDS),
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
      api_key: maybe(either(NAME, list(NAME))),
      auth: maybe(
        body(
          { type: oneOf(AUTH_TYPE_NAMES), ...maybeEach(AUTH_SCHEMAS) },
          'In place of `api_key`: how its tokens are got. Each type has its own fields.',
        ),
      ),
      dialect: maybe(
        body(
          DIALECT_SCHEMAS,
          'How its protocol differs from that of OpenAI. Only `headers`, `ca_file`, `service_tier` and `reasoning_echo` are for other adapters than `openai` too.',
        ),
      ),
      ...maybeEach({ name: NAME, base_url: NAME }),
      ...fieldSchemas(PROVIDER_FIELDS),
      ...fieldSchemas(SDK_FIELDS),
    },
    'A provider as in the catalogue file. An `api_key`, a value of `headers`, or a `key` or `secret` of `auth` that comes back cut to its last four characters stays when it is sent back.',
  ),
)

/** A provider that is tried before it is stored. */
export const TrialBody = body({ slug: FILLED, provider: ProviderBody })

/** A provider with the models that it serves. Here each model must have its id. */
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
