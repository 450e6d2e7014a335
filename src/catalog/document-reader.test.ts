import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkText, problemText } from './catalog-check.ts'
import { parseDocumentJson, parseDocumentText } from './document-reader.ts'
import { adaptersNamed } from '../../test/harness/adapters-named.ts'

const ADAPTERS = adaptersNamed('openai', 'sandbox')
const HEAD = `bundled: false
rates: { USD: 92.50 }
providers:
  p: { adapter: openai }
models:
`
const CHAT = `  - id: v/m
    type: chat
    context_length: 1000
    endpoints:
`
const ENDPOINT = '      - { provider: p, model: m, price: { currency: USD, prompt: 1, completion: 2 } }\n'

function lines(text: string, env: Record<string, string> = {}): readonly string[] {
  return checkText(text, { adapters: ADAPTERS, env }).problems.map((problem) => problemText(problem, 'f.yaml'))
}

test('a sound file has no problems', () => {
  assert.deepEqual(lines(HEAD + CHAT + ENDPOINT), [])
})

test('a provider names its address unless its adapter knows one', () => {
  const known = new Map([...adaptersNamed('openai', 'anthropic', 'sandbox'), ['other', { baseUrl: null }]])
  const problems = (adapter: string): readonly string[] =>
    parseDocumentText(`providers: { p: { adapter: ${adapter} } }`, { adapters: known, env: {} }).problems.map(
      ({ path, message }) => `${path} ${message}`,
    )
  for (const adapter of ['openai', 'anthropic', 'sandbox']) assert.deepEqual(problems(adapter), [])
  assert.deepEqual(problems('other'), ['providers.p.base_url is required'])
})

test('numbers keep every digit of their source text', () => {
  const { document } = parseDocumentText(
    `rates: { USD: 92.50, EUR: 1e-7 }\nmarkup: 1.20000000000000000000000000000001\nmodels: [{ id: v/m, type: chat, context_length: 1, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 0.30000000000000000004, completion: 12345678.901234567890123 } }] }]`,
    { adapters: ADAPTERS, env: {} },
  )
  assert.deepEqual(document.settings.rates, { USD: '92.5', EUR: '0.0000001' })
  assert.equal(document.settings.markup, '1.20000000000000000000000000000001')
  assert.deepEqual(document.models[0]?.endpoints[0]?.price, {
    currency: 'RUB',
    prompt: '0.30000000000000000004',
    completion: '12345678.901234567890123',
  })
})

test('rates with a source need none for a currency; those given are the last known ones', () => {
  const text = `${HEAD.replace('{ USD: 92.50 }', '{ source: cbr, EUR: 101.20 }')}${CHAT}${ENDPOINT}`
  assert.deepEqual(lines(text), [])
  const { settings } = checkText(text, { adapters: ADAPTERS, env: {} }).document
  assert.deepEqual([settings.rates_source, settings.rates], ['cbr', { EUR: '101.2' }])
})

test('a file may be JSON, indented with tabs', () => {
  const { document, problems } = parseDocumentText(
    '{\n\t"markup": 1.5,\n\t"providers": {\n\t\t"p": {"adapter": "openai", "api_key": "${KEY}"}\n\t}\n}',
    { adapters: ADAPTERS, env: { KEY: 'k' } },
  )
  assert.deepEqual(problems, [])
  assert.equal(document.settings.markup, '1.5')
  assert.deepEqual(document.providers['p'], { adapter: 'openai', api_key: ['k'] })
})

test('variables are filled in after the parse: in flow maps, in lists, within texts, as numbers; never as YAML', () => {
  const text =
    'markup: ${MARKUP}\n# ${COMMENTED}\nproviders:\n  p: { adapter: openai, base_url: "https://${HOST}/v1", api_key: [${A}, ${B}] }\n'
  const { document, problems } = parseDocumentText(text, {
    adapters: ADAPTERS,
    env: { MARKUP: '1.250', HOST: 'up.test', A: 'one: {two} # three', B: '${A}' },
  })
  assert.deepEqual(problems, [])
  assert.equal(document.settings.markup, '1.25')
  assert.deepEqual(document.providers['p'], {
    adapter: 'openai',
    base_url: 'https://up.test/v1',
    api_key: ['one: {two} # three', '${A}'],
  })
})

test('an anchored price is used where its alias stands', () => {
  const { document, problems } = parseDocumentText(
    `${HEAD}${CHAT}      - { provider: p, model: a, price: &price { currency: USD, prompt: 1, completion: 2 } }\n      - { provider: p, model: b, price: *price }\n`,
    { adapters: ADAPTERS, env: {} },
  )
  assert.deepEqual(problems, [])
  assert.deepEqual(
    document.models[0]?.endpoints.map(({ price }) => price),
    Array.from({ length: 2 }, () => ({ currency: 'USD', prompt: '1', completion: '2' })),
  )
})

test('aliases that multiply a small text are refused instead of filling the memory', () => {
  const levels = Array.from(
    { length: 9 },
    (_, level) =>
      `l${level}: &l${level} [${Array.from({ length: 10 }, () => (level === 0 ? '1' : `*l${level - 1}`)).join(', ')}]`,
  )
  const problems = lines(levels.join('\n'))
  assert.ok(
    problems.some((line) => line.includes('larger than 500000 values')),
    problems.slice(0, 3).join('\n'),
  )
})

const PROBLEMS: readonly (readonly [string, string, string])[] = [
  ['not YAML', 'a: [1\nb: 2\n', 'f.yaml:2: '],
  ['a key twice', 'markup: 1\nmarkup: 2\n', 'f.yaml:2: Map keys must be unique'],
  [
    'an unset variable',
    'timezone: UTC\nproviders:\n  p:\n    adapter: openai\n    api_key: ${NO_SUCH}\n',
    'f.yaml:5: providers.p.api_key: environment variable NO_SUCH is not set',
  ],
  [
    'a text with NUL',
    'markup: 1\nproviders:\n  p: { adapter: sandbox, name: "a\\0b" }\n',
    'f.yaml:3: providers.p.name: holds the character NUL (U+0000)',
  ],
  [
    'a key with NUL',
    'model_fallbacks: { "a\\0b": c/d }\n',
    'f.yaml:1: model_fallbacks: holds the character NUL (U+0000)',
  ],
  ['an unknown key', 'markup: 1\nmarkpu: 2\n', 'f.yaml:2: markpu: is not a known field'],
  [
    'an unknown key deep inside',
    `${HEAD}${CHAT}      - provider: p\n        model: m\n        price:\n          currency: USD\n          prompt: 1\n          completion: 2\n          tokens: 3\n`,
    'f.yaml:16: models[0].endpoints[0].price.tokens: is not a known field',
  ],
  ['a value of another kind', 'providers: 5\n', 'f.yaml:1: providers: must be a map of fields'],
  [
    'a wrong time zone',
    'timezone: Mars/Base\n',
    "f.yaml:1: timezone: must be an IANA time zone such as Europe/Moscow, got 'Mars/Base'",
  ],
  [
    'a wrong choice',
    'midstream_error: maybe\n',
    "f.yaml:1: midstream_error: must be one of free, delivered, got 'maybe'",
  ],
  ['a half window', 'rate_limit: { requests: 3 }\n', 'f.yaml:1: rate_limit.window: is required'],
  ['a markup of nothing', 'markup: 0\n', 'f.yaml:1: markup: must be above 0: it would give everything away'],
  [
    'a negative price',
    `${HEAD}${CHAT}      - { provider: p, model: m, price: { currency: USD, prompt: -1, completion: 2 } }\n`,
    'f.yaml:10: models[0].endpoints[0].price.prompt: must be a decimal number from 0 to 1000000000',
  ],
  [
    'a price without a currency',
    `${HEAD}${CHAT}      - provider: p\n        model: m\n        price: { prompt: 1, completion: 2 }\n`,
    'f.yaml:12: models[0].endpoints[0].price.currency: is required: RUB, or a currency with a rate such as USD',
  ],
  ['an unknown source of rates', 'rates: { source: ecb }\n', "f.yaml:1: rates.source: must be one of cbr, got 'ecb'"],
  ['an unknown adapter', 'providers:\n  p:\n    adapter: opnai\n', 'f.yaml:3: providers.p.adapter: '],
  ['a slug in capitals', 'providers:\n  OpenAI: { adapter: openai }\n', 'f.yaml:2: providers.OpenAI: must be a slug'],
  [
    'an empty list of keys',
    'providers:\n  p: { adapter: openai, api_key: [] }\n',
    'f.yaml:2: providers.p.api_key: must not be empty; a provider without a key has none of it',
  ],
  [
    'an address that is none',
    'providers:\n  p: { adapter: openai, base_url: "ftp://x" }\n',
    "f.yaml:2: providers.p.base_url: must be an http or https address, got 'ftp://x'",
  ],
  [
    'a metadata address',
    'providers:\n  p: { adapter: openai, base_url: "http://[::ffff:169.254.169.254]/v1" }\n',
    'f.yaml:2: providers.p.base_url: must not be a link-local or metadata address',
  ],
  [
    'an id without a vendor',
    `${HEAD}${CHAT.replace('v/m', 'gpt')}${ENDPOINT}`,
    "f.yaml:6: models[0].id: must be of the form vendor/model_name, without :nitro or :floor, each of at most 200 characters, got 'gpt'",
  ],
  [
    'an id with a routing suffix',
    `${HEAD}${CHAT.replace('v/m', 'v/m:floor')}${ENDPOINT}`,
    "f.yaml:6: models[0].id: must be of the form vendor/model_name, without :nitro or :floor, each of at most 200 characters, got 'v/m:floor'",
  ],
  [
    'an unknown type',
    `${HEAD}${CHAT.replace('chat', 'chats')}${ENDPOINT}`,
    "f.yaml:7: models[0].type: must be one of chat, embeddings, image, tts, transcription, rerank, moderation, video, got 'chats'",
  ],
  [
    'chat without a context length',
    `${HEAD}${CHAT.replace('    context_length: 1000\n', '')}${ENDPOINT}`,
    'f.yaml:6: models[0].context_length: is required for a chat model',
  ],
  [
    'a date that is none',
    `${HEAD}${CHAT.replace('context_length: 1000', 'context_length: 1000\n    created: "5"')}${ENDPOINT}`,
    "f.yaml:9: models[0].created: must be a date such as 2024-07-18, got '5'",
  ],
  [
    'a model without endpoints',
    `${HEAD}${CHAT}`.replace('    endpoints:\n', ''),
    'f.yaml:6: models[0].endpoints: is required: at least one way to serve the model',
  ],
  [
    'a provider that is not defined',
    `${HEAD}${CHAT}${ENDPOINT.replace('provider: p', 'provider: q')}`,
    "f.yaml:10: models[0].endpoints[0].provider: no provider 'q' is defined",
  ],
  [
    'a currency without a rate',
    `${HEAD}${CHAT}${ENDPOINT.replace('USD', 'EUR')}`,
    'f.yaml:10: models[0].endpoints[0].price.currency: no rate is given for EUR: add rates.EUR, in RUB',
  ],
  [
    'one endpoint twice',
    `${HEAD}${CHAT}${ENDPOINT}${ENDPOINT}`,
    "f.yaml:11: models[0].endpoints[1].model: 'p/m' is an endpoint of this model already",
  ],
  [
    'one name twice',
    `${HEAD}${CHAT}${ENDPOINT}    aliases:\n      - m\n      - v/m\n`,
    "f.yaml:13: models[0].aliases[1]: 'v/m' is the name of another model or alias",
  ],
  [
    'a price that is not complete',
    `${HEAD}${CHAT}${ENDPOINT.replace(', completion: 2', '')}`,
    'f.yaml:10: models[0].endpoints[0].price: is not complete for a chat model: needs prompt + completion. The endpoint is not routable',
  ],
  [
    'a sell that is not complete',
    `${HEAD}${CHAT}${ENDPOINT.replace('2 } }', '2 }, sell: { prompt: 5 } }')}`,
    'f.yaml:10: models[0].endpoints[0].sell: is not complete for a chat model: needs prompt + completion. The endpoint is not routable',
  ],
  [
    'a sell in another currency',
    `${HEAD}${CHAT}${ENDPOINT.replace('2 } }', '2 }, sell: { currency: USD, prompt: 5, completion: 5 } }')}`,
    'f.yaml:10: models[0].endpoints[0].sell.currency: must be RUB: what the customer pays is in rubles',
  ],
]

for (const [what, text, expected] of PROBLEMS) {
  test(`${what} is reported once, with its line and path`, () => {
    const found = lines(text)
    assert.equal(found.length, 1, found.join('\n'))
    assert.ok(found[0]?.startsWith(expected), found[0])
  })
}

test('with the bundled models in front, paths and lines still count in the file', () => {
  const found = lines(
    `${HEAD.replace('bundled: false', 'bundled: true')}${CHAT}${ENDPOINT.replace('provider: p', 'provider: q')}`,
  )
  assert.deepEqual(found, ["f.yaml:10: models[0].endpoints[0].provider: no provider 'q' is defined"])
})

test('all problems of a file are found in one pass, in the order of its lines', () => {
  const found = lines(
    `markup: 0\nfetch_urls: 3\n${HEAD.replace('bundled: false\n', '')}${CHAT}${ENDPOINT.replace('USD', 'EUR').replace('completion', 'x')}`,
  )
  assert.deepEqual(
    found.map((line) => Number(line.split(':')[1])),
    found.map((line) => Number(line.split(':')[1])).toSorted((a, b) => a - b),
  )
  assert.equal(found.length, 5, found.join('\n'))
})

test('JSON of the admin API is read by the same rules, without lines', () => {
  const { document, problems } = parseDocumentJson(
    {
      markup: 1.1,
      surprise: 1,
      models: [
        {
          id: 'v/m',
          type: 'chat',
          context_length: 10,
          endpoints: [{ provider: 'p', model: 'm', price: { currency: 'RUB', prompt: 1e-7, completion: '0.1' } }],
        },
      ],
    },
    { adapters: ADAPTERS, env: {} },
  )
  assert.deepEqual(
    problems.map(({ line, path, message, check }) => [line, path, message, check]),
    [[0, 'surprise', 'is not a known field', 'unknown_field']],
  )
  assert.deepEqual(document.models[0]?.endpoints[0]?.price, { currency: 'RUB', prompt: '0.0000001', completion: '0.1' })
})

test('fixed headers have names of their own, and no header of the connection, the body or the key', () => {
  const found = (adapter: string, dialect: string): readonly string[] =>
    parseDocumentText(`providers: { p: { adapter: ${adapter}, dialect: ${dialect} } }`, {
      adapters: adaptersNamed('openai', 'anthropic', 'ai-sdk'),
      env: {},
    }).problems.map(({ path }) => path)
  const sdk = found(
    'ai-sdk',
    '{ fixed: { temperature: 1 }, strict: each, json_word: true, schema_words: { a: drop }, tools: tools }',
  )
  assert.deepEqual(
    sdk.filter((path) => path.includes('dialect')),
    ['providers.p.dialect.tools'],
  )
  assert.deepEqual(found('openai', '{ headers: { X-Gate: a, anthropic-beta: b }, ca_file: /etc/ca.pem }'), [])
  assert.deepEqual(found('anthropic', '{ headers: { cf-aig-authorization: Bearer x } }'), [])
  for (const name of ['Host', 'Content-Length', 'transfer-encoding', 'Connection', 'a b', 'x:y', 'authorization'])
    assert.deepEqual(found('openai', `{ headers: { "${name}": a } }`), [`providers.p.dialect.headers.${name}`], name)
  assert.deepEqual(found('openai', '{ auth_header: X-Key, headers: { Authorization: Basic abc } }'), [])
  assert.deepEqual(found('openai', '{ auth_header: X-Key, headers: { x-key: a } }').length, 1)
  assert.deepEqual(found('anthropic', '{ headers: { x-api-key: a } }').length, 1)
  assert.deepEqual(found('openai', '{ headers: { a: b, A: c } }'), ['providers.p.dialect.headers.A'])
  assert.deepEqual(found('openai', String.raw`{ headers: { a: "b\r\nc: d" } }`), ['providers.p.dialect.headers.a'])
  assert.deepEqual(found('openai', '{ ca_file: ca.pem }'), ['providers.p.dialect.ca_file'])
  assert.deepEqual(found('anthropic', '{ query: { a: b }, ca_file: /a }'), ['providers.p.dialect.query'])
})

test('a file of certificates is read when the catalogue file is', () => {
  const file = (path: string): readonly string[] =>
    lines(`providers: { p: { adapter: openai, dialect: { ca_file: ${path} } } }`)
  for (const path of ['/no/such/file', '/dev/zero', '/etc/passwd', '/'])
    assert.deepEqual(file(path), [`f.yaml:1: providers.p.dialect.ca_file: no certificates can be read from '${path}'`])
})
