import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBundled } from '../../catalog/bundled.ts'
import type { Snapshot } from '../../catalog/catalog.ts'
import { parseDocumentText } from '../../catalog/document-reader.ts'
import { buildSnapshot } from '../../catalog/snapshot.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import { Router } from '../../http/router.ts'
import type { Principal } from '../../access/principal.ts'
import type { EndpointState } from './model-record.ts'
import { modelRoutes } from './models.ts'
import { refusal } from '../../../test/harness/refused.ts'
import { adaptersNamed } from '../../../test/harness/adapters-named.ts'

const CATALOGUE = `bundled: false
rates: { USD: 100 }
providers:
  openai: { name: OpenAI, adapter: openai }
  cheap: { adapter: openai }
  idle: { adapter: openai }
models:
  - id: openai/gpt-4o-mini
    name: "OpenAI: GPT-4o mini"
    description: Small multimodal chat model.
    type: chat
    created: 2024-07-18
    context_length: 128000
    max_completion_tokens: 16384
    input_modalities: [text, image]
    tokenizer: o200k_base
    aliases: [gpt-4o-mini]
    endpoints:
      - { provider: openai, model: gpt-4o-mini, price: { currency: USD, prompt: 0.15, completion: 0.60, input_cache_read: 0.075 }, supported_parameters: [max_tokens, tools, tool_choice] }
      - { provider: cheap, model: mini, price: { currency: USD, prompt: 0.1, completion: 1e-7, request: 0.001 }, max_completion_tokens: 100 }
  - { id: v/hears, type: chat, created: 2024-01-01, context_length: 10, input_modalities: [text, audio], endpoints: [{ provider: openai, model: hears, price: { currency: RUB, prompt: 1, completion: 1, audio: 4 } }] }
  - { id: v/draws, type: chat, created: 2024-01-02, context_length: 10, output_modalities: [text, image], endpoints: [{ provider: openai, model: draws, price: { currency: RUB, prompt: 1, completion: 1, image: 2 } }] }
  - { id: v/secret, type: chat, hidden: true, context_length: 10, endpoints: [{ provider: idle, model: secret, price: { currency: RUB, prompt: 0, completion: 0 } }] }
  - { id: v/gone, type: chat, active: false, context_length: 10, endpoints: [{ provider: openai, model: gone, price: { currency: RUB, prompt: 1, completion: 1 } }] }
  - { id: v/embed, type: embeddings, created: 2024-01-03, endpoints: [{ provider: openai, model: e, price: { currency: RUB, prompt: 2 } }] }
  - { id: v/image, type: image, created: 2024-01-04, input_modalities: [text, image], supported_sizes: [1x1], endpoints: [{ provider: openai, model: i, price: { currency: RUB, image_output: 3.5 } }] }
  - { id: v/tts, type: tts, created: 2024-01-05, supported_voices: [ann], supported_formats: [mp3], endpoints: [{ provider: openai, model: t, price: { currency: RUB, characters: 1500 } }] }
  - { id: v/stt, type: transcription, created: 2024-01-06, endpoints: [{ provider: openai, model: s, price: { currency: RUB, second: 0.01 } }] }
  - { id: v/rank, type: rerank, created: 2024-01-06, endpoints: [{ provider: openai, model: r, price: { currency: RUB, search: 0.2 } }] }
  - { id: v/video, type: video, created: 2024-01-07, supported_durations: [4, 8], endpoints: [{ provider: openai, model: w, price: { currency: RUB, video_second: 37.5 } }] }
`
const UNKNOWN: EndpointState = {
  unhealthy: false,
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
  latency30m: null,
  throughput30m: null,
}
const STATES: Readonly<Record<string, EndpointState>> = {
  'cheap/mini': {
    unhealthy: true,
    uptime5m: 50,
    uptime30m: 99.94999,
    uptime1d: 100,
    latency30m: { p50: 310.123456, p75: 400, p90: 600, p99: 1200 },
    throughput30m: { p50: 85, p75: 70, p90: 50, p99: 20 },
  },
}

function snapshotOf(text: string): Snapshot {
  const { document, problems } = parseDocumentText(text, { adapters: adaptersNamed('openai', 'sandbox'), env: {} })
  assert.deepEqual(problems, [])
  return buildSnapshot(withBundled(document), adaptersNamed('openai', 'sandbox'), 1, 0)
}

const still = { isDue: () => false, refresh: async () => false }
const catalog = { ...still, shot: snapshotOf(CATALOGUE), current: (): Snapshot => catalog.shot }
const router = new Router<Route<Principal>>(
  modelRoutes({
    catalog,
    health: { report: (id) => STATES[id] ?? UNKNOWN },
    supportedEndpoints: [
      { endpointName: 'chat/completions', modelType: 'chat' },
      { endpointName: 'completions', modelType: 'chat' },
    ],
    parametersOf: (adapter) => [`any-${adapter}`, 'max_tokens'],
  }),
)

function replyTo(target: string, headers: Readonly<Record<string, string>> = {}): Reply {
  const [path = '', search = ''] = target.split('?')
  const match = router.match('GET', path)
  assert.ok(match.status === 'found', `${path} is a route`)
  // The handlers in this file read only these fields of a call.
  const call = { params: match.params, query: new URLSearchParams(search), request: { headers } } as unknown
  // They answer without a promise.
  return match.route.handle(call as Call<Principal>) as Reply
}

// The test's assertions check the type.
// oxlint-disable-next-line typescript/no-explicit-any
function get(target: string): any {
  const reply = replyTo(target)
  assert.equal(reply.status, 200)
  return JSON.parse(JSON.stringify(reply.body))
}

function ids(target: string): string[] {
  return get(target).data.map(({ id }: { id: string }) => id)
}

function refused(target: string): string {
  const { status, errorType, message } = refusal(() => get(target))
  return `${status} ${errorType} ${message}`
}

test('D-1.1: the whole record, priced at the cheapest endpoint', () => {
  assert.deepEqual(get('/v1/models/openai/gpt-4o-mini'), {
    id: 'openai/gpt-4o-mini',
    object: 'model',
    owned_by: 'openai',
    canonical_slug: 'openai/gpt-4o-mini',
    name: 'OpenAI: GPT-4o mini',
    type: 'chat',
    created: 1721260800,
    description: 'Small multimodal chat model.',
    context_length: 128000,
    architecture: {
      modality: 'text+image->text',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      tokenizer: 'GPT',
      instruct_type: null,
    },
    pricing: { currency: 'RUB', prompt: '0.000015', completion: '0.00006', input_cache_read: '0.0000075' },
    top_provider: { context_length: 128000, max_completion_tokens: 16384, is_moderated: false },
    per_request_limits: null,
    supported_parameters: ['max_tokens', 'tools', 'tool_choice', 'any-openai'],
    default_parameters: null,
    supported_voices: null,
    supported_endpoints: ['chat/completions', 'completions'],
    links: { details: '/v1/models/openai/gpt-4o-mini/endpoints' },
    expiration_date: null,
    knowledge_cutoff: null,
    hugging_face_id: null,
  })
})

test('both spellings, the alias and the OpenRouter path give one record', () => {
  const record = get('/v1/models/openai/gpt-4o-mini')
  assert.deepEqual(get('/v1/models/openai%2Fgpt-4o-mini'), record)
  assert.deepEqual(get('/v1/models/gpt-4o-mini'), record)
  assert.deepEqual(get('/v1/model/openai/gpt-4o-mini'), { data: record })
})

test('a hidden model is found by its id but not listed, and its only provider neither', () => {
  assert.equal(get('/v1/models/v/secret').id, 'v/secret')
  assert.ok(!ids('/v1/models').includes('v/secret'))
  assert.deepEqual(get('/v1/providers'), {
    data: [
      { name: 'cheap', slug: 'cheap', privacy_policy_url: null, terms_of_service_url: null, status_page_url: null },
      { name: 'OpenAI', slug: 'openai', privacy_policy_url: null, terms_of_service_url: null, status_page_url: null },
    ],
  })
})

for (const path of [
  '/v1/models/v/gone',
  '/v1/models/V/image',
  '/v1/models/nothing',
  '/v1/model/no/thing',
  '/v1/models/no/thing/endpoints',
  '/v1/models/no%2Fthing/endpoints',
]) {
  test(`404 model_not_found: ${path}`, () => {
    assert.match(refused(path), /^404 model_not_found Model '.+' not found or inactive$/)
  })
}

const PRICES: readonly (readonly [string, Record<string, string>])[] = [
  ['v/hears', { prompt: '0.000001', completion: '0.000001', audio: '0.000004' }],
  ['v/draws', { prompt: '0.000001', completion: '0.000001', image: '2' }],
  ['v/embed', { prompt: '0.000002', completion: '0' }],
  ['v/image', { prompt: '0', completion: '0', image_output: '3.5' }],
  ['v/tts', { prompt: '0', completion: '0', per_character: '0.0015' }],
  ['v/stt', { prompt: '0', completion: '0', per_second: '0.01' }],
  ['v/rank', { prompt: '0', completion: '0', search: '0.2' }],
  ['v/video', { prompt: '0', completion: '0', video_second: '37.5' }],
]
for (const [id, pricing] of PRICES) {
  test(`pricing of ${id} is in RUB per unit, with no exponent and no price that says nothing`, () => {
    assert.deepEqual(get(`/v1/models/${id}`).pricing, { currency: 'RUB', ...pricing })
  })
}

const FILTERS: Readonly<Record<string, readonly string[]>> = {
  all: ['openai/gpt-4o-mini', 'v/video', 'v/rank', 'v/stt', 'v/tts', 'v/image', 'v/embed', 'v/draws', 'v/hears'],
  chat: ['openai/gpt-4o-mini', 'v/draws', 'v/hears'],
  embeddings: ['v/embed'],
  images: ['v/image', 'v/draws'],
  audio: ['v/hears'],
  tts: ['v/tts'],
  transcriptions: ['v/stt'],
  rerank: ['v/rank'],
  videos: ['v/video'],
}
const ALIASES = {
  text: 'chat',
  embedding: 'embeddings',
  image: 'images',
  speech: 'tts',
  transcription: 'transcriptions',
  stt: 'transcriptions',
  video: 'videos',
}
for (const [filter, expected] of Object.entries(FILTERS)) {
  test(`D-1.5: filter=${filter}, its aliases, its own list and its count agree`, () => {
    assert.deepEqual(ids(`/v1/models?filter=${filter}`), expected)
    for (const [alias, meant] of Object.entries(ALIASES))
      if (meant === filter) assert.deepEqual(ids(`/v1/models?filter=${alias}`), expected)
    assert.deepEqual(get(`/v1/models/count?filter=${filter}`), { data: { count: expected.length } })
    if (filter !== 'all' && filter !== 'chat') assert.deepEqual(ids(`/v1/${filter}/models`), expected)
  })
}

test('D-1.3: without a filter every listed model, newest first, in the wrapper', () => {
  const list = get('/v1/models?unknown=1')
  assert.deepEqual([list.object, list.total_count, list.links], ['list', 9, { next: null }])
  assert.deepEqual(ids('/v1/models'), FILTERS['all'])
})

for (const value of ['', 'Chat', 'ALL', 'chat,tts', 'toString', '__proto__', 'x']) {
  test(`D-1.5: filter='${value}' is invalid_filter`, () => {
    assert.equal(
      refused(`/v1/models?filter=${value}`),
      `400 invalid_filter Invalid filter '${value}'. Allowed values: all, chat, embeddings, images, audio, tts, transcriptions, rerank, moderations, videos`,
    )
    assert.match(refused(`/v1/models/count?filter=${value}`), /^400 invalid_filter/)
  })
}

test('output_modalities selects as OpenRouter does, and filter wins over it', () => {
  assert.deepEqual(ids('/v1/models?output_modalities=image,video'), ['v/video', 'v/image', 'v/draws'])
  assert.equal(ids('/v1/models?output_modalities=all').length, 9)
  assert.deepEqual(ids('/v1/models?output_modalities=image&filter=tts'), ['v/tts'])
})

test('D-1.4: pages follow their links through every model exactly once', () => {
  const seen: string[] = []
  let next: string | null = '/v1/models?filter=all&limit=4'
  const links: (string | null)[] = []
  while (next !== null) {
    const page: { data: { id: string }[]; total_count: number; links: { next: string | null } } = get(next)
    assert.equal(page.total_count, 9)
    seen.push(...page.data.map(({ id }) => id))
    next = page.links.next
    links.push(next)
  }
  assert.deepEqual(seen, FILTERS['all'])
  assert.deepEqual(links, ['/v1/models?filter=all&offset=4&limit=4', '/v1/models?filter=all&offset=8&limit=4', null])
})

test('D-1.4: the list of a kind pages under its path; an offset without a limit answers the rest', () => {
  assert.equal(get('/v1/images/models?limit=1').links.next, '/v1/images/models?offset=1&limit=1')
  assert.deepEqual(ids('/v1/models?offset=7'), ['v/draws', 'v/hears'])
  assert.deepEqual(ids('/v1/models?offset=100'), [])
})

for (const query of [
  'limit=0',
  'limit=1001',
  'limit=',
  'limit=1.5',
  'limit=x',
  'limit=-1',
  'offset=-1',
  'offset=',
  'offset=1e3',
]) {
  test(`D-1.4: ${query} is invalid_input`, () => {
    assert.match(
      refused(`/v1/models?${query}`),
      new RegExp(`^400 invalid_input ${query.split('=')[0]}: must be a whole number`),
    )
    assert.match(refused(`/v1/rerank/models?${query}`), /^400 invalid_input/)
  })
}

test('D-1.2: extra fields of tts, video and of the image list', () => {
  const tts = get('/v1/tts/models').data[0]
  assert.deepEqual([tts.supported_voices, tts.supported_formats], [['ann'], ['mp3']])
  const video = get('/v1/videos/models').data[0]
  assert.deepEqual(
    [
      video.supported_durations,
      video.supported_sizes,
      video.pricing_skus,
      video.allowed_passthrough_parameters,
      video.creativity,
    ],
    [[4, 8], null, { 'per-video-second': '37.5' }, [], null],
  )
  const image = get('/v1/images/models').data[0]
  assert.deepEqual(image.supported_parameters, {
    n: { type: 'range', min: 1, max: 10 },
    size: { type: 'enum', values: ['1x1'] },
    image: { type: 'boolean' },
  })
  assert.deepEqual([image.supports_streaming, image.endpoints], [false, '/v1/models/v/image/endpoints'])
  assert.ok(Array.isArray(get('/v1/models?filter=image').data[0].supported_parameters))
})

test('supported_endpoints lists only calls that exist', () => {
  assert.deepEqual(get('/v1/models/v/embed').supported_endpoints, [])
})

test('wire.md 12: endpoints with their own price, state and metrics; null where nothing is known', () => {
  const { data } = get('/v1/models/openai/gpt-4o-mini/endpoints')
  assert.deepEqual(get('/v1/models/openai%2Fgpt-4o-mini/endpoints'), { data })
  const [first, second] = data.endpoints
  assert.deepEqual(
    [data.id, data.created, data.architecture.tokenizer, data.endpoints.length],
    ['openai/gpt-4o-mini', 1721260800, 'GPT', 2],
  )
  assert.deepEqual(
    [first.name, first.tag, first.status, first.uptime_last_30m, first.latency_last_30m],
    ['OpenAI | openai/gpt-4o-mini', 'openai', 0, null, null],
  )
  assert.deepEqual(first.supports_tool_choice, { auto: true, function: true, none: true, required: true })
  assert.deepEqual(second.pricing, { currency: 'RUB', prompt: '0.00001', completion: '0.00000000001', request: '0.1' })
  assert.deepEqual(
    [second.tag, second.status, second.max_completion_tokens, second.context_length],
    ['cheap', -2, 100, 128000],
  )
  assert.deepEqual(
    [second.uptime_last_5m, second.uptime_last_30m, second.latency_last_30m, second.throughput_last_30m],
    [50, 99.95, { p50: 310.12, p75: 400, p90: 600, p99: 1200 }, { p50: 85, p75: 70, p90: 50, p99: 20 }],
  )
})

test('a changed catalogue shows at once', () => {
  const before = catalog.shot
  assert.equal(get('/v1/models/v/embed').pricing.prompt, '0.000002')
  catalog.shot = snapshotOf(CATALOGUE.replace('rates:', 'markup: 1.5\nrates:'))
  assert.equal(get('/v1/models/v/embed').pricing.prompt, '0.000003')
  catalog.shot = before
})

test('Codex is told of every chat model, with each field that it has no default for, and a tag that changes with them', () => {
  const reply = replyTo('/v1/models?client_version=0.169.0')
  const body: { data: unknown[]; models: Record<string, unknown>[] } = JSON.parse(JSON.stringify(reply.body))
  assert.equal(body.data.length, get('/v1/models').data.length)
  assert.deepEqual(
    body.models.map(({ slug, priority }) => [slug, priority]),
    [
      ['openai/gpt-4o-mini', 1],
      ['v/draws', 2],
      ['v/hears', 3],
    ],
  )
  const [mini] = body.models
  const required = [
    'slug',
    'display_name',
    'supported_reasoning_levels',
    'shell_type',
    'visibility',
    'supported_in_api',
    'priority',
    'base_instructions',
    'supports_reasoning_summaries',
    'support_verbosity',
    'truncation_policy',
    'supports_parallel_tool_calls',
    'experimental_supported_tools',
  ]
  for (const name of required) assert.ok(mini !== undefined && mini[name] !== undefined && mini[name] !== null, name)
  assert.deepEqual([mini?.['shell_type'], mini?.['context_window']], ['unified_exec', 128_000])
  const etag = String(reply.headers?.['etag'])
  assert.match(etag, /^"[0-9a-f]{32}"$/)
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
    assert.equal(replyTo('/v1/models?client_version=1', { 'if-none-match': known }).status, 304, known)
  for (const known of ['"other"', etag.slice(1, -1), ''])
    assert.equal(replyTo('/v1/models?client_version=1', { 'if-none-match': known }).status, 200, known)
  const before = catalog.shot
  catalog.shot = snapshotOf(CATALOGUE.replace('id: v/hears', 'id: v/listens'))
  assert.notEqual(replyTo('/v1/models?client_version=1').headers?.['etag'], etag)
  catalog.shot = before
  assert.equal(get('/v1/models').models, undefined)
})
