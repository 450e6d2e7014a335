import assert from 'node:assert/strict'
import { test } from 'node:test'
import operatorEn from '../../console/src/locales/operator.en.json' with { type: 'json' }
import type { CatalogProblem } from '../../src/api/admin/catalog-contract.ts'
import type { FieldCheck } from '../../src/base/refusals.ts'
import { localeTexts } from '../harness/console-world.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

const PRICE = { currency: 'RUB', prompt: 10, completion: 20 }
const provider = (fields: object): object => ({ adapter: 'openai', base_url: 'https://api.acme.example/v1', ...fields })
const model = (endpoint: object, fields: object = {}): object => ({
  type: 'chat',
  context_length: 1000,
  endpoints: [{ provider: 'sandbox', model: 'chat', price: PRICE, ...endpoint }],
  ...fields,
})
const tollgate = await lasting(startTollgate())
await tollgate.admin('PATCH', '/admin/v1/settings', { rates: { USD: 100 } })
await tollgate.admin('PUT', '/admin/v1/models/acme/known', model({}, { id: 'acme/known', aliases: ['known'] }))

const priced = (price: object, fields: object = {}): object => model({ price: { ...PRICE, ...price } }, fields)

type Fault = readonly [check: FieldCheck, path: string, body: object]
const PROVIDERS: readonly Fault[] = [
  ['object', 'timeouts', provider({ timeouts: 3 })],
  ['one_of', 'adapter', provider({ adapter: 'nobody' })],
  ['http_address', 'base_url', provider({ base_url: 'ftp://acme.example' })],
  ['metadata_address', 'base_url', provider({ base_url: 'http://169.254.169.254/v1' })],
  ['operation_path', 'base_url', provider({ base_url: 'https://api.acme.example/v1/chat/completions' })],
  ['required', 'base_url', { adapter: 'bedrock' }],
  ['empty_key', 'api_key', provider({ api_key: ' ' })],
  ['masked_key', 'providers.p.api_key', provider({ api_key: '…1234' })],
  ['other_adapter', 'dialect.reasoning', { adapter: 'anthropic', dialect: { reasoning: 'effort' } }],
  ['other_adapter', 'package', provider({ package: '@ai-sdk/mistral' })],
  ['sdk_package', 'package', { adapter: 'ai-sdk', base_url: 'https://api.acme.example', package: 'left-pad' }],
  ['sdk_missing', 'package', { adapter: 'ai-sdk', base_url: 'https://api.acme.example', package: '@ai-sdk/not-there' }],
  [
    'factory_name',
    'factory',
    { adapter: 'ai-sdk', base_url: 'https://api.acme.example', package: '@ai-sdk/mistral', factory: 'mistral' },
  ],
  ['header_name', 'dialect.auth_header', provider({ dialect: { auth_header: 'a b' } })],
  ['header_value', 'dialect.headers.X-A', provider({ dialect: { headers: { 'X-A': 'a\nb' } } })],
  ['absolute_path', 'dialect.ca_file', provider({ dialect: { ca_file: 'a.pem' } })],
  ['one_credential', 'auth', provider({ api_key: 'k', auth: { type: 'gigachat', key: 'k' } })],
  ['service_key', 'auth.key', provider({ auth: { type: 'google', key: '{}' } })],
  ['machine_auth', 'auth', provider({ auth: { type: 'google_metadata' } })],
  ['parameter_name', 'dialect.names.top_n', provider({ dialect: { names: { top_n: '9' } } })],
  ['whole', 'timeouts.connect', provider({ timeouts: { connect: 0 } })],
  ['flag', 'cancel_stops_billing', provider({ cancel_stops_billing: 1 })],
  ['text', 'name', provider({ name: [] })],
  ['unknown_field', 'colour', provider({ colour: 'red' })],
]
const MODELS: readonly Fault[] = [
  ['model_id', 'id', model({}, { id: 'v' })],
  ['alias', 'aliases', model({}, { aliases: ['a:nitro'] })],
  ['required', 'type', { ...model({}), type: null }],
  ['day', 'created', model({}, { created: 'soon' })],
  ['above_context', 'max_completion_tokens', model({}, { max_completion_tokens: 1001 })],
  ['above_context', 'endpoints[0].max_completion_tokens', model({ max_completion_tokens: 1001 })],
  ['no_endpoints', 'endpoints', model({}, { endpoints: [] })],
  ['chat_context', 'context_length', model({}, { context_length: null })],
  ['least', 'context_length', model({}, { context_length: 0 })],
  ['required', 'endpoints[0].price', model({ price: null })],
  ['no_currency', 'endpoints[0].price.currency', priced({ currency: null })],
  ['currency_code', 'endpoints[0].price.currency', priced({ currency: 'rub' })],
  ['rubles_only', 'endpoints[0].sell.currency', model({ sell: { currency: 'USD', prompt: 1, completion: 1 } })],
  ['uncharged', 'endpoints[0].price.characters', priced({ characters: 1 })],
  ['uncharged_search', 'endpoints[0].price.search', priced({ search: 1 })],
  ['decimal', 'endpoints[0].price.prompt', priced({ prompt: 'much' })],
  ['names_of', 'input_modalities', model({}, { input_modalities: ['smell'] })],
  ['names_of', 'endpoints[0].supported_parameters', model({ supported_parameters: ['temprature'] })],
  ['list', 'supported_voices', model({}, { supported_voices: 'alloy' })],
  ['wholes', 'supported_durations', model({}, { supported_durations: ['long'] })],
  ['picture_key', 'endpoints[0].price.image_output.1x1/2x2', priced({ image_output: { '1x1/2x2': 1 } })],
  ['no_prices', 'endpoints[0].price.image_output', priced({ image_output: {} })],
  ['time_of_day', 'endpoints[0].price.hours[0].to', priced({ hours: [{ from: '08:00', to: '24:00' }] })],
  ['time_of_day', 'endpoints[0].price.hours[0].to', priced({ hours: [{ from: '08:00', to: '08:00' }] })],
  ['names_of', 'endpoints[0].price.hours[0].days', priced({ hours: [{ from: '08:00', to: '09:00', days: ['Mon'] }] })],
  ['names_of', 'endpoints[0].price.hours[0].days', priced({ hours: [{ from: '08:00', to: '09:00', days: [] }] })],
  [
    'bad_timezone',
    'endpoints[0].price.hours[0].timezone',
    priced({ hours: [{ from: '08:00', to: '09:00', timezone: 'Mars' }] }),
  ],
  ['required', 'endpoints[0].price.tiers[0].above', priced({ tiers: [{ prompt: 1 }] })],
  ['least', 'endpoints[0].price.tiers[1].above', priced({ tiers: [{ above: 5 }, { above: 5 }] })],
  ['unknown_field', 'endpoints[0].price.tiers[0].promt', priced({ tiers: [{ above: 5, promt: 1 }] })],
  [
    'uncharged',
    'endpoints[0].price.service_tiers.flex.characters',
    priced({ service_tiers: { flex: { characters: 1 } } }),
  ],
  ['slug', 'endpoints[0].price.service_tiers.FLEX', priced({ service_tiers: { FLEX: { prompt: 1 } } })],
  ['items_most', 'endpoints[0].price.tiers', priced({ tiers: Array.from({ length: 25 }, (_, above) => ({ above })) })],
  [
    'decimal',
    'endpoints[0].price.hours[0].prompt',
    priced({ hours: [{ from: '08:00', to: '09:00', prompt: 'much' }] }),
  ],
  ['name_taken', 'models[1].aliases[0]', model({}, { aliases: ['known'] })],
  ['unknown_provider', 'models[1].endpoints[0].provider', model({ provider: 'nobody' })],
  ['no_rate', 'models[1].endpoints[0].price.currency', priced({ currency: 'XTS' })],
  [
    'endpoint_twice',
    'models[1].endpoints[1].model',
    model({}, { endpoints: [0, 1].map(() => ({ provider: 'sandbox', model: 'chat', price: PRICE })) }),
  ],
  [
    'far_price',
    'models[1].endpoints[0].price.prompt',
    model({ model: 'gpt-4o', price: { currency: 'RUB', prompt: 0.0000001, completion: 900 } }),
  ],
]
const SETTINGS: readonly Fault[] = [
  ['bad_timezone', 'timezone', { timezone: 'Mars/Base' }],
  ['currency_code', 'rates.usd', { rates: { usd: 90 } }],
  ['above_zero', 'rates.USD', { rates: { USD: 0 } }],
  ['above_zero', 'markup', { markup: 0 }],
  ['required', 'rate_limit.window', { rate_limit: { requests: 1 } }],
  ['link', 'brand.offer', { brand: { offer: 'javascript:alert(1)' } }],
  ['picture', 'brand.logo', { brand: { logo: 'https://acme.example/logo.png' } }],
  ['colour', 'brand.accent', { brand: { accent: '#ffff00' } }],
  ['length', 'brand.name', { brand: { name: 'x'.repeat(41) } }],
]
const DOCUMENTS: readonly Fault[] = [
  ['items_most', 'models', { providers: {}, models: Array.from({ length: 10_001 }, () => 1) }],
  ['slug', 'providers.A b', { providers: { 'A b': provider({}) }, models: [] }],
]

/** Checks whose texts are among the operator's: those of the catalogue. */
const CATALOG_CHECKS = Object.keys(operatorEn.check)
/**
 * An incomplete price is no error: the model is saved, with a warning. A file is named where the address is judged.
 * Coming prices are no part of a document (`test/api/coming-prices.test.ts`).
 */
const NO_FAULT: ReadonlySet<string> = new Set<FieldCheck>([
  'coming_most',
  'external_id',
  'incomplete_price',
  'of_file',
  'same_prices',
  'time_ahead',
])
// Objects of texts in JSON.
const TEXTS = (['en', 'ru'] as const).map(
  (language) =>
    [language, (localeTexts(language) as { readonly check: Readonly<Record<string, string>> }).check] as const,
)

const TABLES = [
  ['PUT', '/admin/v1/providers/p', PROVIDERS],
  ['PUT', '/admin/v1/models/v/m', MODELS],
  ['PATCH', '/admin/v1/settings', SETTINGS],
  ['PUT', '/admin/v1/catalog?dry_run=1', DOCUMENTS],
] as const

test('each fault of a catalogue reaches the console by its key, with every figure that its texts name', async () => {
  for (const [method, path, faults] of TABLES) {
    for (const [check, at, body] of faults) {
      const answer = await tollgate.admin(method, path, body)
      assert.equal(answer.status, 400, `${check} ${at}: ${answer.text}`)
      // What the contract says of it.
      const problems = (answer.body.error.metadata.problems ?? []) as readonly CatalogProblem[]
      assert.deepEqual(
        problems.map((problem) => [problem.check, problem.path]),
        [[check, at]],
        answer.text,
      )
      for (const { params, message } of problems) {
        assert.ok(message.length > 5)
        for (const [language, texts] of TEXTS) {
          const needed = [...(texts[check] ?? '{{none}}').matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? '')
          assert.deepEqual(
            needed.filter((name) => params[name] === undefined || params[name] === ''),
            [],
            `${language} ${check}: ${answer.text}`,
          )
        }
      }
    }
  }
})

test('every check that only a catalogue makes is driven above', () => {
  const driven = new Set<string>(TABLES.flatMap(([, , faults]) => faults.map(([check]) => check)))
  assert.deepEqual(
    CATALOG_CHECKS.filter((check) => !driven.has(check) && !NO_FAULT.has(check)),
    [],
  )
})
