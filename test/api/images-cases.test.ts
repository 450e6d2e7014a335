import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { sendJson, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { type ReplayOptions, startReplayUpstream } from '../harness/replay.ts'

/** The client's result for each recorded answer. */
const OUTCOMES: Readonly<
  Record<
    string,
    { readonly status: number; readonly errorType?: string; readonly images?: number; readonly note?: string }
  >
> = {
  'openai/images/doc-gpt-image-usage': { status: 502, errorType: 'empty_response', note: 'its picture is three dots' },
  'openai/images/doc-stream-partial-images': {
    status: 502,
    errorType: 'provider_error',
    note: 'a stream that nobody asked for',
  },
  'openai/images/image-gen-metrics-2': { status: 400, errorType: 'invalid_input' },
  'openai/images/image-generation-basic': { status: 200, images: 1 },
  'openai/images/images-edit-image-png-a-solid-red-ruby-on-a-blue-background': { status: 200, images: 1 },
  'openai/images/images-edit-multiple': { status: 200, images: 1 },
  'openai/images/images-generate-a-baby-sea-otter-cooking-pasta-wearing-a-hat': { status: 200, images: 1 },
  'openai/images/images-generate-a-lion-cooking-pasta-wearing-a-hat-of-some-s': { status: 200, images: 1 },
  'vertex/images/fb-unary-failure-generate-images-all-filtered': { status: 400, errorType: 'content_filtered' },
  'vertex/images/fb-unary-success-generate-images-base64': { status: 200, images: 4 },
  'vertex/images/google-vertexai-image-generation-with-output-format': { status: 200, images: 1 },
}
/** The files of the recorded answers are on hosts that no longer exist; these bytes replace them. */
const FILE = Buffer.from('\x89PNG\r\n\x1a\nfor a file that expired long ago', 'latin1')
const SOURCE = `data:image/png;base64,${FILE.toString('base64')}`
const MODELS: Readonly<Record<string, string>> = {
  'openai-images': 'test/openai',
  'vertex-imagen': 'test/imagen',
  'gemini-generate': 'test/gemini',
}

const replay = await startReplayUpstream()
const files = await startScriptedUpstream({ forgets: true })
const price = 'price: { currency: RUB, prompt: 1, completion: 1000, image_output: 3 }'
const tollgate = await gateway({
  catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  openai: { name: OpenAI, adapter: openai, base_url: "${replay.url}/slot/recorded", api_key: upstream-canary-key }
  files: { name: Files, adapter: openai, base_url: "${files.url}", api_key: upstream-canary-key }
  google: { name: Google, adapter: gemini, base_url: "${replay.url}/slot/recorded", api_key: upstream-canary-key }
models:
  - { id: test/openai, type: image, max_completion_tokens: 8192, endpoints: [{ provider: openai, model: gpt-image-1, ${price} }] }
  - { id: test/files, type: image, max_completion_tokens: 8192, endpoints: [{ provider: files, model: dall-e-2, ${price} }] }
  - { id: test/imagen, type: image, max_completion_tokens: 8192, endpoints: [{ provider: google, model: imagen-3.0, ${price} }] }
  - { id: test/gemini, type: image, max_completion_tokens: 8192, endpoints: [{ provider: google, model: gemini-2.5-flash-image, ${price} }] }
`,
})
const key = (await tollgate.createAccount({ balance: 10_000 })).key

const cases = recordedCases(({ name }) => name.split('/')[1] === 'images')

/** The recorded body with its files on a host that exists. */
function withFiles({ body }: RecordedCase): unknown {
  return JSON.parse(body.toString('utf8').replaceAll(/https:\/\/[^"]*/g, `${files.url}/picture.png`))
}

/** `opts` = how the replay server cuts the answer. */
async function ask(recorded: RecordedCase, opts: ReplayOptions): Promise<Answer> {
  const { images = [] } = recorded.expected
  const byAddress = images.some(({ url_prefix: prefix }) => prefix !== undefined)
  const edits = recorded.name.includes('edit')
  if (byAddress)
    files.answer((response, request) =>
      request.method === 'GET' ? void response.writeHead(200).end(FILE) : sendJson(response, withFiles(recorded)),
    )
  else await replay.slot('recorded', [{ case: recorded.name, opts }])
  const model = byAddress ? 'test/files' : (MODELS[recorded.protocol] ?? '')
  return tollgate.post('/v1/images/generations', key, {
    model,
    prompt: 'recorded',
    response_format: 'b64_json',
    n: Math.max(1, images.length),
    ...(edits ? { image: SOURCE } : {}),
  })
}

describe('every recorded answer of an image protocol', () => {
  for (const recorded of cases) {
    const outcome = OUTCOMES[recorded.name]
    test(`${recorded.name}${outcome?.note === undefined ? '' : ` (${outcome.note})`}`, async () => {
      assert.ok(outcome, 'has an outcome in this file')
      for (const opts of [{}, { split: 'bytes:4093' }, { gzip: 1 }, { chunked: 1 }] as const) {
        const answer = await ask(recorded, opts)
        assert.equal(answer.status, outcome.status, answer.text.slice(0, 500))
        assert.doesNotMatch(answer.text.slice(0, 10_000), /upstream-canary-key/)
        if (outcome.errorType === undefined) checkPictures(recorded, answer, outcome.images ?? 0)
        else assert.equal(answer.body.error.metadata.error_type, outcome.errorType)
      }
    })
  }

  test('none is left out', async () => {
    assert.deepEqual(cases.map(({ name }) => name).toSorted(), Object.keys(OUTCOMES).toSorted())
  })
})

function checkPictures(recorded: RecordedCase, { body }: Answer, count: number): void {
  const { images = [], usage } = recorded.expected
  assert.equal(body.data.length, count)
  for (const [index, expected] of images.entries()) {
    const bytes = Buffer.from(body.data[index].b64_json, 'base64')
    if (expected.sha256 !== undefined) assert.equal(createHash('sha256').update(bytes).digest('hex'), expected.sha256)
    if (expected.url_prefix !== undefined) assert.deepEqual(bytes, FILE)
    if (expected.revised_prompt !== undefined)
      assert.ok(body.data[index].revised_prompt.startsWith(expected.revised_prompt.slice(0, 60)))
  }
  if (recorded.name.endsWith('with-output-format')) {
    assert.equal(body.data[0].media_type, 'image/jpeg')
    assert.equal(body.data[0].b64_json.length, 309_756)
  }
  if (usage === undefined || usage === null) return
  assert.deepEqual(
    [body.usage.prompt_tokens, body.usage.completion_tokens],
    [usage.prompt_tokens, usage.completion_tokens],
  )
  assert.equal(body.usage.cost, (usage.prompt_tokens + 1_000 * usage.completion_tokens + 3_000_000 * count) / 1_000_000)
}
