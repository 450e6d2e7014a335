import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CatalogBody, EndpointBody, ModelBody, ProviderBody } from '../../src/api/admin/catalog-body.ts'
import { parseDocumentJson, parseModelJson, parseProviderJson } from '../../src/catalog/document-reader.ts'
import type { Problem } from '../../src/catalog/source-tree.ts'
import type { FieldCheck } from '../../src/base/refusals.ts'
import type { JsonSchema } from '../../src/base/schema.ts'
import { variants, type Body } from './body-variants.ts'
import { faultsOf } from '../harness/contract-check.ts'
import { adaptersNamed } from '../harness/adapters-named.ts'

const CONTEXT = { adapters: adaptersNamed('openai', 'anthropic', 'ai-sdk'), env: {} }

/** What a value means, and what fields say of each other: no schema says that. With a field: of this field. */
const JUDGED: readonly (FieldCheck | `${string} ${FieldCheck}`)[] = [
  'adapter one_of',
  'base_url required',
  'package required',
  'auth.token_url required',
  'auth.tenant required',
  'auth.client required',
  'above_context',
  'above_zero',
  'alias',
  'bad_timezone',
  'chat_context',
  'currency_code',
  'day',
  'empty_key',
  'factory_name',
  'header_name',
  'http_address',
  'model_id',
  'no_prices',
  'one_credential',
  'other_adapter',
  'parameter_name',
  'rubles_only',
  'sdk_package',
  'uncharged',
  'wholes',
]

const PRICE = { currency: 'RUB', prompt: 15, completion: '60.5', input_cache_read: null }
const ENDPOINT = {
  provider: 'p',
  model: 'm',
  price: PRICE,
  sell: { prompt: 20, completion: 80 },
  supported_parameters: ['temperature'],
  context_length: 1_000,
  max_completion_tokens: 100,
  media_tokens: { image: 0 },
  native_responses: true,
  force: false,
}
const MODEL = {
  id: 'v/m',
  type: 'chat',
  name: 'M',
  created: '2026-01-02',
  context_length: 8_000,
  max_completion_tokens: 800,
  input_modalities: ['text'],
  aliases: ['m'],
  supported_durations: [5],
  endpoints: [ENDPOINT],
}
const PICTURES = {
  id: 'v/p',
  type: 'image',
  endpoints: [{ provider: 'p', model: 'm', price: { currency: 'USD', image_output: { '1K/high': 1 } } }],
}
const PROVIDER = {
  name: 'P',
  adapter: 'openai',
  base_url: 'https://api.example.com/v1',
  api_key: ['a', 'b'],
  timeouts: { connect: 5 },
  balance: { api: 'deepseek', low: 5 },
  price_list: { api: 'openrouter', rise: 5 },
  dialect: { query: { v: '1' }, names: { top_n: 'n' }, reasoning: 'effort', service_tier: 'default' },
}
const SDK = {
  adapter: 'ai-sdk',
  base_url: 'http://api.example.com',
  api_key: 'a',
  package: '@ai-sdk/mistral',
  factory: 'createMistral',
}
const DOCUMENT = {
  bundled: false,
  timezone: 'UTC',
  rates: { USD: 90 },
  markup: '1.2',
  model_fallbacks: { a: 'v/m' },
  providers: { p: PROVIDER },
  models: [MODEL],
}

/** Problems that refuse: an endpoint that cannot be routed to is taken. */
function fatal({ problems }: { readonly problems: readonly Problem[] }): readonly Problem[] {
  return problems.filter(({ unroutable }) => unroutable !== true)
}

interface Part {
  readonly name: string
  readonly schema: JsonSchema
  readonly bases: readonly Body[]
  readonly read: (body: unknown) => readonly Problem[]
}

const model = (body: unknown): readonly Problem[] => fatal(parseModelJson(body))
const provider = (body: unknown): readonly Problem[] => fatal(parseProviderJson(body, CONTEXT))
const document = (body: unknown): readonly Problem[] => fatal(parseDocumentJson(body, CONTEXT))
const PARTS: readonly Part[] = [
  { name: 'a provider', schema: ProviderBody, bases: [PROVIDER, SDK], read: provider },
  {
    name: 'a model',
    schema: { ...ModelBody, required: ['id', 'type', 'endpoints'] },
    bases: [MODEL, PICTURES],
    read: model,
  },
  {
    name: 'an endpoint',
    schema: EndpointBody,
    bases: [ENDPOINT, { ...ENDPOINT, sell: { currency: 'RUB', prompt: 1, completion: 1 } }],
    read: (body) => model({ ...MODEL, endpoints: [body] }),
  },
  {
    name: 'a picture endpoint',
    schema: EndpointBody,
    bases: PICTURES.endpoints,
    read: (body) => model({ ...PICTURES, endpoints: [body] }),
  },
  { name: 'a catalogue', schema: CatalogBody, bases: [DOCUMENT, {}], read: document },
]

/** Formats and time zones are the reader's. */
function plain(schema: JsonSchema): JsonSchema {
  // A schema is JSON.
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => (key === 'format' ? undefined : value)),
  ) as JsonSchema
}

const judged = new Set<string>()

function isJudged({ path, check }: Problem): boolean {
  const rule = JUDGED.find((each) => each === check || each === `${path} ${check}`)
  if (rule !== undefined) judged.add(rule)
  return rule !== undefined
}

for (const { name, schema, bases, read } of PARTS)
  test(`${name}: the catalogue's reader and the published schema take the same forms`, () => {
    const rules = plain(schema)
    const apart = new Set<string>()
    let [taken, refused] = [0, 0]
    for (const base of bases) {
      assert.deepEqual(read(base), [], JSON.stringify(base))
      for (const body of [...variants(rules, base), { ...base, none: 1 }]) {
        const problems = read(body)
        const fits = faultsOf(rules, body).length === 0
        if (problems.length === 0) taken += 1
        else refused += 1
        const form = problems.filter((problem) => !isJudged(problem))
        if (problems.length === 0 ? !fits : fits && form.length > 0)
          apart.add(
            `the reader ${problems.length === 0 ? 'takes' : `refuses (${form.map(({ path, check }) => `${path} ${check}`).join()})`} ${JSON.stringify(body).slice(0, 300)}`,
          )
      }
    }
    assert.ok(taken > 10 && refused > 20, `${taken} taken, ${refused} refused`)
    assert.deepEqual([...apart].slice(0, 40), [])
  })

test('each rule that is left to the reader was met', () => {
  assert.deepEqual(
    JUDGED.filter((rule) => !judged.has(rule)),
    [],
  )
})
